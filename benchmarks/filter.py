"""How long one placement decision takes, how that grows with the cluster, and what the ledger weighs.

The cluster is half sliced MetaX servers, a quarter whole MetaX servers and a quarter sliced Moore Threads servers, each
with eight cards and, on average, the given number of pods. Between any two timed calls the cluster changes (a pod ends,
a pod starts), as it does in life: nothing is measured on a state that was seen before. The requests are drawn from
many shapes, and the first, uncached call of each shape is timed like any other. `*_from_scratch` figures are the same
decisions by a scheduler that remembers nothing.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tangram.engine.allocate import tenant_for
from tangram.engine.decide import Memo, decide
from tangram.engine.demand import demand_from, shape_of
from tangram.engine.filter import filter_nodes
from tangram.engine.frag import FragScores
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.model.allocations import Allocation, ContainerShares, Share, Tenant
from tangram.model.cards import Card, CardMode, QosPolicy, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import PodRef, Role
from tangram.model.requests import Ask, AskKind, ContainerAsk, NodePolicy, Request, Vocabulary
from tangram.model.topology import Link, LinkKind, PcieLevel, Topology
from tangram.units.ids import CardUuid, Namespace, NodeName, PodName, PodUid
from tangram.units.memory import Bytes, from_512mib_units, from_gib

Decide = Callable[[Request], Allocation | None]
Figures = dict[str, float]

CARDS = 8
C500, S4000 = from_gib(64), from_gib(48)
TIERS = tuple(from_512mib_units(units) for units in (2, 4, 8, 16, 32, 64, 96))
LINKS = Topology(
    CARDS,
    tuple(
        Link(
            a,
            b,
            LinkKind.METAXLINK if a // 4 == b // 4 else LinkKind.NONE,
            PcieLevel.SINGLE_SWITCH if a // 2 == b // 2 else PcieLevel.NUMA_NODE,
        )
        for a in range(CARDS)
        for b in range(a + 1, CARDS)
    ),
)
SLICE_MEMORY = [from_gib(size) for size in (1, 2, 4, 6, 8, 12, 16, 24)]
SLICE_CORES = [5, 10, 20, 30, 40]


def node(number: int) -> Node:
    """A server; its number decides of which kind."""
    name = f"node-{number:05d}"
    kind = number % 4
    vendor = Vendor.MTHREADS if kind == 3 else Vendor.METAX
    return Node(
        name=NodeName(name),
        cards=tuple(
            Card(
                uuid=CardUuid(f"GPU-{number:05d}-{index}"),
                index=index,
                vendor=vendor,
                memory=S4000 if vendor is Vendor.MTHREADS else C500,
                product="MTT S4000" if vendor is Vendor.MTHREADS else "MXC500",
                cores=16 if vendor is Vendor.MTHREADS else 100,
                slots=1 if kind == 2 else 16,
                mode=CardMode.WHOLE if kind == 2 else CardMode.SLICED,
                numa=index // 4,
                memory_tiers=TIERS if vendor is Vendor.MTHREADS else (),
            )
            for index in range(CARDS)
        ),
        topology=LINKS,
    )


class Load:
    """Pods that come and go, laid straight onto cards with room so that building a large cluster stays quick."""

    def __init__(self, ledger: Ledger, nodes: Sequence[Node], seed: int) -> None:
        self._ledger = ledger
        self._nodes = nodes
        self._random = random.Random(seed)  # noqa: S311 - a load generator, not a secret
        self._number = 0
        self._alive: list[PodUid] = []
        self._room = {each.name: [(card.memory, card.cores, 0) for card in each.cards] for each in nodes}

    def start_pod(self) -> bool:
        """One more pod on a random card, if the card drawn has room."""
        home = self._random.choice(self._nodes)
        column = self._random.randrange(CARDS)
        card = home.cards[column]
        memory, cores, pods = self._room[home.name][column]
        if card.mode is CardMode.WHOLE:
            need_memory, need_cores = card.memory, card.cores
            if sum(1 for _, _, tenants in self._room[home.name] if tenants) >= CARDS // 2:
                return False
        elif card.vendor is Vendor.MTHREADS:
            need_memory, need_cores = self._random.choice(TIERS[:4]), self._random.choice([1, 2, 4])
        else:
            need_memory, need_cores = (
                self._random.choice(SLICE_MEMORY[:5]),
                self._random.choice(SLICE_CORES[:3]),
            )
        if need_memory > memory or need_cores > cores or pods >= card.slots:
            return False
        self._room[home.name][column] = (Bytes(memory - need_memory), cores - need_cores, pods + 1)
        self._number += 1
        uid = PodUid(f"{self._number:08x}-0000-4000-8000-{self._number:012x}")
        self._ledger.put_tenant(
            Tenant(
                pod=PodRef(Namespace("default"), PodName(f"job-{self._number}"), uid),
                allocation=Allocation(
                    home.name,
                    (
                        ContainerShares(
                            "main", Role.APP, (Share(card.uuid, card.index, need_memory, need_cores),)
                        ),
                    ),
                ),
                qos=QosPolicy.BEST_EFFORT if card.vendor is Vendor.METAX else None,
            )
        )
        self._alive.append(uid)
        return True

    def end_pod(self) -> None:
        """One pod less, any."""
        at = self._random.randrange(len(self._alive))
        self._alive[at], self._alive[-1] = self._alive[-1], self._alive[at]
        tenant = self._ledger.remove(self._alive.pop())
        if tenant is not None:
            share = tenant.allocation.containers[0].shares[0]
            memory, cores, pods = self._room[tenant.allocation.node][share.index]
            self._room[tenant.allocation.node][share.index] = (
                Bytes(memory + share.memory),
                cores + share.cores,
                pods - 1,
            )

    @property
    def alive(self) -> int:
        """Pods that hold cards now."""
        return len(self._alive)


def build(nodes: int, pods_per_node: int, seed: int) -> tuple[Ledger, Load]:
    """A cluster of that size with that many pods."""
    ledger = Ledger()
    servers = [node(number) for number in range(nodes)]
    for server in servers:
        ledger.put_node(server)
    load = Load(ledger, servers, seed)
    for _ in range(40 * nodes * pods_per_node):
        if load.alive == nodes * pods_per_node:
            break
        load.start_pod()
    return ledger, load


def slice_request(draw: random.Random, policy: NodePolicy | None = None) -> Request:
    """A MetaX slice of one of forty shapes, the small ones more often."""
    memory = SLICE_MEMORY[min(int(draw.expovariate(0.4)), len(SLICE_MEMORY) - 1)]
    ask = Ask(
        vendor=Vendor.METAX,
        kind=AskKind.SLICE,
        count=1,
        memory=memory,
        cores=draw.choice(SLICE_CORES),
        vocabulary=Vocabulary.METAX,
    )
    return _request(ask, policy)


def whole_request(draw: random.Random) -> Request:
    """Four connected cards, alternately the best connected and the least damage."""
    ask = Ask(vendor=Vendor.METAX, kind=AskKind.WHOLE, count=4, vocabulary=Vocabulary.METAX)
    return _request(ask, draw.choice([NodePolicy.SPREAD, NodePolicy.BINPACK]))


_newcomers = itertools.count()


def _request(ask: Ask, policy: NodePolicy | None) -> Request:
    name = f"new-{next(_newcomers)}"
    return Request(
        pod=PodRef(Namespace("default"), PodName(name), PodUid(name)),
        containers=(ContainerAsk("main", Role.APP, (ask,)),),
        qos=QosPolicy.BEST_EFFORT,
        node_policy=policy,
    )


def timed_filters(
    ledger: Ledger, load: Load, make: Callable[[], Request], calls: int, decide_one: Decide
) -> Figures:
    """Milliseconds of each call, with the cluster changing in between; every other pod placed stays."""
    durations: list[float] = []
    placed = 0
    for number in range(calls):
        request = make()
        begin = time.perf_counter()
        allocation = decide_one(request)
        durations.append(1000 * (time.perf_counter() - begin))
        if allocation is not None:
            placed += 1
            ledger.put_tenant(tenant_for(request, allocation))
            if number % 2:
                ledger.remove(request.pod.uid)
        load.end_pod()
        load.start_pod()
    return {**summary(durations), "placed_share": round(placed / calls, 3)}


def timed_events(load: Load, events: int) -> Figures:
    """Microseconds per pod event: half of them ends, half starts (a start that finds no room is not counted)."""
    durations: list[float] = []
    for _ in range(events // 2):
        begin = time.perf_counter()
        load.end_pod()
        durations.append(1e6 * (time.perf_counter() - begin))
        begin = time.perf_counter()
        if load.start_pod():
            durations.append(1e6 * (time.perf_counter() - begin))
    return summary(durations)


def summary(durations: Sequence[float]) -> Figures:
    """Median and 99th percentile."""
    ordered = sorted(durations)
    return {
        "p50": round(ordered[len(ordered) // 2], 3),
        "p99": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], 3),
    }


def resident_mib() -> float:
    """Memory of this process now."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return round(kib / 1024, 1)


class Report(NamedTuple):
    sizes: Figures
    timed: dict[str, Figures]


def measure(nodes: int, pods_per_node: int, calls: int, seed: int) -> Report:
    """All figures for one size of cluster."""
    before = resident_mib()
    ledger, load = build(nodes, pods_per_node, seed)
    gc.collect()
    sizes: Figures = {"nodes": nodes, "pods": load.alive, "resident_mib_empty": before}
    sizes["resident_mib_with_ledger"] = resident_mib()
    draw = random.Random(seed)  # noqa: S311 - a load generator, not a secret
    demand = demand_from(shape_of(slice_request(draw)) for _ in range(2000))
    memo, frag, defaults = Memo(), FragScores(demand), Defaults()

    def remembering(request: Request) -> Allocation | None:
        return decide(ledger, request, defaults, memo=memo, frag=frag).allocation

    def from_scratch(request: Request) -> Allocation | None:
        return filter_nodes(ledger, request, defaults, frag=frag).allocation

    kinds: dict[str, Callable[[], Request]] = {
        "slice": lambda: slice_request(draw),
        "four_whole_cards": lambda: whole_request(draw),
        "frag": lambda: slice_request(draw, NodePolicy.FRAG),
    }
    timed: dict[str, Figures] = {}
    for name, make in kinds.items():
        timed[f"{name}_ms"] = timed_filters(ledger, load, make, calls, remembering)
        timed[f"{name}_from_scratch_ms"] = timed_filters(ledger, load, make, max(calls // 4, 1), from_scratch)
    timed["event_us"] = timed_events(load, 4000)
    sizes["shapes_expected"] = len(demand.shapes)
    sizes["resident_mib_at_the_end"] = resident_mib()
    return Report(sizes, timed)


def within_budget(report: Report) -> dict[str, bool]:
    """Each figure against its budget, which may grow with the cluster but not faster."""
    nodes = report.sizes["nodes"]
    per_call = 3.0 * nodes / 1000
    budgets = {
        "slice_ms": per_call,
        "four_whole_cards_ms": per_call,
        "frag_ms": 3 * per_call,
        "event_us": 50.0,
    }
    met = {name: report.timed[name]["p99"] <= budget for name, budget in budgets.items()}
    return {**met, "resident_mib": report.sizes["resident_mib_with_ledger"] <= max(150.0, 0.03 * nodes)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods-per-node", type=int, default=10)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args(arguments)
    if options.nodes < 1 or options.pods_per_node < 0 or options.calls < 1:
        parser.error("--nodes and --calls must be at least 1, --pods-per-node at least 0")
    report = measure(options.nodes, options.pods_per_node, options.calls, options.seed)
    figures = {**report.sizes, **report.timed, "within_budget": within_budget(report)}
    if options.json:
        print(json.dumps(figures))
    else:
        for key, value in figures.items():
            print(f"{key:34} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
