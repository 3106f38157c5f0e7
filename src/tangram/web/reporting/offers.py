"""Suggestions with the changed manifest beside them, each asked of the scheduler again before it is offered.

The engine tried a change of the request; what a person applies is a manifest. Between the two are words, admission and
a controller, so a manifest is offered only when the scheduler, asked about that very manifest a moment ago, says that
it fits. A suggestion without one stays a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tangram.kube.objects import Object
from tangram.kube.rights import User
from tangram.reports import shape
from tangram.web.known import Known, NotKnown
from tangram.web.language import Language
from tangram.web.reporting.saying import Said, advice_said
from tangram.web.reporting.yaml_writing import yaml_text
from tangram.web.sight import Sight
from tangram.wire import loose
from tangram.wire.changing.cleaning import applicable
from tangram.wire.changing.owners import MOST_OWNERS, applying, keeps_its_pods, owner_of, pod_path
from tangram.wire.changing.suggested import changed

_HOST_RULES: Final[Mapping[str, str]] = {"host-cpu": "cpu", "host-memory": "memory"}
MOST_BYTES: Final = 256 * 1024
"""Of one changed manifest in a page."""
AT_ONCE: Final = 20
"""The scheduler looks at no more pods in one question."""
MOST_TRIED: Final = 2 * AT_ONCE
"""For one page. It is worked out in the process that places everybody's pods."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest that is changed, and what must be known to apply it."""

    manifest: Object
    """Without what others wrote."""
    kind: str
    name: str
    commands: Sequence[str] = ()
    notes: Sequence[str] = ()
    """Keys of words: what is left to do, or to know."""
    owner: str = ""
    """`Kind name` of who makes the pod, where that could not be read."""


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    said: Said
    node: str
    """Where the pod would then go."""
    yaml: str = ""
    """Empty where there is no manifest that was verified."""
    source: Source | None = None


async def source_of_pod(known: Known, user: User, namespace: str, name: str) -> Source:
    """What makes the pod, as far up as the viewer may read. Raises `NotKnown` when not even the pod can be read."""
    found = await known.manifest(user, pod_path(namespace, name))
    notes: list[str] = []
    unread = ""
    for _ in range(MOST_OWNERS):
        owner = owner_of(found)
        if owner is None:
            break
        above = await _read(known, user, owner.path) if owner.path else None
        if above is None:
            unread = f"{owner.kind} {owner.name}"
            notes.append("pod.note.owner")
            break
        found = above
    kind = loose.text(found.get("kind"))
    if keeps_its_pods(found):
        notes.append("pod.note.delete")
    if kind == "CronJob":
        notes.append("pod.note.next-run")
    return Source(
        manifest=applicable(found),
        kind=kind,
        name=loose.text(loose.members(found.get("metadata")).get("name")),
        commands=() if unread else applying(found),
        notes=notes,
        owner=unread,
    )


async def _read(known: Known, user: User, path: str) -> Object | None:
    try:
        return await known.manifest(user, path)
    except NotKnown:
        return None


def source_of_manifest(manifest: Object) -> Source:
    """What somebody pasted is changed as it is."""
    return Source(
        manifest=manifest,
        kind=loose.text(manifest.get("kind")),
        name=loose.text(loose.members(manifest.get("metadata")).get("name")),
    )


async def offers_for(
    known: Known,
    language: Language,
    sight: Sight,
    asked: Sequence[tuple[shape.PodReport, Source | None]],
    namespaces: Sequence[str],
) -> list[list[Offer]]:
    """For each report its suggestions, with those manifests that the scheduler has just said yes to."""
    renamed = {} if known.picture.rules is None else known.picture.rules.renamed
    tried: list[tuple[int, int, Object]] = []
    for at, (report, source) in enumerate(asked):
        for number, advice in enumerate(report.suggestions if source is not None else ()):
            change = {**advice.change, **_host_amounts(report, advice)}
            made = None if source is None else changed(source.manifest, advice.code, change, renamed)
            if made is not None:
                tried.append((at, number, made))
    # Everybody's first suggestion before anybody's second.
    tried = sorted(tried, key=lambda each: each[1])[:MOST_TRIED]
    fitting = await _fitting(known, sight, [made for _, _, made in tried], namespaces)
    texts = {
        (at, number): text
        for (at, number, made), fits in zip(tried, fitting, strict=True)
        if fits and len(text := yaml_text(made)) <= MOST_BYTES
    }
    return [
        [
            Offer(
                code=advice.code,
                said=advice_said(language, advice),
                node=advice.node,
                yaml=texts.get((at, number), ""),
                source=source,
            )
            for number, advice in enumerate(report.suggestions)
        ]
        for at, (report, source) in enumerate(asked)
    ]


async def _fitting(
    known: Known, sight: Sight, manifests: Sequence[Object], namespaces: Sequence[str]
) -> list[bool]:
    """What the scheduler says to each of them now; no where it does not say."""
    fitting: list[bool] = []
    for begin in range(0, len(manifests), AT_ONCE):
        asked = manifests[begin : begin + AT_ONCE]
        try:
            pods = (await known.explain_manifest(asked, sight, namespaces)).pods
        except NotKnown:
            pods = []
        yes = [pod.verdict == shape.FITS for pod in pods]
        fitting += yes if len(yes) == len(asked) else [False] * len(asked)
    return fitting


def _host_amounts(report: shape.PodReport, advice: shape.Advice) -> dict[str, str]:
    """How much less of the host would do, from the node where it then would."""
    for node in report.nodes if advice.code == "less-host" else ():
        if node.node == advice.node and node.verdict in _HOST_RULES:
            return {
                "resource": _HOST_RULES[node.verdict],
                "need": str(node.need),
                "have": str(node.have),
            }
    return {}
