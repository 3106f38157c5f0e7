"""Whether a driver works: what the driver layer says of the cards, held against the cards on the bus.

Two questions. A driver that was just loaded must show every card that was well before, and its own version; anything
else is a failure and taken back. A driver that has been running is only called broken when several looks in a row show
no card at all: one card that dies is gpu-device's matter and no reason to take the node out of service.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from tangram.services.driver_manager.facts import Facts, Sight
from tangram.services.driver_manager.journal import Target
from tangram.services.driver_manager.problems import Problem
from tangram.wire.operator.node_states import Source

PATIENCE: Final = 3
"""Looks in a row without a card, until a driver that ran counts as broken."""


def problem_after_load(
    sight: Sight, cards: Collection[str], target: Target, excused: Collection[str]
) -> Problem | None:
    """What is wrong with a driver that was just loaded."""
    if sight.trouble and not sight.well:
        return Problem(
            "verify-failed", f"driver {target.version} was loaded and does not answer: {sight.trouble}"
        )
    seen = {*sight.well, *sight.sick}
    missing = [card for card in cards if card not in seen and card not in excused]
    if missing:
        return Problem(
            "verify-failed",
            f"driver {target.version} was loaded and does not list {_some(missing)} of {len(cards)} cards on the bus",
        )
    sick = [f"{card} ({sight.sick[card]})" for card in cards if card in sight.sick and card not in excused]
    if sick:
        return Problem(
            "verify-failed", f"driver {target.version} was loaded and is not well with card {_some(sick)}"
        )
    wrong = isinstance(sight.version, str) and sight.version != target.version
    if wrong and target.source is Source.CLOUD:
        return Problem(
            "verify-failed",
            f"driver {target.version} was loaded and the cards say that {sight.version} runs: the modules in its "
            "payload are of another version than its description says",
        )
    return None


def is_broken(facts: Facts) -> bool:
    """Whether the driver that runs shows no card any more."""
    return facts.loaded is not None and facts.sight.bad_looks >= PATIENCE


def unwell(facts: Facts) -> tuple[str, ...]:
    """Cards that are not well with the driver that runs now."""
    return tuple(card for card in facts.cards if card not in facts.sight.well)


def _some(words: Collection[str]) -> str:
    first = list(words)[:3]
    more = len(words) - len(first)
    return ", ".join(first) + (f" and {more} more" if more else "")
