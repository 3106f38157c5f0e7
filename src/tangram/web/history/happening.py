"""What happened on nodes, read from before and after, and kept in bounds: the last of each node, and so many in all.

A card that was never seen healthy did not become unhealthy: of the first look at a node only the node itself is told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from tangram.reports import status_shape
from tangram.reports.status_shape import CardStatus, NodeStatus
from tangram.web.history.records import (
    CORDONED,
    FREED,
    GIVEN,
    HEALTHY,
    NODE_ADDED,
    NODE_REMOVED,
    NODE_STATE,
    UNCORDONED,
    UNHEALTHY,
    Moment,
)

MOST_OF_NODE: Final = 64
MOST_IN_ALL: Final = 20_000
MOST_OF_HEALTH: Final = 500
ABOUT_HEALTH: Final = frozenset(
    {UNHEALTHY, HEALTHY, CORDONED, UNCORDONED, NODE_STATE, NODE_ADDED, NODE_REMOVED}
)


class Happenings:
    def __init__(self) -> None:
        self._of_node: dict[str, deque[tuple[int, Moment]]] = {}
        self._order: deque[tuple[int, str]] = deque()
        self._health: deque[Moment] = deque(maxlen=MOST_OF_HEALTH)
        self._since: dict[tuple[str, str], float] = {}
        self._number = 0
        self.health_number = 0
        """Grows with everything that is about health."""

    @property
    def number(self) -> int:
        """Grows with everything that happens."""
        return self._number

    def note(self, before: NodeStatus | None, after: NodeStatus | None, at: float) -> None:
        """What made the one of the other."""
        for moment in changes_between(before, after, at):
            self._add(moment)
        self._note_health(before, after, at)

    def of_node(self, node: str, most: int) -> Sequence[Moment]:
        """Newest first."""
        return [moment for _, moment in islice(reversed(self._of_node.get(node, ())), max(most, 0))]

    def of_health(self, most: int) -> Sequence[Moment]:
        """Of all nodes, newest first."""
        return list(islice(reversed(self._health), max(most, 0)))

    def since(self, node: str, uuid: str) -> float | None:
        """From when on the card has been unhealthy or cordoned, or for the empty uuid the node in its state.

        None where it was so when first seen.
        """
        return self._since.get((node, uuid))

    def _add(self, moment: Moment) -> None:
        self._number += 1
        own = self._of_node.setdefault(moment.node, deque(maxlen=MOST_OF_NODE))
        own.append((self._number, moment))
        self._order.append((self._number, moment.node))
        if moment.kind in ABOUT_HEALTH:
            self._health.append(moment)
            self.health_number += 1
        if len(self._order) > MOST_IN_ALL:
            number, node = self._order.popleft()
            oldest = self._of_node.get(node)
            # It may have been pushed out by newer ones of its node already.
            if oldest and oldest[0][0] == number:
                oldest.popleft()
                if not oldest:
                    del self._of_node[node]

    def _note_health(self, before: NodeStatus | None, after: NodeStatus | None, at: float) -> None:
        was = {card.uuid: card.state for card in before.cards} if before else {}
        now = {card.uuid: card.state for card in after.cards} if after else {}
        name = after.node if after else before.node if before else ""
        if before is None or after is None:
            self._since.pop((name, ""), None)
        elif before.state != after.state:
            self._since[name, ""] = at
        for uuid, state in was.items():
            if now.get(uuid) != state:
                self._since.pop((name, uuid), None)
        for uuid, state in now.items():
            if (
                uuid in was
                and was[uuid] != state
                and state in (status_shape.UNHEALTHY, status_shape.CORDONED)
            ):
                self._since[name, uuid] = at


def changes_between(before: NodeStatus | None, after: NodeStatus | None, at: float) -> Iterator[Moment]:
    """Everything that people would want to know about what made the one of the other."""
    if before is None or after is None:
        known = after or before
        if known is not None:
            yield Moment(at=at, node=known.node, kind=NODE_REMOVED if after is None else NODE_ADDED)
        return
    if before.state != after.state:
        yield Moment(at=at, node=after.node, kind=NODE_STATE, detail=after.state)
    earlier = {card.uuid: card for card in before.cards}
    for card in after.cards:
        was = earlier.get(card.uuid)
        if was is not None and was is not card:
            yield from _of_card(after.node, was, card, at)


def _of_card(node: str, was: CardStatus, card: CardStatus, at: float) -> Iterator[Moment]:
    def moment(kind: str, *, pod: str = "", detail: str = "") -> Moment:
        return Moment(at=at, node=node, kind=kind, card=card.index, pod=pod, detail=detail)

    if was.state != card.state:
        if card.state == status_shape.UNHEALTHY:
            yield moment(UNHEALTHY, detail=card.reason)
        elif was.state == status_shape.UNHEALTHY:
            yield moment(HEALTHY)
        if card.state == status_shape.CORDONED:
            yield moment(CORDONED)
        elif was.state == status_shape.CORDONED and card.state != status_shape.UNHEALTHY:
            yield moment(UNCORDONED)
    elif card.state == status_shape.UNHEALTHY and was.reason != card.reason:
        yield moment(UNHEALTHY, detail=card.reason)
    held, holds = {each.pod for each in was.holders}, {each.pod for each in card.holders}
    for pod in sorted(held - holds):
        yield moment(FREED, pod=pod)
    for pod in sorted(holds - held):
        yield moment(GIVEN, pod=pod)
