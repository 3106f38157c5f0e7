"""A pod: what it got, or why it waits and what could be done about it.

Everything here is the scheduler's own explanation, narrowed to what the viewer may see. A pod that is not there and one
that may not be seen are the same page: nobody learns here which names others use.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final

from tangram.reports import shape
from tangram.units.ids import IdError, namespace, pod_name
from tangram.web.catalogue import said
from tangram.web.known import Known, NotKnown
from tangram.web.language import Language
from tangram.web.page import Asked, Shown
from tangram.web.reporting.offers import Offer, Source, offers_for, source_of_pod
from tangram.web.reporting.saying import Said, sentence_said
from tangram.web.reporting.shown import shown_pod
from tangram.web.whereabouts import whereabouts

PATH: Final = "/pods/{namespace}/{name}"
_HIDDEN: Final = (403, 404)


async def page(asked: Asked, known: Known) -> Shown:
    """Raises `NotKnown`, the same for a pod that does not exist and for one that is not shown."""
    home, name = _pod_of(asked)
    viewer = asked.viewer
    try:
        report = await known.explain_pod(home, name, viewer.sight)
    except NotKnown as error:
        raise (_no_pod() if error.status in _HIDDEN else error) from None
    if not report.pods:
        raise _no_pod()
    pod = report.pods[0]
    offers, unread = await _offers(asked, known, home, name, pod)
    waiting = whereabouts(known.picture).waiting(f"{home}/{name}")
    return Shown(
        template="pod.html",
        values={
            "namespace": home,
            "name": name,
            "waiting": waiting,
            "report": shown_pod(
                viewer.language,
                pod,
                offers,
                live=True,
                guessed=pod.pod in report.cluster.guessed,
                compute=_compute(known, pod),
            ),
            "unread": unread,
            "problems": [
                sentence_said(viewer.language, problem.sentence) for problem in report.cluster.problems
            ],
        },
    )


def moment(asked: Asked, known: Known) -> Hashable:
    """Its own state, and that of the node it is on; not the cluster around it, which changes all the time."""
    try:
        pod = "/".join(_pod_of(asked))
    except NotKnown:
        return None
    places = whereabouts(known.picture)
    return places.waiting(pod), tuple((node, known.picture.version_of(node)) for node in places.nodes_of(pod))


def _pod_of(asked: Asked) -> tuple[str, str]:
    try:
        home, name = namespace(asked.parts.get("namespace", "")), pod_name(asked.parts.get("name", ""))
    except IdError:
        raise _no_pod() from None
    if not asked.viewer.sight.of_namespace(home):
        raise _no_pod()
    return home, name


def _no_pod() -> NotKnown:
    return NotKnown("no-pod", said(Language.ENGLISH, "error.code.no-pod"), 404)


async def _offers(
    asked: Asked, known: Known, home: str, name: str, pod: shape.PodReport
) -> tuple[Sequence[Offer], Said | None]:
    """With changed manifests as far as the viewer may read what is to be changed, and why there are none."""
    if not pod.suggestions:
        return (), None
    viewer, unread = asked.viewer, None
    source: Source | None = None
    try:
        source = await source_of_pod(known, viewer.user, home, name)
    except NotKnown as error:
        unread = sentence_said(viewer.language, error.sentence)
    (offers,) = await offers_for(known, viewer.language, viewer.sight, [(pod, source)], [home])
    return offers, unread


def _compute(known: Known, pod: shape.PodReport) -> Mapping[str, int]:
    node = known.picture.nodes.get(pod.node or "")
    return {} if node is None else {card.uuid: card.cores for card in node.cards}
