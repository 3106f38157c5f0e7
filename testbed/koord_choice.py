"""Which cards of a node koord-scheduler takes: a group of the partition table, else the narrowest scope of the
topology that has room, else the card with the best score.

Its habits are kept as they are, the swapped arguments with which it scores shared cards included.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from testbed.koord_devices import NodeCards
from testbed.koord_requests import MEMORY, RATIO, Amounts, Unschedulable, Wish

_NODE, _NUMA, _PCIE = 1, 2, 3
_WORTH = {8: 10000, 4: 100, 2: 1}


def choose(wish: Wish, cards: NodeCards) -> list[int]:
    """The minors to take. Raises `Unschedulable`."""
    if not cards.total:
        raise Unschedulable("Insufficient gpu devices")
    return _by_partition(wish, cards) or _by_topology(wish, cards) or _by_score(wish, cards)


def _by_partition(wish: Wish, cards: NodeCards) -> list[int]:
    if wish.shared:
        return []
    try:
        return _group_of(wish, cards)
    except Unschedulable:
        if wish.partitioned or cards.honors:
            raise
        return []


def _group_of(wish: Wish, cards: NodeCards) -> list[int]:
    if not cards.partitions:
        raise Unschedulable("node(s) missing GPU Partition Table")
    groups = cards.partitions.get(wish.cards)
    if not groups:
        raise Unschedulable("node(s) Unsupported number of GPU requests")
    healthy = {minor for minor, has in cards.total.items() if has}
    feasible = [group for group in groups if set(group) <= healthy and not set(group) & cards.used.keys()]
    if not feasible:
        raise Unschedulable("Insufficient Partitioned GPU Devices")
    return list(max(feasible, key=lambda group: _left_over(cards, group, wish.cards)))


def _left_over(cards: NodeCards, group: Sequence[int], size: int) -> int:
    taken = cards.used.keys() | set(group)
    return sum(
        worth * sum(not set(other) & taken for other in (cards.partitions or {}).get(number, ()))
        for number, worth in _WORTH.items()
        if number >= size
    )


# ---- topology


@dataclass(frozen=True, slots=True)
class _Scope:
    level: int
    minors: tuple[int, ...]
    inner: tuple["_Scope", ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    minors: list[int]
    depth: int
    in_use: int
    """How many scopes from the outermost in have a card that is used."""
    score: int

    def beats(self, other: "_Found", *, shared: bool) -> bool:
        mine, theirs = (self.depth, self.in_use), (other.depth, other.in_use)
        return mine > theirs or (shared and mine == theirs and self.score > other.score)


def _by_topology(wish: Wish, cards: NodeCards) -> list[int]:
    tree = _tree(cards)
    if tree is None or (wish.shared and wish.cards > 1):
        if wish.scope:
            missing = "missing GPU Device Topology Tree" if tree is None else "Unsupported Multi-Shared GPU"
            raise Unschedulable(f"node(s) {missing}")
        return []
    found = _in_scope(wish, cards, tree, depth=0, in_use=0)
    if found is None:
        raise Unschedulable(f"Insufficient {'Topology Scoped ' if wish.scope else ''}GPU Devices")
    return found.minors


def _tree(cards: NodeCards) -> _Scope | None:
    if cards.places is None:
        return None
    by_numa: dict[int, dict[str, list[int]]] = {}
    for minor, place in sorted(cards.places.items()):
        by_numa.setdefault(place.numa, {}).setdefault(place.pcie, []).append(minor)
    numas = tuple(
        _Scope(
            _NUMA,
            tuple(sorted(minor for minors in by_pcie.values() for minor in minors)),
            tuple(_Scope(_PCIE, tuple(minors)) for _, minors in sorted(by_pcie.items())),
        )
        for _, by_pcie in sorted(by_numa.items())
    )
    return _Scope(_NODE, tuple(sorted(cards.places)), numas)


def _in_scope(wish: Wish, cards: NodeCards, scope: _Scope, *, depth: int, in_use: int) -> _Found | None:
    if len(scope.minors) < wish.cards:
        return None
    depth += 1
    in_use += bool(cards.used.keys() & set(scope.minors))
    best: _Found | None = None
    for inner in scope.inner:
        found = _in_scope(wish, cards, inner, depth=depth, in_use=in_use)
        if found is not None and (best is None or found.beats(best, shared=wish.shared)):
            best = found
    if best is not None or wish.scope > scope.level:
        return best
    fitting = [minor for minor in scope.minors if cards.fits(minor, wish.per_card)]
    if len(fitting) < wish.cards:
        return None
    if not wish.shared:
        return _Found(fitting[: wish.cards], depth, in_use, -1)
    # What is free stands for what there is and the other way round, as in the original.
    scores = {minor: _score(wish.per_card, cards.free(minor), cards.total[minor]) for minor in fitting}
    minor = max(fitting, key=lambda each: scores[each])
    return _Found([minor], depth, in_use, scores[minor])


# ---- plain order


def _by_score(wish: Wish, cards: NodeCards) -> list[int]:
    fitting = [minor for minor in cards.total if cards.fits(minor, wish.per_card)]
    if len(fitting) < wish.cards:
        raise Unschedulable("Insufficient gpu devices")
    scores = {minor: _score(wish.per_card, cards.total[minor], cards.free(minor)) for minor in fitting}
    ordered = sorted(fitting, key=lambda minor: (-scores[minor], minor))
    return ordered[: wish.cards]


def node_score(wish: Wish, cards: NodeCards) -> int:
    """How empty the node would be, out of 100."""
    total = _summed(cards.total.values())
    free = _summed(cards.free(minor) for minor in cards.total)
    return _score(wish.per_card, total, free)


def _score(wanted: Amounts, total: Amounts, free: Amounts) -> int:
    """The least allocated is the best; only memory counts, in both its units."""
    scores: list[int] = []
    for name in (RATIO, MEMORY):
        has, left = total.get(name, 0), free.get(name, 0)
        if has:
            taken = has - left + wanted.get(name, 0) if has >= left else has
            scores.append((has - taken) * 100 // has if taken <= has else 0)
    return sum(scores) // len(scores) if scores else 0


def _summed(amounts: Iterable[Amounts]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in amounts:
        for name, value in each.items():
            total[name] = total.get(name, 0) + value
    return total
