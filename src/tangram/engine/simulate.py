"""A stream of pods replayed over a list of nodes, with the same filter the live scheduler uses.

The order of arrival is the published recipe of the fragmentation study: pods sorted by name and shuffled with the seed,
then clones drawn evenly from the original pods until the next one would carry the demand past the limit. Pods never
leave; one that does not fit is dropped and still counts as arrived.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import msgspec

from tangram.engine.allocate import tenant_for
from tangram.engine.decide import Memo, decide
from tangram.engine.demand import Demand, demand_from, shape_of
from tangram.engine.frag import FragScores
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.model.nodes import Node
from tangram.model.pods import PodRef
from tangram.model.requests import CardOrder, NodePolicy, Request
from tangram.units.ids import Namespace, PodName, PodUid

REPORT_EVERY = 50
"""Pods between two calls of the progress callback."""


class Arrival(msgspec.Struct, frozen=True):
    """One pod of the stream. `weight_milli` is what it adds to the arrived demand, in thousandths of a card."""

    name: str
    request: Request
    weight_milli: int


class ReplaySettings(msgspec.Struct, frozen=True):
    policy: NodePolicy
    seed: int
    until_percent: int = 130
    """The stream ends when demand would pass this share of all cards."""
    card_order: tuple[CardOrder, ...] = (CardOrder.BINPACK,)


class ReplayResult(msgspec.Struct, frozen=True):
    """What was placed. Holds no clock readings, so equal inputs give equal results."""

    policy: NodePolicy
    seed: int
    nodes: int
    cards: int
    pods_arrived: int
    pods_placed: int
    unallocated_percent: float
    """At the point where arrived demand equals capacity, or at the end of a shorter stream."""
    unallocated_percent_at: dict[int, float]
    """Per whole percent of arrived demand: the mean over the pods that arrived there."""


def replay(
    nodes: Sequence[Node],
    pods: Sequence[Arrival],
    settings: ReplaySettings,
    *,
    demand: Demand | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> ReplayResult:
    """Place the stream pod by pod. The expected demand is that of the original pods unless given."""
    ledger = Ledger()
    for node in nodes:
        ledger.put_node(node)
    cards = sum(len(node.cards) for node in nodes)
    capacity = 1000 * cards
    stream = list(arrivals(pods, capacity, settings))
    ordered = sorted(pods, key=lambda each: each.name)
    frag = FragScores(
        demand if demand is not None else demand_from(shape_of(each.request) for each in ordered)
    )
    defaults = Defaults(node_policy=settings.policy, card_order=settings.card_order)
    memo = Memo()
    arrived = allocated = placed = 0
    allocated_at: dict[int, list[int]] = {}
    for number, pod in enumerate(stream):
        request = msgspec.structs.replace(pod.request, pod=_numbered(pod.name, number))
        outcome = decide(ledger, request, defaults, memo=memo, frag=frag)
        arrived += pod.weight_milli
        if outcome.allocation is not None:
            ledger.put_tenant(tenant_for(request, outcome.allocation))
            allocated += pod.weight_milli
            placed += 1
        allocated_at.setdefault(round(100 * arrived / max(capacity, 1)), []).append(allocated)
        if on_progress is not None and (number + 1) % REPORT_EVERY == 0:
            on_progress(number + 1, len(stream))
    if on_progress is not None:
        on_progress(len(stream), len(stream))
    unallocated = {
        percent: round(100 - 100 * sum(amounts) / len(amounts) / max(capacity, 1), 4)
        for percent, amounts in allocated_at.items()
    }
    return ReplayResult(
        policy=settings.policy,
        seed=settings.seed,
        nodes=len(nodes),
        cards=cards,
        pods_arrived=len(stream),
        pods_placed=placed,
        unallocated_percent=_at_capacity(unallocated),
        unallocated_percent_at=unallocated,
    )


def _at_capacity(unallocated: dict[int, float]) -> float:
    """The figure where demand reaches capacity, or the last before it: large pods may step over the very percent."""
    if not unallocated:
        return 100.0
    reached = max((percent for percent in unallocated if percent <= 100), default=min(unallocated))
    return unallocated[reached]


def arrivals(pods: Sequence[Arrival], capacity_milli: int, settings: ReplaySettings) -> Iterator[Arrival]:
    """The pods in the order they arrive: every original once, then clones up to the limit."""
    originals = sorted(pods, key=lambda each: each.name)
    order = random.Random(settings.seed)  # noqa: S311 - a seeded shuffle is the recipe; nothing here guards a secret
    shuffled = originals.copy()
    order.shuffle(shuffled)
    yield from shuffled
    limit = settings.until_percent * capacity_milli // 100
    demand = sum(each.weight_milli for each in shuffled)
    if not any(each.weight_milli for each in originals):
        return
    while True:
        clone = originals[order.randrange(len(originals))]
        demand += clone.weight_milli
        if demand > limit:
            return
        yield clone


def _numbered(name: str, number: int) -> PodRef:
    return PodRef(Namespace("replay"), PodName(name), PodUid(f"{number}"))
