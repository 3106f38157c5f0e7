"""The best cards of one node, for a process that must stay small.

The answers are those of `topology`, to the last tie, from the same idea: every set of up to sixteen cards is a number,
and the weight inside every set is one table. There the tables of a cluster are searched all at once, with numpy; here a
node agent asks about its own few cards, and would pay for numpy with half of the memory it may have.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import add

from tangram.engine.layout import MOST_CARDS, CardSet, Layout

_REMEMBERED_LAYOUTS = 2
"""A node has one, and another while a link is down."""


def best_set(
    layout: Layout, free: int, count: int, *, least_damage: bool = False, must: int = 0
) -> CardSet | None:
    """The best `count` cards of `free`, or None when there are not as many.

    By default the best connected, then the least damage to the rest; `least_damage` asks in the other order. What is
    equal in both goes to the highest card numbers. The cards of `must` are among them.
    """
    free &= (1 << layout.size) - 1
    if not must.bit_count() <= count <= free.bit_count() or must & ~free:
        return None
    inside = _inside(layout)
    sets = _sets(layout.size, free, count)
    if must:
        sets = [each for each in sets if each & must == must]
    # The less is cut, the more stays on the two sides of the cut: their sum stands for the damage. One number holds
    # both goals, as weights are never negative and so neither exceeds what all free cards together are worth.
    step = inside[free] + 1
    of_chosen, of_left = (step + 1, step) if least_damage else (step, 1)
    worth = [inside[each] * of_chosen + inside[free ^ each] * of_left for each in sets]
    worth.reverse()
    winner = sets[-1 - worth.index(max(worth))]
    return CardSet(winner, inside[winner], inside[free] - inside[winner] - inside[free ^ winner])


def scores(layout: Layout, free: int) -> dict[int, int]:
    """Per request size, the best score among `free` cards: what `gpu.topology.scores` announces."""
    return {count: found.score for count, found in _every_size(layout, free, least_damage=False)}


def losses(layout: Layout, free: int) -> dict[int, int]:
    """Per request size, the least loss among `free` cards: what `gpu.topology.losses` announces."""
    return {count: found.loss for count, found in _every_size(layout, free, least_damage=True)}


def _every_size(layout: Layout, free: int, *, least_damage: bool) -> Iterator[tuple[int, CardSet]]:
    for count in range(1, free.bit_count() + 1):
        found = best_set(layout, free, count, least_damage=least_damage)
        if found is not None:
            yield count, found


@lru_cache(maxsize=_REMEMBERED_LAYOUTS)
def _inside(layout: Layout) -> array[int]:
    """Per set, the sum of pair weights within it."""
    sums = array("i", [0])
    for card in range(layout.size):
        to_others = layout.weights[card * layout.size : card * layout.size + card]
        reach = array("i", [0])
        for worth in to_others:
            reach.extend([each + worth for each in reach])
        sums.extend(array("i", map(add, sums, reach)))
    return sums


@lru_cache(maxsize=MOST_CARDS + 1)
def _by_count(size: int) -> tuple[array[int], ...]:
    """All sets of `size` cards by how many cards they have, each list ascending."""
    listed = tuple(array("H") for _ in range(size + 1))
    for each in range(1 << size):
        listed[each.bit_count()].append(each)
    return listed


def _sets(size: int, free: int, count: int) -> Sequence[int]:
    sets = _by_count(size)[count]
    taken = ((1 << size) - 1) & ~free
    return [each for each in sets if not each & taken] if taken else sets
