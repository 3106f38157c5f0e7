"""The order in which a pod's asks are placed, and which of them share a card.

The plugin of some makers reads one list of cards for a whole pod, so the slices of such a pod share one card. A
container that takes all of a card cannot share it: beside other containers that run at the same time it has a card of
its own, which only an agent that serves containers one by one can hand out. Whole cards are placed first, because they
need idle ones. Ordinary init containers end before the app containers start and are placed last, on the pod's own cards
where those suffice.
"""

from __future__ import annotations

from typing import NamedTuple

from tangram.model.pods import Role
from tangram.model.requests import Ask, Request


class Step(NamedTuple):
    """One ask of one container."""

    container: int
    role: Role
    ask: Ask


class Arrangement(NamedTuple):
    steps: list[Step]
    """All asks in the order in which they are placed."""
    group: range = range(0)
    """The positions in `steps` of two or more asks that share one card; they follow each other."""
    several: bool = False
    """Containers of the maker whose slices share a card need different cards at the same time."""


def arrange(request: Request) -> Arrangement:
    """All asks, those that stay before those that end, each group in the pod's order."""
    steps = [
        Step(position, container.role, ask)
        for position, container in enumerate(request.containers)
        for ask in container.asks
    ]
    staying = [step for step in steps if step.role is not Role.INIT]
    ending = [step for step in steps if step.role is Role.INIT]
    bound = [step for step in (*staying, *ending) if step.ask.vendor is request.one_card]
    if len(bound) < 2 or any(step.ask.count != 1 for step in bound):
        return Arrangement(staying + ending)
    alone = [step for step in bound if step.ask.undivided and step.role is not Role.INIT]
    sharing = [step for step in bound if step.role is not Role.INIT and not step.ask.undivided]
    several = len(alone) + bool(sharing) > 1
    group = sharing if several else bound
    first = alone if several else []
    before = [*first, *(step for step in staying if step not in bound)]
    after = [step for step in ending if step not in group]
    span = range(len(before), len(before) + len(group)) if len(group) > 1 else range(0)
    return Arrangement([*before, *group, *after], span, several)


def steps_of(request: Request) -> list[Step]:
    """All asks in the order in which they are placed."""
    return arrange(request).steps
