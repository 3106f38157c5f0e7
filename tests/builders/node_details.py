"""Nodes as the scheduler tells a dashboard of them in full, laid out like servers that people have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from builders.dashboards import node as seen_node
from tangram.reports.shape import CardSet
from tangram.reports.status_shape import (
    CORDONED,
    FREE,
    READY,
    UNHEALTHY,
    USED,
    CardStatus,
    Holder,
)
from tangram.reports.view_shape import LinkView, NodeDetail

GIB = 2**30
SIZES = {"metax": (64 * GIB, 100, "MXC500"), "mthreads": (48 * GIB, 16, "MTT S4000")}


def holder(
    pod: str, memory: int = 16, cores: int = 25, *, whole: bool = False, phase: str = "Running"
) -> Holder:
    """Memory in GiB."""
    return Holder(pod=pod, memory=memory * GIB, cores=cores, whole=whole, phase=phase)


def seen_card(
    index: int,
    *holders: Holder,
    vendor: str = "metax",
    mode: str = "sgpu",
    state: str = "",
    reason: str = "",
    numa: int = -1,
    qos: str = "",
    others: int = 0,
) -> CardStatus:
    """A card with these holders; `others` holders of it are counted only."""
    memory, cores, product = SIZES[vendor]
    slots = 1 if mode == "native" else 16
    return CardStatus(
        index=index,
        uuid=f"GPU-{vendor}-{index:04}",
        vendor=vendor,
        product=product,
        mode=mode,
        state=state or (USED if holders or others else FREE),
        cordoned=state == CORDONED,
        reason=reason,
        memory=memory,
        memory_used=sum(each.memory for each in holders) + others * GIB,
        cores=cores,
        cores_used=sum(each.cores for each in holders) + others,
        slots=slots,
        slots_used=len(holders) + others,
        holders=list(holders),
        other_holders=others,
        numa=numa,
        qos=qos,
    )


def whole(index: int, pod: str, *, vendor: str = "metax", numa: int = -1) -> CardStatus:
    """A card that one pod holds by itself."""
    memory, cores, _ = SIZES[vendor]
    return seen_card(
        index, holder(pod, memory // GIB, cores, whole=True), vendor=vendor, mode="native", numa=numa
    )


def node_detail(
    cards: Sequence[CardStatus],
    links: Sequence[LinkView] | None = (),
    *,
    name: str = "gpu-1",
    pod: str = "",
    sets: Sequence[CardSet] = (),
    labels: dict[str, str] | None = None,
    taints: Sequence[str] = (),
    problems: Sequence[str] = (),
    state: str = READY,
) -> NodeDetail:
    """`links` None for a node of which nobody knows how its cards are joined."""
    return NodeDetail(
        at=1_700_000_000.0,
        node=seen_node(name, *cards, state=state),
        links=list(links or ()),
        links_known=links is not None,
        labels=labels or {},
        taints=list(taints),
        cpu_milli=128_000,
        host_memory=1024 * GIB,
        problems=list(problems),
        pod=pod,
        sets=list(sets),
    )


def joined(
    cards: Sequence[CardStatus],
    groups: Sequence[Sequence[int]],
    *,
    switches: Sequence[Sequence[int]] = (),
    bridges: Sequence[Sequence[int]] = (),
    kind: str = "MX",
    lanes: Callable[[int, int], int] = lambda _a, _b: 1,
) -> list[LinkView]:
    """Every pair: linked within a group, and on PCIe as near as a switch, a bridge or their NUMA nodes bring it."""

    def together(sets: Sequence[Sequence[int]], a: int, b: int) -> bool:
        return any(a in each and b in each for each in sets)

    found: list[LinkView] = []
    for one, other in combinations(cards, 2):
        a, b = one.index, other.index
        linked = together(groups, a, b)
        pcie = "numa-node" if one.numa == other.numa >= 0 else "system"
        pcie = "host-bridge" if together(bridges, a, b) else pcie
        pcie = "single-switch" if together(switches, a, b) else pcie
        found.append(
            LinkView(a=a, b=b, kind=kind if linked else "", pcie=pcie, lanes=lanes(a, b) if linked else 1)
        )
    return found


def two_groups_of_four(pod: str = "") -> NodeDetail:
    """A MetaX server: two NUMA nodes, four linked cards on each, two switches each; used in every way there is."""
    cards = [
        *(whole(number, "research/train-0", numa=0) for number in range(2)),
        seen_card(
            2, holder("research/chat-1", 16, 20), holder("web/embed-7c9f", 8, 30), numa=0, qos="burst-share"
        ),
        seen_card(3, numa=0),
        seen_card(
            4,
            *(holder(f"batch/worker-{number}", 8, 10) for number in range(6)),
            numa=1,
            qos="fixed-share",
        ),
        seen_card(5, numa=1, state=CORDONED),
        seen_card(6, numa=1, state=UNHEALTHY, reason="lost from the bus"),
        seen_card(7, holder("research/a-notebook-with-a-very-long-name-0", 32, 50), numa=1),
    ]
    links = joined(
        cards,
        [range(4), range(4, 8)],
        switches=[range(2), range(2, 4), range(4, 6), range(6, 8)],
        bridges=[range(4), range(4, 8)],
    )
    sets = [
        CardSet(cards=[0, 1], chosen=True, score=100, loss=40),
        CardSet(cards=[2, 3], chosen=False, score=100, loss=80),
    ]
    return node_detail(cards, links, pod=pod, sets=sets if pod else ())


def full_mesh_of_eight() -> NodeDetail:
    """Every card linked to each, over two NUMA nodes."""
    cards = [seen_card(number, numa=number // 4) for number in range(8)]
    return node_detail(cards, joined(cards, [range(8)], switches=[range(4), range(4, 8)]))


def full_mesh_without_numa() -> NodeDetail:
    """Likewise, on one switch, and nobody says where cards sit."""
    cards = [seen_card(number) for number in range(8)]
    return node_detail(cards, joined(cards, [range(8)], switches=[range(8)]))


def two_cards() -> NodeDetail:
    """A workstation."""
    cards = [whole(0, "lab/notebook", numa=0), seen_card(1, numa=0)]
    return node_detail(cards, joined(cards, [range(2)], switches=[range(2)]))


def sixteen_cards() -> NodeDetail:
    """Two groups of eight, as large as servers come."""
    cards = [seen_card(number, numa=number // 8) for number in range(16)]
    cards[3] = whole(3, "research/train-0", numa=0)
    links = joined(
        cards, [range(8), range(8, 16)], switches=[range(first, first + 4) for first in range(0, 16, 4)]
    )
    return node_detail(cards, links)


def mixed_vendors() -> NodeDetail:
    """Four cards of each vendor on one machine."""
    cards = [
        *(seen_card(number, numa=0) for number in range(4)),
        *(seen_card(number, numa=1, vendor="mthreads") for number in range(4, 8)),
    ]
    links = joined(cards[:4], [range(4)], switches=[range(4)])
    links += joined(cards[4:], [range(4, 6), range(6, 8)], kind="MT", lanes=lambda _a, _b: 2)
    return node_detail(cards, links)


def moore_threads_lanes() -> NodeDetail:
    """Eight cards, pairs with four lanes within full meshes of one, sliced in sixteenths."""
    cards = [
        seen_card(number, holder(f"infer/llm-{number}", 12, 4), vendor="mthreads", numa=number // 4)
        for number in range(8)
    ]
    links = joined(
        cards,
        [range(4), range(4, 8)],
        switches=[range(first, first + 2) for first in range(0, 8, 2)],
        kind="MT",
        lanes=lambda a, b: 4 if a // 2 == b // 2 else 1,
    )
    return node_detail(cards, links)


def links_unknown() -> NodeDetail:
    """Four cards of a node whose agent cannot say how they are joined."""
    return node_detail([seen_card(number) for number in range(4)], None)


def no_links() -> NodeDetail:
    """Six cards that only PCIe joins."""
    cards = [seen_card(number, numa=0) for number in range(6)]
    return node_detail(cards, joined(cards, [], switches=[range(2), range(2, 4)], bridges=[range(4)]))


LAYOUTS: dict[str, Callable[[], NodeDetail]] = {
    "two-groups-of-four": two_groups_of_four,
    "two-groups-for-a-pod": lambda: two_groups_of_four("research/train-0"),
    "full-mesh-of-eight": full_mesh_of_eight,
    "full-mesh-without-numa": full_mesh_without_numa,
    "two-cards": two_cards,
    "sixteen-cards": sixteen_cards,
    "mixed-vendors": mixed_vendors,
    "moore-threads-lanes": moore_threads_lanes,
    "links-unknown": links_unknown,
    "no-links": no_links,
}
