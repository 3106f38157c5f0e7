"""Where everything goes in the picture of a machine.

The layout is fixed and depends on nothing but the report: cards in one row, ordered by NUMA node and PCIe switch. So
two pictures of one machine can be laid over each other, and a card that moved is a card that was moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tangram.cli.hardware.neighbours import TopologyReport, components
from tangram.model.topology import Link, LinkKind, PcieLevel
from tangram.units.na import NotAvailable

CARD: Final = (104, 74)
GAP: Final = 12
BOX_GAP: Final = 28
MARGIN: Final = 24
INSET: Final = 14
ARC_STEP: Final = 20
BAR: Final = 24


class Level(NamedTuple):
    """Bars of one kind of PCIe meeting point, each over the places it spans."""

    name: str
    spans: list[tuple[int, int]]


class Plan(NamedTuple):
    order: list[int]
    """Positions of the report's cards, from left to right."""
    lefts: list[int]
    boxes: list[tuple[str, int, int]]
    """NUMA nodes: name, first and last place."""
    levels: list[Level]
    arcs: int
    """Height of the arcs."""

    @property
    def row(self) -> int:
        return MARGIN + 30 + self.arcs

    @property
    def floor(self) -> int:
        return self.row + CARD[1] + len(self.levels) * (BAR + 16) + 34

    @property
    def width(self) -> int:
        return max((self.lefts[-1] if self.lefts else 0) + CARD[0] + INSET + MARGIN, 420)


def plan_of(report: TopologyReport) -> Plan:
    """The places of the report's cards, boxes, bars and arcs."""
    size = len(report.cards)
    trees = _meeting(size, report.links, PcieLevel.MULTIPLE_SWITCHES)
    switches = _meeting(size, report.links, PcieLevel.SINGLE_SWITCH)
    order = sorted(range(size), key=lambda at: (_numa(report, at), trees[at], switches[at], at))
    lefts: list[int] = []
    boxes: list[tuple[str, int, int]] = []
    x = MARGIN + INSET
    for place, at in enumerate(order):
        name = _numa_name(report, at)
        if boxes and boxes[-1][0] == name:
            boxes[-1] = (name, boxes[-1][1], place)
        else:
            x += 2 * INSET + BOX_GAP - GAP if boxes else 0
            boxes.append((name, place, place))
        lefts.append(x)
        x += CARD[0] + GAP
    levels = [
        Level("PCIe switch", _spans([switches[at] for at in order])),
        Level("PCIe switches", _spans([trees[at] for at in order])),
    ]
    if levels[0].spans == levels[1].spans:
        levels.pop()
    place_of = {at: place for place, at in enumerate(order)}
    reach = [
        abs(place_of[link.a] - place_of[link.b]) for link in report.links if link.kind is not LinkKind.NONE
    ]
    # Such a curve rises to three quarters of the height of the points that bend it.
    arcs = 12 + ARC_STEP * 3 * max(reach, default=0) // 4
    return Plan(order, lefts, boxes, [level for level in levels if level.spans], arcs)


def _meeting(size: int, links: Sequence[Link], level: PcieLevel) -> list[int]:
    """Per card, the first card of the set that meets at that level or below."""
    first = list(range(size))
    for members in components(size, [(link.a, link.b) for link in links if link.pcie <= level]):
        for at in members:
            first[at] = members[0]
    return first


def _spans(sets: Sequence[int]) -> list[tuple[int, int]]:
    """First and last place of every set of two cards or more."""
    spans = [
        (sets.index(each), len(sets) - 1 - list(reversed(sets)).index(each)) for each in dict.fromkeys(sets)
    ]
    return [(first, last) for first, last in spans if last > first]


def _numa(report: TopologyReport, at: int) -> int:
    numa = report.cards[at].numa
    return 1 << 30 if isinstance(numa, NotAvailable) or numa < 0 else numa


def _numa_name(report: TopologyReport, at: int) -> str:
    numa = _numa(report, at)
    return "NUMA node unknown" if numa == 1 << 30 else f"NUMA node {numa}"
