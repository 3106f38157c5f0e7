"""The past that pages show, kept in bounded memory and, where a file is named (`filing`), over restarts.

Fed by the changes of the picture; asked by pages. All times are Unix seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tangram.reports.charging import CARD
from tangram.reports.status_shape import NodeStatus
from tangram.web.history.book import Book
from tangram.web.history.course import Course
from tangram.web.history.happening import Happenings
from tangram.web.history.records import Holds, Hour, Moment, Point, Used
from tangram.web.picture import Change
from tangram.web.replay.running import Replays

__all__ = ["History", "Holds", "Hour", "Moment", "Point", "Used"]

_FOREVER: Final = float("inf")


class History:
    """See the module. Made for the picture's listeners: `note` is one."""

    def __init__(self, replays: Replays | None = None) -> None:
        self.book: Final = Book()
        self.way: Final = Course()
        self.replays: Final = replays or Replays()
        """Not what was but what would have been; kept here because it begins from the same state and order of pods."""
        self.begun = 0.0
        """From when on moments are known: of the first answer that told everything."""
        self._happened: Final = Happenings()
        self._nodes: dict[str, NodeStatus] = {}
        self._arriving: dict[str, NodeStatus] | None = {}

    def note(self, change: Change) -> None:
        """Move along by one answer of the scheduler."""
        if change.fresh:
            # Its later answers tell the rest: until then what is not told is not gone.
            self._arriving = dict(self._nodes) if self._arriving is None else self._arriving
        self.book.advance(change.at)
        if self._arriving is None:
            for before, after in change.nodes:
                self._move(before, after, change.at)
        else:
            self._gather(self._arriving, change)
        if change.complete:
            self.book.capacity = change.sums.cards
            if self.way.due(change.at):
                self.way.add(self._point(change))

    def moments_of(self, node: str, most: int = 50) -> Sequence[Moment]:
        """Newest first."""
        return self._happened.of_node(node, most)

    def health_moments(self, most: int = 50) -> Sequence[Moment]:
        """Of cards and nodes everywhere, without who came and went; newest first."""
        return self._happened.of_health(most)

    def since(self, node: str, uuid: str = "") -> float | None:
        """From when on a card has been unhealthy or cordoned, or without one the node has been what it is.

        None where it was so when first seen.
        """
        return self._happened.since(node, uuid)

    def course(self, since: float) -> Sequence[Point]:
        """Oldest first."""
        return self.way.since(since)

    def used(self, since: float, until: float = _FOREVER) -> Sequence[Used]:
        """By hour and namespace."""
        return list(self.book.used(since, until))

    def hours(self, since: float, until: float = _FOREVER) -> Sequence[Hour]:
        return list(self.book.hours(since, until))

    def held_now(self) -> Mapping[str, Holds]:
        """By namespace."""
        return self.book.held_now()

    def arrivals(self) -> Sequence[str]:
        """Pods that hold something, in the order in which they came as far as that was seen."""
        return self.book.arrivals()

    @property
    def charged_until(self) -> float:
        return self.book.at

    @property
    def happened(self) -> int:
        """Grows with everything that happens."""
        return self._happened.number

    @property
    def health_happened(self) -> int:
        """The same for what `health_moments` tells."""
        return self._happened.health_number

    def _gather(self, arriving: dict[str, NodeStatus], change: Change) -> None:
        for before, after in change.nodes:
            if after is not None:
                arriving[after.node] = after
            elif before is not None:
                arriving.pop(before.node, None)
        if not change.complete:
            return
        self._arriving = None
        news = self.begun > 0
        if not news:
            # What an earlier process knew was charged up to here.
            self.book.rates.clear()
        for name in [*self._nodes, *(name for name in sorted(arriving) if name not in self._nodes)]:
            before, after = self._nodes.get(name), arriving.get(name)
            if before != after:
                self._move(before, after, change.at, news=news)
        if not news:
            self.begun = change.at
            self.book.begin_again()

    def _move(
        self, before: NodeStatus | None, after: NodeStatus | None, at: float, *, news: bool = True
    ) -> None:
        if after is not None:
            self._nodes[after.node] = after
        elif before is not None:
            self._nodes.pop(before.node, None)
        self.book.move(before, after, count=news)
        if news:
            self._happened.note(before, after, at)

    def _point(self, change: Change) -> Point:
        room, cards = change.room, change.sums.cards
        used = sum(rate.card for rate in self.book.rates.values()) / CARD
        return Point(
            at=change.at,
            cards=cards,
            used=round(used, 4),
            idle=round(room.idle, 4) if room else max(0.0, round(cards - used, 4)),
            fragmented=round(room.fragmented, 4) if room else 0.0,
            waiting=change.waiting_now,
            typical=room is not None and room.shapes > 0,
        )
