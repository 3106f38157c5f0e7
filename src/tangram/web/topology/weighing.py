"""Why one set of cards was taken and not another, in one sentence and a small table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import msgspec

from tangram.reports.shape import CardSet
from tangram.web.topology.speech import Speech


class Weighed(msgspec.Struct, frozen=True, kw_only=True):
    """One set, as a row of the table."""

    chosen: bool
    cards: str
    score: str
    loss: str
    mildest: bool = False
    """Neither chosen nor the runner-up, but the set that costs the other cards the least."""


def weighed(sets: Sequence[CardSet]) -> list[Weighed]:
    """The chosen one, the runner-up and the one with the least loss, as far as there are these."""
    rows = _two(sets)
    mildest = [each for each in sets if each.least_loss and each not in rows][:1]
    return [
        Weighed(
            chosen=each.chosen,
            cards=ranges(each.cards),
            score=_figure(each.score),
            loss=_figure(each.loss),
            mildest=each in mildest,
        )
        for each in (*rows, *mildest)
    ]


def why(sets: Sequence[CardSet], speech: Speech) -> str:
    """Empty where nothing was chosen. The kind of link comes first, then what is left, unless the policy differs."""
    both = _two(sets)
    if not both or not both[0].chosen:
        return ""
    chosen, *others = both
    words = {"chosen": ranges(chosen.cards), "score": _figure(chosen.score)}
    if not others:
        return speech.say("node.why_only", **words)
    other = others[0]
    words |= {"other": ranges(other.cards), "other_score": _figure(other.score)}
    if chosen.score > other.score:
        return speech.say("node.why_score", less=_figure(chosen.score - other.score), **words)
    if chosen.score < other.score and chosen.loss < other.loss:
        return speech.say("node.why_rest", more=_figure(other.loss - chosen.loss), **words)
    if chosen.score < other.score or chosen.loss > other.loss:
        return speech.say("node.why_policy", **words)
    if chosen.loss < other.loss:
        return speech.say("node.why_loss", more=_figure(other.loss - chosen.loss), **words)
    return speech.say("node.why_same", **words)


def ranges(numbers: Sequence[int]) -> str:
    """`0-3, 6` for 0, 1, 2, 3, 6."""
    found: list[str] = []
    for _, run in groupby(enumerate(sorted(set(numbers))), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        joint = "-" if len(members) > 2 else ", "
        found.append(joint.join(map(str, dict.fromkeys((members[0], members[-1])))))
    return ", ".join(found)


def _two(sets: Sequence[CardSet]) -> list[CardSet]:
    chosen = [each for each in sets if each.chosen][:1]
    return [*chosen, *[each for each in sets if not each.chosen][:1]]


def _figure(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")
