"""A node: how its cards are joined, who sits on them, what was weighed for a pod, and what happened here.

A node that its viewer may not see is answered exactly as one that does not exist. Who may not list nodes sees the cards
of a node on which a pod of theirs sits, and nothing of what else the node object says. When the scheduler does not
answer, the last picture is shown without links, and the page says so.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Final

import msgspec

from tangram.reports.status_shape import NodeStatus
from tangram.reports.view_shape import NodeDetail
from tangram.web.history.keeping import Moment
from tangram.web.known import Known, NotKnown
from tangram.web.page import Asked, Shown
from tangram.web.sight import Sight
from tangram.web.topology.amounts import compute_text, memory_of, memory_text
from tangram.web.topology.card_box import swatch
from tangram.web.topology.describing import kinds_of, matrix_of
from tangram.web.topology.drawing import drawing_of, line_width
from tangram.web.topology.marking import drawn
from tangram.web.topology.scene import Scene, Share, scene_of
from tangram.web.topology.speech import Speech
from tangram.web.topology.weighing import ranges, weighed, why

PATH: Final = "/nodes/{name}"

MOST_MOMENTS: Final = 50
_NAME: Final = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")
_POD: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")
_TELLING: Final = re.compile(
    r"(node\.kubernetes\.io/instance-type$|topology\.kubernetes\.io/|kubernetes\.io/arch$"
    r"|([-.a-z0-9]*\.)?(metax-tech\.com|mthreads\.com|hami\.io|koordinator\.sh)/)"
)
"""Labels that say something of cards or of where the machine stands."""
_KINDS: Final = frozenset(
    {
        "unhealthy",
        "healthy",
        "cordoned",
        "uncordoned",
        "given",
        "freed",
        "node-added",
        "node-removed",
        "node-state",
    }
)


class PodHere(msgspec.Struct, frozen=True, kw_only=True):
    """A pod on this node, for the legend."""

    pod: str
    swatch: str
    cards: str
    memory: int
    several: bool
    """It holds more than one card, so that there was something to weigh."""


class MomentSeen(msgspec.Struct, frozen=True, kw_only=True):
    at: float
    kind: str
    card: int | None
    pod: str
    with_pod: bool
    detail: str


async def page(asked: Asked, known: Known) -> Shown:
    """The query may name a pod, whose cards are then shown with the runner-up."""
    name, sight = asked.parts.get("name", ""), asked.viewer.sight
    pod = asked.query.get("pod", "")
    legible = _POD.fullmatch(pod) is not None
    detail, trouble = await _detail(known, name, pod if legible and sight.of_pod(pod) else "", sight)
    speech = Speech(asked.viewer.language)
    scene = scene_of(detail, sight)
    labels = sorted(detail.labels.items()) if sight.nodes else []
    return Shown(
        template="node.html",
        values={
            "node": detail.node,
            "host": detail if sight.nodes and not trouble else None,
            "trouble": trouble,
            "scene": scene,
            "picture": drawing_of(scene, speech),
            "kinds": kinds_of(scene),
            "line_width": line_width,
            "matrix": matrix_of(scene),
            "pods": _pods(scene),
            "swatch": _swatch,
            "memory_of": memory_of,
            "memory_text": memory_text,
            "compute_text": compute_text,
            "telling": [each for each in labels if _TELLING.match(each[0])],
            "labels": [each for each in labels if not _TELLING.match(each[0])],
            "pod": pod if legible else "",
            "pod_illegible": "" if legible else pod,
            "weighed": weighed(detail.sets),
            "why": why(detail.sets, speech),
            "moments": _moments(known.history.moments_of(name, MOST_MOMENTS), sight),
        },
    )


def moment(asked: Asked, known: Known) -> Hashable:
    """Another look, another past, or, where a pod that may still wait is asked about, another queue.

    A node that may not be seen never becomes another: whoever follows it would learn by that that there is one.
    """
    name, picture, sight = asked.parts.get("name", ""), known.picture, asked.viewer.sight
    last = picture.nodes.get(name)
    if not sight.nodes and (last is None or not _shows(sight, last)):
        return None
    newest = next(iter(known.history.moments_of(name, 1)), None)
    return (
        picture.version_of(name),
        newest and newest.at,
        picture.waiting_version if asked.query.get("pod") else 0,
        bool(picture.trouble),
    )


async def _detail(known: Known, name: str, pod: str, sight: Sight) -> tuple[NodeDetail, str]:
    """The node in full, or as it was last known with a sentence about why not in full."""
    last = known.picture.nodes.get(name)
    if not _NAME.fullmatch(name) or (not sight.nodes and (last is None or not _shows(sight, last))):
        raise _no_node()
    try:
        detail = await known.node(name, pod)
    except NotKnown as refused:
        if refused.status == 404 or last is None:
            raise (_no_node() if refused.status == 404 else refused) from None
        return _as_last_known(last), refused.sentence
    if not _shows(sight, detail.node):
        raise _no_node()
    return detail, ""


def _shows(sight: Sight, node: NodeStatus) -> bool:
    return sight.nodes or any(sight.of_pod(holder.pod) for card in node.cards for holder in card.holders)


def _no_node() -> NotKnown:
    return NotKnown(
        "no-node",
        "There is no node of that name with cards that you may see; the cluster page shows those that you may.",
        404,
    )


def _as_last_known(node: NodeStatus) -> NodeDetail:
    return NodeDetail(
        at=0.0,
        node=node,
        links=[],
        links_known=False,
        labels={},
        taints=[],
        cpu_milli=None,
        host_memory=None,
        problems=[],
    )


def _pods(scene: Scene) -> list[PodHere]:
    found: dict[str, list[tuple[int, Share]]] = {}
    for card in scene.cards:
        for share in card.shares:
            if share.pod:
                found.setdefault(share.pod, []).append((card.index, share))
    return [
        PodHere(
            pod=pod,
            swatch=_swatch(held[0][1]),
            cards=ranges([index for index, _ in held]),
            memory=sum(share.memory for _, share in held),
            several=len(held) > 1,
        )
        for pod, held in sorted(found.items())
    ]


def _swatch(share: Share) -> str:
    return drawn(swatch(share, 0, 0, 12, 12), 12, 12)


def _moments(moments: Sequence[Moment], sight: Sight) -> list[MomentSeen]:
    """Without names that may not be seen. That something was given or freed shows in the amounts anyway."""
    return [
        MomentSeen(
            at=each.at,
            kind=each.kind,
            card=each.card,
            pod=each.pod if sight.of_pod(each.pod) else "",
            with_pod=bool(each.pod),
            detail="" if each.pod and not sight.of_pod(each.pod) else each.detail,
        )
        for each in moments
        if each.kind in _KINDS
    ]
