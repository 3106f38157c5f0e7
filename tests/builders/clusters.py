"""Nodes with cards, laid out like the servers people have."""

from collections.abc import Iterable, Sequence

from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.nodes import HostCapacity, Node
from tangram.model.topology import Link, LinkKind, PcieLevel, Topology
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import Bytes, from_512mib_units, from_gib

C500_MEMORY = from_gib(64)
S4000_MEMORY = from_gib(48)
S4000_TIERS = tuple(from_512mib_units(units) for units in (2, 4, 8, 16, 32, 64, 96))


def card(
    node: str,
    index: int,
    *,
    vendor: Vendor = Vendor.METAX,
    mode: CardMode = CardMode.SLICED,
    memory: Bytes = C500_MEMORY,
    slots: int | None = None,
    numa: int = 0,
    healthy: bool = True,
    cordoned: bool = False,
    product: str = "MXC500",
) -> Card:
    whole = mode is CardMode.WHOLE
    return Card(
        uuid=CardUuid(f"GPU-{node}-{index}"),
        index=index,
        vendor=vendor,
        memory=memory,
        product=product,
        cores=16 if vendor is Vendor.MTHREADS else 100,
        slots=slots if slots is not None else (1 if whole else 16),
        mode=mode,
        numa=numa,
        healthy=healthy,
        cordoned=cordoned,
        memory_tiers=S4000_TIERS if vendor is Vendor.MTHREADS and not whole else (),
    )


def grouped(
    size: int, groups: Iterable[Sequence[int]], *, near: Iterable[tuple[int, int]] | None = None
) -> Topology:
    """MetaXLink inside each group, a PCIe switch under the `near` pairs (all of a group when not said)."""
    membership = {card: number for number, group in enumerate(groups) for card in group}
    close = None if near is None else set(near)
    links: list[Link] = []
    for a in range(size):
        for b in range(a + 1, size):
            if a in membership and membership.get(a) == membership.get(b):
                switched = close is None or (a, b) in close
                level = PcieLevel.SINGLE_SWITCH if switched else PcieLevel.MULTIPLE_SWITCHES
                links.append(Link(a, b, LinkKind.METAXLINK, level))
            else:
                links.append(Link(a, b, LinkKind.NONE, PcieLevel.NUMA_NODE))
    return Topology(size, tuple(links))


TWO_GROUPS_OF_FOUR = grouped(8, [(0, 1, 2, 3), (4, 5, 6, 7)])


def metax_node(
    name: str,
    cards: int = 8,
    *,
    mode: CardMode = CardMode.SLICED,
    topology: Topology | None = None,
    cpu_milli: int | None = None,
    host_memory: Bytes | None = None,
    slots: int | None = None,
    labels: dict[str, str] | None = None,
) -> Node:
    if topology is None and cards == 8:
        topology = TWO_GROUPS_OF_FOUR
    return Node(
        name=NodeName(name),
        cards=tuple(
            card(name, index, mode=mode, numa=index * 2 // max(cards, 1), slots=slots)
            for index in range(cards)
        ),
        topology=topology,
        host=HostCapacity(cpu_milli, host_memory),
        labels=labels or {},
    )


def mthreads_node(name: str, cards: int = 8, *, mode: CardMode = CardMode.SLICED) -> Node:
    return Node(
        name=NodeName(name),
        cards=tuple(
            card(name, index, vendor=Vendor.MTHREADS, mode=mode, memory=S4000_MEMORY, product="MTT S4000")
            for index in range(cards)
        ),
    )
