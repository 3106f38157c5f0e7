"""What the engine decides, written on the pod, is what the next scheduler reads back after a restart."""

import pytest

from tangram.engine.allocate import tenant_for
from tangram.engine.filter import filter_nodes
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.model.allocations import Allocation, Share, Tenant
from tangram.model.nodes import Node
from tangram.vendors.admission import admit
from tangram.wire.binding import binding_writes
from tangram.wire.inventory import INVENTORY, Inventory, encode_inventory
from tangram.wire.koordinator.device import read_device
from tangram.wire.nodes import read_node
from tangram.wire.pods import read_pod
from tangram.wire.tenants import read_tenant
from wire import manifests
from wire.manifests import Json, container

NOW = 1794777310152921103
LISTING = {
    "metax-tech.com/node-gpu-devices": manifests.listing(
        *[manifests.listed_card(index) for index in range(4)]
    )
}
SLICED = read_node(manifests.node("sliced", annotations=LISTING)).node
NODES = [
    SLICED,
    read_node(manifests.node("whole", capacity={"metax-tech.com/gpu": "4"})).node,
    read_node(manifests.node("both", capacity={"metax-tech.com/gpu": "4"}, annotations=LISTING)).node,
    read_node(
        manifests.node("ours", annotations={INVENTORY: encode_inventory(Inventory(SLICED.cards))})
    ).node,
    read_node(
        manifests.node("described", capacity={"metax-tech.com/sgpu": "64"}),
        read_device(
            manifests.device(*[manifests.device_entry(index) for index in range(4)], name="described")
        )[0],
    ).node,
    read_node(
        manifests.node("told", annotations={INVENTORY: encode_inventory(Inventory(SLICED.cards))}),
        read_device(
            manifests.device(*[manifests.device_entry(9 - index) for index in range(4)], name="told")
        )[0],
    ).node,
    read_node(
        manifests.node(
            "mthreads",
            capacity={
                "mthreads.com/sgpu-core": "48",
                "mthreads.com/sgpu-memory": "288",
                "mthreads.com/gpu": "1",
            },
            labels={"mthreads.com/sgpu.cores": "0-2-3", "mthreads.com/gpu1.memory": str(48 * 2**30)},
        )
    ).node,
]

METAX = {"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "10", "metax-tech.com/vmemory": "4"}
MTHREADS = {"mthreads.com/vgpu": "1", "mthreads.com/sgpu-memory": "32", "mthreads.com/sgpu-core": "8"}
KOORDINATOR = {
    "koordinator.sh/gpu.shared": "1",
    "koordinator.sh/gpu-core": "10",
    "koordinator.sh/gpu-memory": "4Gi",
    "metax-tech.com/sgpu": "1",
}
WHOLE_IN_KOORDINATORS_WORDS = {
    "koordinator.sh/gpu.shared": "2",
    "koordinator.sh/gpu-core": "200",
    "koordinator.sh/gpu-memory-ratio": "200",
    "metax-tech.com/sgpu": "2",
}
PODS: dict[str, list[Json]] = {
    "a MetaX slice": [container(limits=METAX)],
    "slices of two containers": [container("a", METAX), container("plain"), container("b", METAX)],
    "slices of two cards": [container(limits={**METAX, "metax-tech.com/sgpu": "2"})],
    "a whole slice": [container(limits={"metax-tech.com/sgpu": "1"})],
    "whole MetaX cards": [container(limits={"metax-tech.com/gpu": "3"})],
    "a Moore Threads slice": [container(limits=MTHREADS)],
    "Moore Threads cards": [container(limits={"mthreads.com/vgpu": "2"})],
    "a whole Moore Threads card": [container(limits={"mthreads.com/gpu": "1"})],
    "a slice in Koordinator's words": [container(limits=KOORDINATOR)],
    "cards in Koordinator's words": [container(limits=WHOLE_IN_KOORDINATORS_WORDS)],
}


@pytest.mark.parametrize("containers", PODS.values(), ids=PODS)
@pytest.mark.parametrize("node", NODES, ids=lambda node: node.name if isinstance(node, Node) else "")
def test_a_bound_pod_is_read_back_as_the_tenant_it_was(node: Node, containers: list[Json]) -> None:
    ledger = Ledger()
    ledger.put_node(node)
    manifest = manifests.pod(*containers)
    request = admit(read_pod(manifest)).request
    assert request is not None
    allocation = filter_nodes(ledger, request, Defaults()).allocation
    if allocation is None:
        return
    writes = binding_writes(request, allocation, node, NOW)
    bound = read_pod(manifests.pod(*containers, annotations=writes.annotations, nodeName=node.name))
    after = read_tenant(bound, node)
    assert isinstance(after, Tenant)
    # Koordinator lists cards by number, whatever order they were chosen in.
    assert in_order(after.allocation) == in_order(allocation)
    asked = tenant_for(request, allocation)
    assert (after.pod, after.qos, after.app_class, after.host) == (
        asked.pod,
        asked.qos,
        asked.app_class,
        asked.host,
    )


def in_order(allocation: Allocation) -> list[tuple[str, list[Share]]]:
    return [
        (container.name, sorted(container.shares, key=lambda share: share.index))
        for container in allocation.containers
    ]


def test_every_kind_of_pod_finds_a_node_here() -> None:
    """Or the test above would promise nothing."""
    for containers in PODS.values():
        ledger = Ledger()
        for node in NODES:
            ledger.put_node(node)
        request = admit(read_pod(manifests.pod(*containers))).request
        assert request is not None
        assert filter_nodes(ledger, request, Defaults()).allocation is not None
