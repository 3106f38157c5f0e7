"""Where everything of the picture is, in the picture's own units, which are pixels at natural size.

One row of cards has its PCIe tree above and its links below. Two rows face each other: the links of both run between
them, and each row's tree is on its outer side, so that lines of one kind never cross those of the other. Nothing here
depends on chance or on what came before: the same node gives the same picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tangram.web.topology.grouping import UNKNOWN_NUMA, Plan, Under
from tangram.web.topology.routing import Route, deepest, routes_of
from tangram.web.topology.scene import CardSeen, Scene

CARD_WIDTH: Final = 164
SLIM_WIDTH: Final = 142
"""In rows of more than `WIDE_CARDS`, which would need glasses otherwise."""
WIDE_CARDS: Final = 5
CARD_HEIGHT: Final = 112
"""Without names."""
LINE: Final = 15
"""For one name."""
MOST_LINES: Final = 3
_LEAST_LINES: Final = 2
"""Room that stays free, so that the picture does not jump with the first pod."""
BETWEEN: Final = 16
"""Two cards of one NUMA node."""
MARGIN: Final = 10
INSET: Final = 16
STRIP: Final = 26
"""With the name of a NUMA node."""
BAR: Final = 20
RISER: Final = 13
"""The wire between two levels of the tree."""
SPINE: Final = 14
"""Room beside the cards for a switch that both rows share."""
_NARROWEST_GAP: Final = 18


class Spot(msgspec.Struct, frozen=True):
    x: float
    y: float
    width: float
    height: float


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    spot: Spot
    cards: tuple[int, ...]
    """All that meet here, those of the other row among them."""


class Box(msgspec.Struct, frozen=True, kw_only=True):
    numa: int
    spot: Spot
    name_y: float


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    width: float
    height: float
    cards: dict[int, Spot]
    boxes: tuple[Box, ...]
    bars: tuple[Bar, ...]
    wires: tuple[tuple[float, ...], ...]
    """Each from x, y over corners to x, y."""
    routes: tuple[Route, ...]


def lines_of(card: CardSeen) -> int:
    """Names and remarks in its box."""
    return min(MOST_LINES, len(card.shares) + bool(card.card.reason))


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """One row before it knows how high it stands: `tree` are the levels that it has."""

    cards: tuple[int, ...]
    tree: tuple[tuple[Under, ...], ...]
    card: tuple[float, float]
    """Width and height of each."""

    @property
    def tree_height(self) -> float:
        return len(self.tree) * (BAR + RISER) + RISER


def layout_of(scene: Scene, plan: Plan) -> Layout:
    """Without cards it is empty."""
    tall = CARD_HEIGHT + LINE * max((_LEAST_LINES, *map(lines_of, scene.cards)))
    wide = SLIM_WIDTH if max(map(len, plan.rows), default=0) > WIDE_CARDS else CARD_WIDTH
    rows = [_Row(cards=cards, tree=_tree(cards, plan), card=(wide, tall)) for cards in plan.rows]
    if not rows:
        return Layout(width=0, height=0, cards={}, boxes=(), bars=(), wires=(), routes=())
    embraced = len(rows) > 1 and len(plan.numa) == 1
    shared = embraced and any(_both(under, rows) for level in plan.levels for under in level)
    left = MARGIN + INSET + (SPINE * len(plan.levels) if shared else 0)
    lefts = [_lefts(row, plan, left) for row in rows]
    widest = max(max(places.values()) for places in lefts)
    for places in lefts:
        aside = (widest - max(places.values())) / 2
        for card in places:
            places[card] += aside
    treed = scene.joints_known and len(scene.cards) > 1
    top = MARGIN + STRIP + (rows[0].tree_height if treed else 0)
    low = top + tall
    depth = deepest(scene, lefts, wide)
    gap = INSET + max(depth, _NARROWEST_GAP) + (INSET if len(rows) > 1 else 0)
    tops = [top, low + gap][: len(rows)]
    cards = {
        card: Spot(x, tops[number], wide, tall)
        for number, places in enumerate(lefts)
        for card, x in places.items()
    }
    if len(rows) == 1:
        height = low + max(INSET, depth + 8) + MARGIN
    else:
        height = tops[1] + tall + (rows[1].tree_height if treed else 0) + MARGIN
        height += INSET if embraced else STRIP
    bars, wires = _drawn_tree(rows, cards, plan) if treed else ([], [])
    return Layout(
        width=widest + wide + INSET + MARGIN,
        height=height,
        cards=cards,
        boxes=tuple(_boxes(rows, cards, plan, height)),
        bars=tuple(bars),
        wires=tuple(wires),
        routes=tuple(routes_of(scene, plan.rows, cards)),
    )


def _tree(cards: Sequence[int], plan: Plan) -> tuple[tuple[Under, ...], ...]:
    here = frozenset(cards)
    levels = (tuple(under for under in level if here.intersection(under.cards)) for level in plan.levels)
    return tuple(level for level in levels if level)


def _both(under: Under, rows: Sequence[_Row]) -> bool:
    return all(any(card in row.cards for card in under.cards) for row in rows)


def _lefts(row: _Row, plan: Plan, left: float) -> dict[int, float]:
    """From left to right, with more room between NUMA nodes than within them."""
    numa_of = {card: numa for numa, members in plan.numa.items() for card in members}
    found: dict[int, float] = {}
    before: int | None = None
    x = left
    for card in row.cards:
        if before is not None:
            x += row.card[0] + BETWEEN + (2 * INSET if numa_of[before] != numa_of[card] else 0)
        found[card] = x
        before = card
    return found


def _boxes(rows: Sequence[_Row], cards: dict[int, Spot], plan: Plan, height: float) -> list[Box]:
    boxes: list[Box] = []
    wide, tall = rows[0].card
    low = cards[rows[0].cards[0]].y + tall
    for numa, members in plan.numa.items():
        x = min(cards[card].x for card in members) - INSET
        width = max(cards[card].x for card in members) + wide + INSET - x
        if len(plan.numa) == 1:
            x, width = MARGIN, x + width - MARGIN
        upper = any(card in rows[0].cards for card in members)
        lower = len(rows) > 1 and any(card in rows[1].cards for card in members)
        y = MARGIN if upper else cards[members[0]].y - INSET
        end = height - MARGIN if lower else low + INSET
        name_y = MARGIN + STRIP - 9 if upper else end - 9
        boxes.append(Box(numa=numa, spot=Spot(x, y, width, end - y), name_y=name_y))
    return boxes


def _drawn_tree(
    rows: Sequence[_Row], cards: dict[int, Spot], plan: Plan
) -> tuple[list[Bar], list[tuple[float, ...]]]:
    """Bars with the wires between them. Whatever meets nowhere nearer meets in its NUMA node, if that is known."""
    bars: list[Bar] = []
    wires: list[tuple[float, ...]] = []
    above: dict[Under, tuple[float, float]] = {}
    rank = {under: number for number, level in enumerate(plan.levels) for under in level}
    for row in rows:
        sign = -1 if row is rows[0] else 1
        wide, tall = row.card
        edge = cards[row.cards[0]].y + (0 if row is rows[0] else tall)
        tips = {card: (cards[card].x + wide / 2, edge) for card in row.cards}
        for number, level in enumerate(row.tree):
            near = edge + sign * (RISER + number * (BAR + RISER))
            middle = near + sign * BAR / 2
            for under in level:
                mine = [card for card in under.cards if card in tips]
                x = min(cards[card].x for card in mine)
                right = max(cards[card].x for card in mine) + wide
                bars.append(
                    Bar(
                        kind=under.kind,
                        spot=Spot(x, min(near, near + sign * BAR), right - x, BAR),
                        cards=under.cards,
                    )
                )
                wires += [(tx, ty, tx, near) for tx, ty in sorted({tips[card] for card in mine})]
                tips |= dict.fromkeys(mine, ((x + right) / 2, near + sign * BAR))
                if under in above:
                    spine = MARGIN + INSET / 2 + SPINE * (rank[under] + 0.5)
                    end = above[under]
                    wires.append((x, middle, spine, middle, spine, end[1], *end))
                above.setdefault(under, (x, middle))
        wires += _rooted(tips, edge + sign * row.tree_height, plan)
    return bars, wires


def _rooted(tips: Mapping[int, tuple[float, float]], root: float, plan: Plan) -> list[tuple[float, ...]]:
    wires: list[tuple[float, ...]] = []
    for numa, members in plan.numa.items():
        ends = sorted({tips[card] for card in members if card in tips})
        if numa != UNKNOWN_NUMA and len(ends) > 1:
            wires += [(x, y, x, root) for x, y in ends]
            wires.append((ends[0][0], root, ends[-1][0], root))
    return wires
