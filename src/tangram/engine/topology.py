"""Exact best sets of connected cards, from tables over bitmasks.

A node has at most sixteen cards here, so every set of cards is a number below 65,536 and the sum of pair weights inside
every set is one table, built once per distinct layout and shared by all nodes that have it. Nothing is approximated,
and ties fall to the highest card numbers, which is the order HAMi hands cards out in.

Nodes with more cards than that are refused a table; they are placed by count alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tangram.engine.layout import MOST_CARDS, CardSet, Layout, layout_of
from tangram.engine.weights import PairWeights
from tangram.model.cards import Vendor
from tangram.model.nodes import Node
from tangram.model.topology import TopologyScope

Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]


@lru_cache(maxsize=MOST_CARDS + 1)
def _popcounts(size: int) -> Ints:
    counts = np.zeros(1 << size, dtype=np.int32)
    for bit in range(size):
        counts[1 << bit : 2 << bit] = counts[: 1 << bit] + 1
    return counts


@lru_cache(maxsize=(MOST_CARDS + 1) ** 2)
def _masks_of_size(size: int, count: int) -> Ints:
    """All masks over `size` cards with `count` bits, ascending."""
    return np.flatnonzero(_popcounts(size) == count).astype(np.int32)


def _sums(size: int, pairs: tuple[int, ...]) -> Ints:
    """Per set, the sum of what its pairs are worth."""
    worths = np.array(pairs, dtype=np.int32).reshape(size, size)
    inside = np.zeros(1 << size, dtype=np.int32)
    for card in range(size):
        reach = np.zeros(1 << card, dtype=np.int32)
        for other in range(card):
            reach[1 << other : 2 << other] = reach[: 1 << other] + worths[card, other]
        inside[1 << card : 2 << card] = inside[: 1 << card] + reach
    return inside


class TopologyTable:
    """Scores, losses and best sets of one layout, each worked out once and remembered."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._inside: Ints = _sums(layout.size, layout.weights)
        self._by_kind: Ints = (
            self._inside if layout.kinds == layout.weights else _sums(layout.size, layout.kinds)
        )
        self._best: dict[tuple[int, int, bool, TopologyScope | None], CardSet | None] = {}
        self._complete: dict[tuple[int, ...], Bools] = {}
        self._linked_pairs: Ints | None = None

    def inside(self, mask: int) -> int:
        """The sum of pair weights within a set."""
        return int(self._inside[mask])

    def inside_of(self, masks: NDArray[np.int64]) -> Ints:
        """The same for many sets at once."""
        return self._inside[masks]

    def linked_pairs(self) -> Ints:
        """Per set, how many of its pairs are directly linked."""
        if self._linked_pairs is None:
            size = self.layout.size
            pairs = np.zeros(1 << size, dtype=np.int32)
            everything = np.arange(1 << size, dtype=np.int32)
            counts = _popcounts(size)
            for card in range(size):
                below = everything[: 1 << card]
                pairs[1 << card : 2 << card] = pairs[: 1 << card] + counts[below & self.layout.linked[card]]
            self._linked_pairs = pairs
        return self._linked_pairs

    def best(
        self, free: int, count: int, *, least_damage: bool = False, scope: TopologyScope | None = None
    ) -> CardSet | None:
        """The best `count` cards of `free`, or None when there are none within the scope.

        In the order of MetaX's manual: all joined by links before all below one switch, then the most pairs joined
        by links, then the most that stay joined among the cards left. Of sets that are alike in kind, those with the
        least loss, then the best score. `least_damage` puts the loss first.
        """
        key = (free, count, least_damage, scope)
        if key not in self._best:
            self._best[key] = self._search(free, count, least_damage=least_damage, scope=scope)
        return self._best[key]

    def other(
        self,
        free: int,
        count: int,
        *,
        than: int,
        least_damage: bool = False,
        scope: TopologyScope | None = None,
    ) -> CardSet | None:
        """The best that is not that set, by the same measure; for people who ask, so nothing is remembered."""
        return self._search(free, count, least_damage=least_damage, scope=scope, but=than)

    def worth(self, chosen: int, free: int) -> CardSet:
        """What any set of cards is worth, taken from those that are free."""
        score = self.inside(chosen)
        return CardSet(chosen, score, self.inside(free | chosen) - score - self.inside(free & ~chosen))

    def rank(self, chosen: int, free: int, *, least_damage: bool = False) -> tuple[int, ...]:
        """What any set of cards is compared by with another; larger is better, and the best is what `best` finds."""
        near = int(self._nearness(np.array([chosen], np.int32))[0])
        worth = self.worth(chosen, free)
        kinds = (near, int(self._by_kind[chosen]), int(self._by_kind[free & ~chosen]))
        ranked = (-worth.loss, *kinds) if least_damage else (*kinds, -worth.loss)
        return *ranked, worth.score, chosen

    def _search(
        self, free: int, count: int, *, least_damage: bool, scope: TopologyScope | None, but: int = 0
    ) -> CardSet | None:
        sets = _masks_of_size(self.layout.size, count)
        sets = sets[(sets & ~np.int32(free)) == 0]
        if scope is not None and count > 1:
            sets = sets[self._within(self._neighbours(scope))[sets]]
        if but:
            sets = sets[sets != but]
        if sets.size == 0:
            return None
        scores = self._inside[sets]
        rest = np.int32(free) & ~sets
        losses = self._inside[free] - scores - self._inside[rest]
        kinds = (self._nearness(sets), self._by_kind[sets], self._by_kind[rest])
        winners = np.ones(sets.size, np.bool_)
        for key in (-losses, *kinds, scores) if least_damage else (*kinds, -losses, scores):
            winners &= key == key[winners].max()
        at = int(np.flatnonzero(winners)[-1])
        return CardSet(int(sets[at]), int(scores[at]), int(losses[at]))

    def _nearness(self, sets: Ints) -> Ints:
        """Per set, how near all of its cards are joined; larger is nearer."""
        found = np.zeros(sets.size, np.int32)
        for rank, neighbours in enumerate(reversed(self.layout.nearness), start=1):
            found[self._within(neighbours)[sets]] = rank
        return found

    def reach(self, cards: int, scope: TopologyScope) -> int:
        """The cards joined as the scope demands to every one of a set, the set itself among them."""
        neighbours = self._neighbours(scope)
        reached = (1 << self.layout.size) - 1
        for card in range(self.layout.size):
            if cards >> card & 1:
                reached &= neighbours[card] | 1 << card
        return reached

    def _neighbours(self, scope: TopologyScope) -> tuple[int, ...]:
        return {
            TopologyScope.LINK: self.layout.linked,
            TopologyScope.PCIE: self.layout.switched,
            TopologyScope.NUMA: self.layout.same_numa,
            TopologyScope.NODE: tuple([(1 << self.layout.size) - 1] * self.layout.size),
        }[scope]

    def _within(self, neighbours: tuple[int, ...]) -> Bools:
        """Per set, whether every card of it is among the neighbours of every other."""
        if neighbours not in self._complete:
            complete = np.ones(1 << self.layout.size, dtype=np.bool_)
            everything = np.arange(1 << self.layout.size, dtype=np.int32)
            for card in range(self.layout.size):
                below = everything[: 1 << card]
                complete[1 << card : 2 << card] = complete[: 1 << card] & (
                    (below & ~np.int32(neighbours[card])) == 0
                )
            self._complete[neighbours] = complete
        return self._complete[neighbours]


class TopologyTables:
    """All tables of a cluster, one per distinct layout."""

    def __init__(self, weights: Mapping[Vendor, PairWeights]) -> None:
        self._weights = weights
        self._by_layout: dict[Layout, int] = {}
        self._tables: list[TopologyTable] = []

    def number_for(self, node: Node) -> int:
        """The number of this node's table, or -1 when its layout is too large for one."""
        layout = layout_of(node, self._weights)
        if layout is None:
            return -1
        if layout not in self._by_layout:
            self._by_layout[layout] = len(self._tables)
            self._tables.append(TopologyTable(layout))
        return self._by_layout[layout]

    def __getitem__(self, number: int) -> TopologyTable:
        return self._tables[number]
