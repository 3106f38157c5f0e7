"""The best cards of one node, for a process that must stay small.

The answers are those of `topology`, to the last tie, from the same idea: every set of up to sixteen cards is a number,
and the weight inside every set is one table. There the tables of a cluster are searched all at once, with numpy; here a
node agent asks about its own few cards, and would pay for numpy with half of the memory it may have.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from operator import add

from tangram.engine.layout import MOST_CARDS, CardSet, Layout

_REMEMBERED_LAYOUTS = 2
"""A node has one, and another while a link is down."""

_Goal = Callable[[Sequence[int], int, Sequence[int]], list[int]]
"""What each set is worth: from the sums within every set, the free cards and the sets."""


def best_set(layout: Layout, free: int, count: int, *, must: int = 0) -> CardSet | None:
    """The best `count` cards of `free`, or None when there are not as many.

    As `TopologyTable.best` orders them, from which kind of connection joins the whole set down to the highest card
    numbers. The cards of `must` are among them.
    """
    free &= (1 << layout.size) - 1
    if not must.bit_count() <= count <= free.bit_count() or must & ~free:
        return None
    sets = _sets(layout.size, free, count)
    if must:
        sets = [each for each in sets if each & must == must]
    inside, by_kind = _inside(layout.size, layout.weights), _inside(layout.size, layout.kinds)
    for neighbours in layout.nearness:
        complete = _complete(neighbours)
        if joined := [each for each in sets if complete[each]]:
            sets = joined
            break
    sets = _largest(sets, _connected(by_kind, free, sets))
    sets = _largest(sets, _damage_spared(by_kind, free, sets))
    return _first(inside, free, sets, (_damage_spared, _connected))


def best_score(layout: Layout, free: int, count: int) -> CardSet | None:
    """The set with the largest sum of pair weights, whatever is left: `gpu.topology.scores`."""
    return _extreme(layout, free, count, (_connected, _damage_spared))


def least_loss(layout: Layout, free: int, count: int) -> CardSet | None:
    """The set that cuts the least away from the rest, however it is joined: `gpu.topology.losses`."""
    return _extreme(layout, free, count, (_damage_spared, _connected))


def scores(layout: Layout, free: int) -> dict[int, int]:
    """Per request size, the best score among `free` cards: what `gpu.topology.scores` announces."""
    return {count: found.score for count, found in _every_size(best_score, layout, free)}


def losses(layout: Layout, free: int) -> dict[int, int]:
    """Per request size, the least loss among `free` cards: what `gpu.topology.losses` announces."""
    return {count: found.loss for count, found in _every_size(least_loss, layout, free)}


def _every_size(
    find: Callable[[Layout, int, int], CardSet | None], layout: Layout, free: int
) -> Iterator[tuple[int, CardSet]]:
    for count in range(1, free.bit_count() + 1):
        found = find(layout, free, count)
        if found is not None:
            yield count, found


def _extreme(layout: Layout, free: int, count: int, goals: tuple[_Goal, ...]) -> CardSet | None:
    free &= (1 << layout.size) - 1
    if not 0 <= count <= free.bit_count():
        return None
    return _first(_inside(layout.size, layout.weights), free, _sets(layout.size, free, count), goals)


def _first(inside: Sequence[int], free: int, sets: Sequence[int], goals: tuple[_Goal, ...]) -> CardSet:
    """The best by each goal in turn; of equal ones that with the highest card numbers."""
    for goal in goals:
        sets = _largest(sets, goal(inside, free, sets))
    chosen = sets[-1]
    return CardSet(chosen, inside[chosen], inside[free] - inside[chosen] - inside[free ^ chosen])


def _connected(inside: Sequence[int], _free: int, sets: Sequence[int]) -> list[int]:
    return [inside[each] for each in sets]


def _damage_spared(inside: Sequence[int], free: int, sets: Sequence[int]) -> list[int]:
    """The less is cut, the more stays on the two sides of the cut: their sum stands for the damage."""
    return [inside[each] + inside[free ^ each] for each in sets]


def _largest(sets: Sequence[int], worths: Sequence[int]) -> Sequence[int]:
    most = max(worths)
    return [each for each, worth in zip(sets, worths, strict=True) if worth == most]


@lru_cache(maxsize=2 * _REMEMBERED_LAYOUTS)
def _inside(size: int, pairs: tuple[int, ...]) -> array[int]:
    """Per set, the sum of what its pairs are worth."""
    sums = array("i", [0])
    for card in range(size):
        to_others = pairs[card * size : card * size + card]
        reach = array("i", [0])
        for worth in to_others:
            reach.extend([each + worth for each in reach])
        sums.extend(array("i", map(add, sums, reach)))
    return sums


@lru_cache(maxsize=4 * _REMEMBERED_LAYOUTS)
def _complete(neighbours: tuple[int, ...]) -> bytes:
    """Per set, whether every card of it is among the neighbours of every other."""
    complete = bytearray([1])
    for near in neighbours:
        complete.extend([one if each & ~near == 0 else 0 for each, one in enumerate(complete)])
    return bytes(complete)


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
