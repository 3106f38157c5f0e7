"""One pod's report as the template shows it: words chosen, shares worked out, nothing left to decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from tangram.reports import shape
from tangram.web.language import Language
from tangram.web.reporting.gaps import Near, nearest
from tangram.web.reporting.offers import Offer
from tangram.web.reporting.saying import (
    Said,
    card_said,
    compute_words,
    heading_of,
    memory_words,
    node_said,
    reason_said,
    sentence_said,
    stage_said,
    verdict_said,
)

_TONES: Final[Mapping[str, str]] = {
    shape.FITS: "good",
    shape.RUNS: "good",
    shape.WAITS: "warn",
    shape.REFUSED: "bad",
}
MOST_NODES: Final = 64


class ShownCard(msgspec.Struct, frozen=True, kw_only=True):
    index: int
    uuid: str
    kind: str
    """`chosen`, `fits`, `failed` or `not-tried`."""
    said: Said
    memory: str
    memory_used: float
    """Share of one."""
    cores: str
    cores_used: float
    holders: Sequence[str]


class ShownNode(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    fits: bool
    chosen: bool
    said: Said
    score: str
    cards: Sequence[ShownCard]
    sets: Sequence[shape.CardSet]


class ShownReason(msgspec.Struct, frozen=True, kw_only=True):
    said: Said
    nodes: int
    share: float


class ShownGiven(msgspec.Struct, frozen=True, kw_only=True):
    """A card of a container."""

    container: str
    role: str
    index: int
    uuid: str
    memory: str
    cores: str
    kind: str


class ShownRemark(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    heading: str
    said: Said
    container: str


class ShownLast(msgspec.Struct, frozen=True, kw_only=True):
    at: float
    stage: Said
    said: Said
    words: Sequence[tuple[str, int]]


class ShownPod(msgspec.Struct, frozen=True, kw_only=True):
    pod: str
    live: bool
    verdict: str
    tone: str
    said: Said
    node: str
    policies: str
    guessed: bool
    given: Sequence[ShownGiven]
    reasons: Sequence[ShownReason]
    nodes_failed: int
    nearest: Sequence[Near]
    nodes: Sequence[ShownNode]
    nodes_left_out: int
    offers: Sequence[Offer]
    refusals: Sequence[ShownRemark]
    cautions: Sequence[ShownRemark]
    last: ShownLast | None
    turn: shape.Turn | None


def shown_pod(
    language: Language,
    report: shape.PodReport,
    offers: Sequence[Offer] = (),
    *,
    live: bool = False,
    guessed: bool = False,
    compute: Mapping[str, int] | None = None,
) -> ShownPod:
    """`compute` is that of whole cards by their uuid, as far as it is known: it tells in which units theirs is."""
    failed = sum(reason.nodes for reason in report.reasons)
    of = {card.uuid: card.cores for node in report.nodes for card in node.cards} | dict(compute or {})
    nodes = sorted(report.nodes[:MOST_NODES], key=_best_first)
    return ShownPod(
        pod=report.pod,
        live=live,
        verdict=report.verdict,
        tone=_TONES.get(report.verdict, ""),
        said=verdict_said(language, report, live=live),
        node=report.node or "",
        policies=" / ".join(filter(None, (report.node_policy or "", ", ".join(report.card_policy)))),
        guessed=guessed,
        given=[
            ShownGiven(
                container=container.container,
                role=container.role,
                index=card.index,
                uuid=card.uuid,
                memory=memory_words(language, card.memory),
                cores=compute_words(language, card.cores, of.get(card.uuid, 0)),
                kind="whole" if card.kind == "whole" else "sliced",
            )
            for container in report.containers
            for card in container.cards
        ],
        reasons=[
            ShownReason(said=reason_said(language, each), nodes=each.nodes, share=each.nodes / failed)
            for each in report.reasons
            if failed
        ],
        nodes_failed=failed,
        nearest=nearest(language, report.nodes) if report.verdict == shape.WAITS else (),
        nodes=[_node(language, node) for node in nodes],
        nodes_left_out=max(report.nodes_left_out, 0) + max(len(report.nodes) - MOST_NODES, 0),
        offers=offers,
        refusals=[_remark(language, each) for each in report.refusals],
        cautions=[_remark(language, each) for each in report.cautions],
        last=None if report.last is None else _last(language, report.last),
        turn=report.turn,
    )


def _best_first(node: shape.NodeReport) -> tuple[bool, bool, float]:
    return not node.chosen, node.verdict != shape.FITS, -(node.score or 0.0)


def _node(language: Language, node: shape.NodeReport) -> ShownNode:
    return ShownNode(
        name=node.node,
        fits=node.verdict == shape.FITS,
        chosen=node.chosen,
        said=node_said(language, node),
        score="" if node.score is None else f"{node.score:.2f}",
        cards=[_card(language, card) for card in node.cards],
        sets=node.sets,
    )


def _card(language: Language, card: shape.CardReport) -> ShownCard:
    free = max(card.memory_free, 0)
    return ShownCard(
        index=card.index,
        uuid=card.uuid,
        kind=card.verdict if card.verdict in ("chosen", "fits", "not-tried") else "failed",
        said=card_said(language, card),
        memory=f"{memory_words(language, free)} / {memory_words(language, card.memory)}",
        memory_used=_used(free, card.memory),
        cores=f"{max(card.cores_free, 0)} / {card.cores}",
        cores_used=_used(card.cores_free, card.cores),
        holders=card.holders,
    )


def _remark(language: Language, remark: shape.Remark) -> ShownRemark:
    return ShownRemark(
        code=remark.code,
        heading=heading_of(language, remark.code),
        said=sentence_said(language, remark.sentence),
        container=remark.container,
    )


def _last(language: Language, last: shape.LastVerdict) -> ShownLast:
    try:
        at = datetime.strptime(last.at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        at = 0.0
    return ShownLast(
        at=at,
        stage=stage_said(language, last.stage),
        said=sentence_said(language, last.sentence),
        words=list(last.words.items()),
    )


def _used(free: int, of: int) -> float:
    return min(max(1 - free / of, 0.0), 1.0) if of > 0 else 0.0
