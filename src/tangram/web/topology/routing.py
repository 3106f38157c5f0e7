"""The lines of direct links: from ports on the cards' edges, as arcs within a row and as curves across.

Every link has a port of its own on both of its cards. Ports are in the order in which lines leave: nearest neighbours
outermost, so that the arcs of a full mesh lie within each other, and those to the other row in the middle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import msgspec

from tangram.web.topology.scene import Joint, Scene

_PORT_SPACE: Final = 0.86
"""The part of a card's edge that ports may take."""
_WIDEST_STEP: Final = 16.0
_FLATTEST: Final = 15.0
_RISE: Final = 0.085
"""How much deeper an arc hangs for each unit that it spans."""
_CROSSING: Final = 120.0
_CROSSING_STEP: Final = 7.0
_BEND: Final = 4 / 3
"""A cubic curve reaches three quarters of the way to its handles."""


class Placed(Protocol):
    @property
    def x(self) -> float: ...
    @property
    def y(self) -> float: ...
    @property
    def width(self) -> float: ...
    @property
    def height(self) -> float: ...


class Route(msgspec.Struct, frozen=True):
    """A cubic curve, as the numbers of SVG's `M x y C x y x y x y`."""

    joint: Joint
    curve: tuple[float, ...]

    @property
    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return (self.curve[0], self.curve[1]), (self.curve[6], self.curve[7])


def deepest(scene: Scene, lefts: Sequence[Mapping[int, float]], card_width: float) -> float:
    """How much room links need between the rows, or below the only one."""
    reach = [0.0] * len(lefts)
    crossing = 0
    for joint in scene.links:
        row = [number for number, places in enumerate(lefts) if joint.a in places or joint.b in places]
        if len(row) > 1:
            crossing += 1
            continue
        places = lefts[row[0]]
        span = abs(places[joint.a] - places[joint.b]) + card_width * _PORT_SPACE
        reach[row[0]] = max(reach[row[0]], _FLATTEST + _RISE * span)
    within = sum(reach) + (10 if all(reach) else 0)
    if not crossing:
        return within
    longest = max(max(places.values()) - min(places.values()) for places in lefts)
    return max(within * 0.9, _CROSSING + _CROSSING_STEP * longest / card_width)


def routes_of(scene: Scene, rows: Sequence[Sequence[int]], cards: Mapping[int, Placed]) -> list[Route]:
    """Every direct link once."""
    row_of = {card: number for number, row in enumerate(rows) for card in row}
    ports = _ports(scene, row_of, cards)
    routes: list[Route] = []
    for joint in scene.links:
        (ax, ay), (bx, by) = ports[joint.a, joint.b], ports[joint.b, joint.a]
        if row_of[joint.a] == row_of[joint.b]:
            # Downwards from the upper row, upwards from the lower.
            sign = -1 if row_of[joint.a] else 1
            bend = sign * _BEND * (_FLATTEST + _RISE * abs(ax - bx))
            routes.append(Route(joint, (ax, ay, ax, ay + bend, bx, by + bend, bx, by)))
        else:
            middle = (ay + by) / 2
            routes.append(Route(joint, (ax, ay, ax, middle, bx, middle, bx, by)))
    return routes


def _ports(
    scene: Scene, row_of: Mapping[int, int], cards: Mapping[int, Placed]
) -> dict[tuple[int, int], tuple[float, float]]:
    """Where the line from one card to another begins, for both directions of each link."""
    partners: dict[int, list[int]] = {}
    for joint in scene.links:
        partners.setdefault(joint.a, []).append(joint.b)
        partners.setdefault(joint.b, []).append(joint.a)
    found: dict[tuple[int, int], tuple[float, float]] = {}
    for card, others in partners.items():
        here = cards[card]

        def leaves(other: int, card: int = card, x: float = here.x) -> tuple[int, float]:
            there = cards[other].x
            if row_of[other] != row_of[card]:
                return 1, there
            return (0, -there) if there < x else (2, -there)

        step = min(_WIDEST_STEP, here.width * _PORT_SPACE / max(1, len(others) - 1))
        first = here.x + here.width / 2 - step * (len(others) - 1) / 2
        edge = here.y + (0 if row_of[card] else here.height)
        for number, other in enumerate(sorted(others, key=leaves)):
            found[card, other] = (first + step * number, edge)
    return found
