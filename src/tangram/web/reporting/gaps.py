"""How far each node is from taking the pod: what is needed and what is there, for the rule that stands in the way.

A node that lacks three GiB on one card is nearer than one without cards of the kind, and both are nearer than nothing
at all. The order is a help for people and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tangram.reports import shape
from tangram.web.catalogue import counted, said
from tangram.web.language import Language
from tangram.web.reporting.saying import Said, compute_words, memory_words, node_said

MOST_NEAREST: Final = 5
MOST_GAPS: Final = 3
_AMOUNTS: Final = ("memory", "cores")
_NO_AMOUNT: Final = 0.001
"""Nearer than a node with nothing of what is needed."""
_COUNTED: Final = ("cards", "no-such-cards", "scope")


class Gap(NamedTuple):
    words: str
    met: float
    """The share of what is needed that is there."""


class Near(NamedTuple):
    node: str
    met: float | None
    """None for a rule that knows no amounts, such as a taint."""
    gaps: Sequence[Gap]
    said: Said


def nearest(language: Language, nodes: Iterable[shape.NodeReport]) -> list[Near]:
    """The nodes that come closest, the closest first."""
    found = [_near(language, node) for node in nodes if node.verdict != shape.FITS]
    found.sort(key=lambda near: -(_NO_AMOUNT if near.met is None else near.met))
    return found[:MOST_NEAREST]


def _near(language: Language, node: shape.NodeReport) -> Near:
    gaps = _gaps(language, node)
    if node.need <= 0:
        return Near(node.node, None, (), node_said(language, node))
    if node.verdict == "cards":
        # A card that lacks a little counts for what it has.
        missing = max(node.need - node.have, 0)
        almost = sorted((gap.met for gap in gaps if gap.met < 1), reverse=True)[:missing]
        met = (max(node.have, 0) + sum(almost)) / node.need
    elif node.verdict in _COUNTED:
        # Cards of another kind help nobody, however many there are.
        met = _share(node.need, node.have) / (2 if node.verdict == "no-such-cards" else 1)
    else:
        met = _share(node.need, node.have)
    return Near(node.node, min(met, 0.999), gaps[:MOST_GAPS], node_said(language, node))


def _gaps(language: Language, node: shape.NodeReport) -> list[Gap]:
    need, have = node.need, max(node.have, 0)
    match node.verdict:
        case "host-cpu":
            short = f"{(need - have) / 1000:g}"
            return [Gap(said(language, "rules.gap.cpu", short=short), _share(need, have))]
        case "host-memory":
            short = memory_words(language, need - have)
            return [Gap(said(language, "rules.gap.host-memory", short=short), _share(need, have))]
        case "no-such-cards":
            return [Gap(counted(language, "rules.gap.cards", need - have), _share(need, have))]
        case "cards":
            return _of_cards(language, node)
        case _:
            return []


def _of_cards(language: Language, node: shape.NodeReport) -> list[Gap]:
    """Cards that only lack an amount, those that lack least first; else how many are missing."""
    short = [card for card in node.cards if card.verdict in _AMOUNTS and card.need > 0]
    short.sort(key=lambda card: (-_share(card.need, card.have), card.index))
    if short:
        return [_of_card(language, card) for card in short]
    missing = max(node.need - node.have, 0)
    return [Gap(counted(language, "rules.gap.cards", missing), _share(node.need, node.have))]


def _of_card(language: Language, card: shape.CardReport) -> Gap:
    lacking = card.need - max(card.have, 0)
    short = (
        memory_words(language, lacking)
        if card.verdict == "memory"
        else compute_words(language, lacking, card.cores)
    )
    words = said(language, f"rules.gap.{card.verdict}", short=short, card=card.index)
    return Gap(words, _share(card.need, card.have))


def _share(need: int, have: int) -> float:
    return min(max(have, 0) / need, 1.0) if need > 0 else 0.0
