"""How far the removal is, in words: what each node has answered, and one sentence for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

from tangram.kube.recorder import About, Event
from tangram.units.ids import NodeName

MOST_TOLD: Final = 6
SKIPPED: Final = "GpuOperatorNodeSkipped"
PASSED_OVER: Final = "is passed over"
LEFT: Final = "GpuOperatorNodeLeftovers"


class Stand(StrEnum):
    WAITING = "waiting"
    DONE = "done"
    """Its agents have taken away what they brought."""
    SKIPPED = "skipped"
    """It was waited for long enough."""


class Answer(msgspec.Struct, frozen=True):
    node: NodeName
    stand: Stand
    why: str = ""
    """What it waits for; of one that is done, what had to stay."""


def sentence_of(answers: Sequence[Answer]) -> str:
    """`3 of 5 nodes are clean; n2 waits: driver-manager says working; n3 is passed over: ...`."""
    done = sum(answer.stand is Stand.DONE for answer in answers)
    waits = _some([f"{each.node} waits: {each.why}" for each in answers if each.stand is Stand.WAITING])
    return "; ".join((f"{done} of {len(answers)} nodes are clean", *waits, *passed_over(answers)))


def passed_over(answers: Sequence[Answer]) -> list[str]:
    """A word about every node that nobody waits for any more, or about the first of them."""
    return _some(
        [f"{each.node} {PASSED_OVER}: {each.why}" for each in answers if each.stand is Stand.SKIPPED]
    )


def _some(told: list[str]) -> list[str]:
    more = len(told) - MOST_TOLD
    return [*told[:MOST_TOLD], f"and {more} more"] if more > 0 else told


def event_of(answer: Answer) -> Event | None:
    """What somebody has to know of a node afterwards; None where nothing of ours is left on it."""
    about = About("Node", answer.node)
    if answer.stand is Stand.SKIPPED:
        told = (
            f"the operator is removed without this node having been cleaned: {answer.why}; what its agents brought "
            "(/opt/mxdriver-*, /opt/maca-*, the runtime metax) is still on it"
        )
        return Event(about, SKIPPED, told)
    if answer.stand is Stand.DONE and answer.why:
        return Event(about, LEFT, f"the operator is removed, but for one thing: {answer.why}")
    return None
