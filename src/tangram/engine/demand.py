"""What kinds of pods to expect, so that room can be kept for them.

Fragmentation only means something against a demand: a half-empty card is waste to a cluster that runs whole-card jobs
and room to one that runs slices. The demand is a list of typical shapes with their share of all pods, either given (a
file, a trace) or learned from the pods of the recent past.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

import msgspec

from tangram.model.cards import Vendor
from tangram.model.requests import Ask, AskKind, Request
from tangram.units.memory import Bytes

COVERED = 0.95
"""Shapes are kept, most frequent first, until they stand for this share of all pods."""
REMEMBERED_PODS = 2000
RELEARN_EVERY = 200
"""New shapes are worked out after this many pods: each change of demand makes every node be weighed again. The first
pods of a cluster are few, and each of them says much: until then half as many as there were is enough."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of pod, as far as room for it goes. `count` 0 stands for pods that want no card."""

    count: int = 0
    vendor: Vendor | None = None
    kind: AskKind = AskKind.SLICE
    memory: Bytes | None = None
    memory_percent: int = 100
    cores: int | None = None
    products: frozenset[str] = frozenset()
    cpu_milli: int = 0


class Demand(msgspec.Struct, frozen=True):
    """Typical shapes and how likely the next pod is to have each; the weights add up to one."""

    shapes: tuple[tuple[Shape, float], ...] = ()

    def of_vendor(self, vendor: Vendor) -> Demand:
        """Pods that compete for cards of that vendor or for processors alone; the weights add up to one again."""
        own = [(shape, weight) for shape, weight in self.shapes if not shape.count or shape.vendor is vendor]
        if len(own) == len(self.shapes):
            return self
        total = sum(weight for _, weight in own)
        return Demand(tuple((shape, weight / total) for shape, weight in own))


NO_DEMAND = Demand()


def shape_of(request: Request) -> Shape:
    """The shape of a request, reduced to its largest ask: what is hardest to find room for."""
    asks = [ask for container in request.containers for ask in container.asks]
    if not asks:
        return Shape(cpu_milli=request.host.cpu_milli)
    ask = max(asks, key=_size)
    return Shape(
        count=ask.count,
        vendor=ask.vendor,
        kind=ask.kind,
        memory=ask.memory,
        memory_percent=ask.memory_percent,
        cores=ask.cores,
        products=request.cards.only_products,
        cpu_milli=request.host.cpu_milli,
    )


def _size(ask: Ask) -> tuple[int, int, float]:
    memory = float("inf") if ask.memory is None else ask.memory
    return ask.count, 1 if ask.kind is AskKind.WHOLE else 0, memory


def demand_from(shapes: Iterable[Shape], covered: float = COVERED) -> Demand:
    """The most frequent shapes that together stand for the covered share, weighted by how often they came.

    Shapes that came equally often are taken in a fixed order, so the same pods give the same demand in any order.
    """
    return demand_of(Counter(shapes), covered)


def demand_of(counts: Counter[Shape], covered: float = COVERED) -> Demand:
    """The same from how often each shape came."""
    total = counts.total()
    kept: list[tuple[Shape, int]] = []
    reached = 0
    for shape, times in sorted(counts.items(), key=lambda item: (-item[1], _rank(item[0]))):
        if reached >= covered * total:
            break
        kept.append((shape, times))
        reached += times
    return Demand(tuple((shape, times / reached) for shape, times in kept))


def _rank(shape: Shape) -> tuple[object, ...]:
    return (
        shape.cpu_milli,
        shape.count,
        -1 if shape.memory is None else shape.memory,
        -1 if shape.cores is None else shape.cores,
        sorted(shape.products),
        shape.vendor or "",
        shape.kind,
        shape.memory_percent,
    )


class LearnedDemand:
    """Demand from the last pods seen, renewed now and then rather than with every pod."""

    def __init__(self) -> None:
        self._recent: deque[Shape] = deque(maxlen=REMEMBERED_PODS)
        self._since = 0
        self.current = Demand()

    def see(self, request: Request) -> None:
        """Count one more pod."""
        self._recent.append(shape_of(request))
        self._since += 1
        if self._since >= min(RELEARN_EVERY, len(self._recent) // 2):
            self._since = 0
            self.current = demand_from(self._recent)
