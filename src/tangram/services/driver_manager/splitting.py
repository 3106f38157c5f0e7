"""Whether the cards are split as `driver-config` says, and if not, whether they can be. Pure.

A node that was never mentioned keeps what it has. One that was, and is mentioned no more, is joined again: what we did
not split we do not join.
"""

from __future__ import annotations

import msgspec

from tangram.services.driver_manager.facts import Facts
from tangram.services.driver_manager.problems import Problem


class Splitting(msgspec.Struct, frozen=True, kw_only=True):
    """What is left to do about virtual functions."""

    count: int | None = None
    """None where the cards are as they should be."""
    problem: Problem | None = None
    """Why it cannot be done."""


def wished_count(facts: Facts) -> int | None:
    """How many functions each card should have; None where nobody says."""
    if facts.wish.functions is not None:
        return facts.wish.functions
    return None if not facts.journal.functions else 0


def splitting(facts: Facts) -> Splitting:
    """What is left to do, and what is in the way of it."""
    count = wished_count(facts)
    if count is None or all(card.now == count for card in facts.functions):
        # A driver that knows no functions at all leaves nothing to compare; only a wish for some is a problem.
        if count and not facts.functions:
            return Splitting(count=count, problem=_impossible(count, "the driver reports none for any card"))
        return Splitting()
    failed = facts.journal.functions_failed
    if failed is not None and failed.key == str(count) and failed.boot == facts.boot:
        return Splitting(count=count, problem=Problem(failed.code, failed.why))
    for card in facts.functions:
        if card.most < count:
            most = (
                f"card {card.bdf} offers {card.most} at most" if card.most else f"card {card.bdf} offers none"
            )
            return Splitting(count=count, problem=_impossible(count, most))
    return Splitting(count=count)


def _impossible(count: int, why: str) -> Problem:
    return Problem(
        "functions-unsupported",
        f"driver-config asks for {count} virtual functions of each card, and {why}: write what the card offers, or 0; "
        "firmware and BIOS may have to allow SR-IOV",
    )
