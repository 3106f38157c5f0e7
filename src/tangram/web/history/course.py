"""How the cluster went: a point for every minute of a day, and one for every quarter of an hour of a month.

A point is what was the case at its time, or the mean of such points. Time in which nobody answered has no points, so a
line drawn through them has a hole there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Final

from tangram.web.history.records import DAY_S, KEPT_S, Point

FINE_S: Final = 60
COARSE_S: Final = 900
MOST_FINE: Final = DAY_S // FINE_S
MOST_COARSE: Final = KEPT_S // COARSE_S


class Course:
    def __init__(self) -> None:
        self._fine: deque[Point] = deque(maxlen=MOST_FINE)
        self._coarse: deque[Point] = deque(maxlen=MOST_COARSE)
        self._open: list[Point] = []

    @property
    def last(self) -> float:
        """When the newest point is from; 0.0 before the first."""
        return self._fine[-1].at if self._fine else 0.0

    @property
    def fine(self) -> Sequence[Point]:
        return self._fine

    @property
    def coarse(self) -> Sequence[Point]:
        """Those of the quarter that has not ended are not in it."""
        return self._coarse

    def due(self, at: float) -> bool:
        """Whether a new minute has begun. A clock that was set back begins none."""
        return at // FINE_S > self.last // FINE_S

    def add(self, point: Point) -> None:
        """One more minute."""
        if self._open and point.at // COARSE_S != self._open[0].at // COARSE_S:
            self._coarse.append(mean_of(self._open))
            self._open = []
        self._fine.append(point)
        self._open.append(point)

    def take(self, fine: Iterable[Point], coarse: Iterable[Point]) -> None:
        """Go on from what was kept elsewhere."""
        self._coarse.extend(coarse)
        self._fine.extend(fine)
        newest = self.last // COARSE_S
        self._open = [point for point in self._fine if point.at // COARSE_S == newest]

    def since(self, at: float) -> list[Point]:
        """Oldest first: fine points where there are any, coarse ones before them."""
        beginning = self._fine[0].at if self._fine else float("inf")
        return [point for point in self._coarse if at <= point.at and point.at + COARSE_S <= beginning] + [
            point for point in self._fine if point.at >= at
        ]


def mean_of(points: Sequence[Point]) -> Point:
    """One point for several, at the beginning of the first; what nobody knew does not count."""
    typical = [point for point in points if point.typical]
    return Point(
        at=points[0].at,
        cards=fmean(point.cards for point in points),
        used=fmean(point.used for point in points),
        idle=fmean(point.idle for point in typical or points),
        fragmented=fmean(point.fragmented for point in typical) if typical else 0.0,
        waiting=round(fmean(point.waiting for point in points)),
        typical=bool(typical),
    )
