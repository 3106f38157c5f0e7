"""The cluster that the dashboard is measured over: objects as agents and scheduler leave them, all kinds of cards.

Nodes of both vendors, whole, sliced and shared, some with cards that are unhealthy or cordoned, some not ready; bound
pods of many namespaces with all that our Binding carries; and pods that wait. Everything is made by the codecs of the
agent and the scheduler. Nothing here talks to anybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from cluster_manifests import CARD_GIB, CARDS, PLACED_AT_NS, SCHEDULER, card_uuid, node_name
from tangram.model.allocations import Allocation, ContainerShares, Share
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import PodRef, Role
from tangram.model.requests import Ask, AskKind, ContainerAsk, Request, Vocabulary
from tangram.model.topology import Link, LinkKind, PcieLevel, Topology
from tangram.units.ids import CardUuid, Namespace, NodeName, PodName, PodUid
from tangram.units.memory import from_gib
from tangram.vendors.metax.names import GPU, SGPU, VCORE, VMEMORY
from tangram.vendors.mthreads import names as mthreads
from tangram.wire.agent_state import AGENT, SERVING
from tangram.wire.binding import binding_writes
from tangram.wire.publication import publication

Object = dict[str, Any]

NAMESPACES: Final = tuple(f"team-{number:02d}" for number in range(40))
SICK_EVERY: Final = 97
"""So many nodes have one card that is unhealthy, some others one that is cordoned, or are not ready themselves."""
XID: Final = "the driver reports an uncorrectable memory error (XID 63)"


class Kind(NamedTuple):
    """One of the kinds of machines."""

    vendor: Vendor
    product: str
    mode: CardMode
    gib: int
    cores: int
    slots: int
    link: LinkKind


KINDS: Final = (
    Kind(Vendor.METAX, "MXC500", CardMode.SLICED, CARD_GIB, 100, 16, LinkKind.METAXLINK),
    Kind(Vendor.METAX, "MXC500", CardMode.SLICED, CARD_GIB, 100, 16, LinkKind.METAXLINK),
    Kind(Vendor.METAX, "MXC550", CardMode.WHOLE, CARD_GIB, 100, 1, LinkKind.METAXLINK),
    Kind(Vendor.MTHREADS, "MTT S4000", CardMode.SLICED, 48, 16, 16, LinkKind.MTLINK),
    Kind(Vendor.MTHREADS, "MTT S4000", CardMode.WHOLE, 48, 16, 1, LinkKind.MTLINK),
)
"""Dealt out in turn."""


def kind_of(number: int) -> Kind:
    """Of the node with that number."""
    return KINDS[number % len(KINDS)]


def described(number: int, *, sick: int | None = None) -> Node:
    """A server of eight cards in two linked groups; `sick` is another card that is unhealthy now."""
    kind = kind_of(number)
    ill = {number // SICK_EVERY % CARDS} if number % SICK_EVERY == 1 else set[int]()
    cordoned = {number // SICK_EVERY % CARDS} if number % SICK_EVERY == 2 else set[int]()
    if sick is not None:
        ill.add(sick)
    return Node(
        name=NodeName(node_name(number)),
        cards=tuple(
            Card(
                uuid=card_uuid(number, index),
                index=index,
                vendor=kind.vendor,
                memory=from_gib(kind.gib),
                product=kind.product,
                cores=kind.cores,
                slots=kind.slots,
                mode=kind.mode,
                numa=index // 4,
                healthy=index not in ill,
                health_reason=XID if index in ill else "",
                cordoned=index in cordoned,
                bdf=f"0000:{index + 8:02x}:00.0",
            )
            for index in range(CARDS)
        ),
        topology=_links(kind.link),
        managed=True,
    )


def _links(kind: LinkKind) -> Topology:
    return Topology(
        CARDS,
        tuple(
            Link(
                a,
                b,
                kind if a // 4 == b // 4 else LinkKind.NONE,
                PcieLevel.SINGLE_SWITCH if a // 2 == b // 2 else PcieLevel.NUMA_NODE,
            )
            for a in range(CARDS)
            for b in range(a + 1, CARDS)
        ),
    )


def announced(number: int, *, sick: int | None = None) -> tuple[dict[str, str], dict[str, str]]:
    """Annotations and labels by which its agent tells of its cards."""
    node = described(number, sick=sick)
    told = publication(node.cards, node.topology, {})
    return (
        {key: value for key, value in told.annotations.items() if value is not None},
        {key: value for key, value in told.labels.items() if value is not None},
    )


def node_object(number: int) -> Object:
    """As the API server has it."""
    name, kind = node_name(number), kind_of(number)
    annotations, labels = announced(number)
    whole, sliced = (GPU, SGPU) if kind.vendor is Vendor.METAX else (mthreads.GPU, mthreads.VGPU)
    offered = {sliced: str(CARDS * kind.slots)} if kind.mode is CardMode.SLICED else {whole: str(CARDS)}
    amounts = {"cpu": "128", "memory": "1Ti", "pods": "250", **offered}
    unready = number % SICK_EVERY == 3
    taints = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}] if unready else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **labels},
            "annotations": {AGENT: SERVING, **annotations},
        },
        "spec": {"unschedulable": number % SICK_EVERY == 4, "taints": taints},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": str(not unready), "reason": "KubeletReady"}],
        },
    }


class Want(NamedTuple):
    """What a pod asks for, per card."""

    vendor: Vendor
    kind: AskKind
    cards: int
    gib: int
    cores: int

    def limits(self) -> dict[str, str]:
        """In the vendor's words."""
        if self.vendor is Vendor.METAX:
            if self.kind is AskKind.WHOLE:
                return {GPU: str(self.cards)}
            return {SGPU: str(self.cards), VCORE: str(self.cores), VMEMORY: str(self.gib)}
        if self.kind is AskKind.WHOLE:
            return {mthreads.GPU: str(self.cards)}
        # Memory of Moore Threads is asked for in units of 512 MiB.
        return {
            mthreads.VGPU: str(self.cards),
            mthreads.SGPU_CORE: str(self.cores),
            mthreads.SGPU_MEMORY: str(self.gib * 2),
        }


def want_on(kind: Kind, turn: int) -> Want:
    """What the pods on such a machine look like."""
    if kind.mode is CardMode.WHOLE:
        return Want(kind.vendor, AskKind.WHOLE, 1, kind.gib, kind.cores)
    if kind.vendor is Vendor.METAX:
        return Want(kind.vendor, AskKind.SLICE, 1, (4, 8, 2, 6)[turn % 4], (5, 10, 5, 8)[turn % 4])
    return Want(kind.vendor, AskKind.SLICE, 1, (4, 8)[turn % 2], (2, 4)[turn % 2])


def pod_object(namespace: str, name: str, want: Want) -> Object:
    """A pod that waits for a node."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}"},
        "spec": {
            "schedulerName": SCHEDULER,
            "restartPolicy": "Never",
            "containers": [
                {"name": "main", "image": "example.com/job:1", "resources": {"limits": want.limits()}}
            ],
        },
        "status": {"phase": "Pending"},
    }


def bound_pod(namespace: str, name: str, number: int, index: int, turn: int) -> Object:
    """A pod as it is after we have bound it to that card of that node."""
    node, kind = described(number), kind_of(number)
    want = want_on(kind, turn)
    made = pod_object(namespace, name, want)
    mine = Vocabulary.METAX if kind.vendor is Vendor.METAX else Vocabulary.MTHREADS
    sliced = want.kind is AskKind.SLICE
    ask = Ask(
        vendor=kind.vendor,
        kind=want.kind,
        count=1,
        memory=from_gib(want.gib) if sliced else None,
        cores=want.cores if sliced else None,
        vocabulary=mine,
    )
    request = Request(
        pod=PodRef(Namespace(namespace), PodName(name), PodUid(made["metadata"]["uid"])),
        containers=(ContainerAsk("main", Role.APP, (ask,)),),
    )
    share = Share(CardUuid(node.cards[index].uuid), index, from_gib(want.gib), want.cores)
    given = Allocation(node.name, (ContainerShares("main", Role.APP, (share,)),))
    writes = binding_writes(request, given, node, PLACED_AT_NS)
    made["metadata"] |= {"annotations": dict(writes.annotations), "labels": dict(writes.labels)}
    made["spec"]["nodeName"] = node.name
    made["status"] = {"phase": "Running"}
    return made


def bound_pods(nodes: int, pods: int) -> Iterator[Object]:
    """So many, dealt out evenly: a card that is given away whole has one."""
    turn, made = 0, 0
    while made < pods:
        for number in range(nodes):
            kind = kind_of(number)
            if kind.mode is CardMode.WHOLE and turn >= CARDS:
                continue
            namespace = NAMESPACES[(number // 7 + turn) % len(NAMESPACES)]
            yield bound_pod(namespace, f"job-{made:05d}", number, (number + turn) % CARDS, turn)
            made += 1
            if made == pods:
                return
        turn += 1


def waiting_pods(pods: int) -> Iterator[Object]:
    """More than any node has, in several kinds."""
    for number in range(pods):
        vendor = (Vendor.METAX, Vendor.MTHREADS)[number % 2]
        want = (
            Want(vendor, AskKind.WHOLE, 8 * (2 + number % 3), 0, 0)
            if number % 3
            else Want(vendor, AskKind.SLICE, 16, 8, 4)
        )
        yield pod_object(NAMESPACES[number % len(NAMESPACES)], f"waits-{number:04d}", want)
