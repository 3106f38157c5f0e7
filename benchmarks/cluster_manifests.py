"""The objects the cluster benchmark works with: nodes as our agent leaves them, pods that ask for slices, and pods that
hold them already. Nothing here talks to anybody.

Node annotations and allocations are made by the codecs the agent and the scheduler use, so what a reader has to read
is as long and as hard as in life. All nodes are alike on purpose: each one is a candidate for each pod, which is the
hardest case for a scheduler.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

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

SCHEDULER: Final = "tangram-scheduler"
CARDS: Final = 8
SLICES_PER_CARD: Final = 16
CARD_GIB: Final = 64
HTTP_TIMEOUT: Final = "30s"
PLACED_AT_NS: Final = 1_700_000_000_000_000_000


class Slice(NamedTuple):
    """What a pod asks of one card."""

    percent: int
    gib: int


SHAPES: Final = (Slice(5, 4), Slice(10, 8), Slice(5, 2), Slice(8, 6))
"""Several, because a scheduler that remembers its last answer must not look fast for it."""
SURE_PER_NODE: Final = CARDS * min(
    100 // max(shape.percent for shape in SHAPES), CARD_GIB // max(shape.gib for shape in SHAPES)
)
"""So many pods fit on a node whatever their shapes and however they are laid out."""
WHOLE_CARD: Final = Slice(100, CARD_GIB)

_LINKS: Final = Topology(
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


def node_name(number: int) -> str:
    """The names sort as the numbers do."""
    return f"gpu-{number:05d}"


def node_number(name: str) -> int:
    """The other way round."""
    return int(name.rpartition("-")[2])


def card_uuid(node: int, index: int) -> CardUuid:
    """As long as a real one."""
    return CardUuid(f"GPU-{node:08x}-0000-4000-8000-{index:012x}")


def gpu_node(number: int) -> Node:
    """A server of eight sliced MetaX cards in two linked groups."""
    return Node(
        name=NodeName(node_name(number)),
        cards=tuple(
            Card(
                uuid=card_uuid(number, index),
                index=index,
                vendor=Vendor.METAX,
                memory=from_gib(CARD_GIB),
                product="MXC500",
                slots=SLICES_PER_CARD,
                mode=CardMode.SLICED,
                numa=index // 4,
                bdf=f"0000:{index + 8:02x}:00.0",
            )
            for index in range(CARDS)
        ),
        topology=_LINKS,
        managed=True,
    )


def node_object(number: int) -> Object:
    """The same as the API server has it, with all our agent publishes about it."""
    described = gpu_node(number)
    told = publication(described.cards, described.topology, {})
    amounts = {"cpu": "128", "memory": "1Ti", "pods": "250", SGPU: str(CARDS * SLICES_PER_CARD)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": described.name,
            "labels": {"kubernetes.io/hostname": described.name, "kubernetes.io/os": "linux"},
            "annotations": {AGENT: SERVING}
            | {key: value for key, value in told.annotations.items() if value is not None},
        },
        "spec": {},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def waiting_pod(name: str, asked: Slice) -> Object:
    """A pod that asks for a slice and waits for a node."""
    limits = {SGPU: "1", VCORE: str(asked.percent), VMEMORY: str(asked.gib)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": SCHEDULER,
            "automountServiceAccountToken": False,
            "restartPolicy": "Never",
            "containers": [
                {"name": "main", "image": "docker.io/local/busybox:1", "resources": {"limits": limits}}
            ],
        },
    }


def bound_pod(name: str, asked: Slice, node: Node, index: int) -> Object:
    """A pod as it is after we have bound it to that card: everything our Binding carries is on it."""
    made = waiting_pod(name, asked)
    ask = Ask(
        vendor=Vendor.METAX,
        kind=AskKind.SLICE,
        count=1,
        memory=from_gib(asked.gib),
        cores=asked.percent,
        vocabulary=Vocabulary.METAX,
    )
    request = Request(
        pod=PodRef(Namespace("default"), PodName(name), PodUid(name)),
        containers=(ContainerAsk("main", Role.APP, (ask,)),),
    )
    share = Share(node.cards[index].uuid, index, from_gib(asked.gib), asked.percent)
    writes = binding_writes(
        request, Allocation(node.name, (ContainerShares("main", Role.APP, (share,)),)), node, PLACED_AT_NS
    )
    made["metadata"] |= {"annotations": writes.annotations, "labels": writes.labels}
    made["spec"]["nodeName"] = node.name
    return made


def scheduler_configuration(extender: str) -> Object:
    """One profile that looks at every node, and one extender, at this address, that filters and binds."""
    return {
        "profiles": [{"schedulerName": SCHEDULER, "percentageOfNodesToScore": 100}],
        "extenders": [
            {
                "urlPrefix": extender,
                "filterVerb": "filter",
                "bindVerb": "bind",
                "nodeCacheCapable": True,
                "httpTimeout": HTTP_TIMEOUT,
                "managedResources": [
                    # Nodes advertise these, so kube-scheduler goes on counting them.
                    *({"name": name} for name in (GPU, SGPU, mthreads.GPU)),
                    *(
                        {"name": name, "ignoredByScheduler": True}
                        for name in (
                            VCORE,
                            VMEMORY,
                            mthreads.VGPU,
                            mthreads.SGPU_CORE,
                            mthreads.SGPU_MEMORY,
                        )
                    ),
                ],
            }
        ],
    }
