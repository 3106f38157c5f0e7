"""Pods of one node as the agent judges them, with the annotations that schedulers write, in a line or two."""

from collections.abc import Sequence

import msgspec

from builders.clusters import card
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.devices import Device
from tangram.model.nodes import Node
from tangram.model.pods import Container, Phase, Pod, PodRef, Role
from tangram.services.gpu_device.guard_rules_asked import settings_for
from tangram.services.gpu_device.records import BoundPod, Inventory, Starting
from tangram.units.ids import CardUuid, Namespace, NodeName, PodName, PodUid
from tangram.units.memory import from_gib
from tangram.wire.kubelet.checkpoint import NO_NUMA, CheckpointedAllocation, NumaIds
from tangram.wire.kubelet.deviceplugin import CDIDevice, ContainerAllocateResponse
from tangram.wire.kubelet.holdings import HeldDevices
from tangram.wire.tenants import read_tenant

NODE = NodeName("n")
SGPU = "metax-tech.com/sgpu"
GPU = "metax-tech.com/gpu"
CORE = "mthreads.com/sgpu-core"
MEMORY = "mthreads.com/sgpu-memory"
HAMI_SLICE = "hami.io/metax-sgpu-devices-allocated"
HAMI_WHOLE = "hami.io/metax-gpu-devices-allocated"
HAMI_WHOLE_NAMED = "hami.io/metax-gpu-devices-to-allocate"
HAMI_MTHREADS = "hami.io/mthreads-vgpu-devices-allocated"
HAMI_MTHREADS_NAMED = "hami.io/mthreads-vgpu-devices-to-allocate"
GIVEN = "metax-tech.com/gpu-devices-allocated"
QOS = "metax-tech.com/sgpu-qos-policy"
APP_CLASS = "metax-tech.com/sgpu-app-class"

Part = tuple[int, int, int]
"""Card, GiB and compute."""


def metax(index: int, mode: CardMode = CardMode.SLICED, *, healthy: bool = True) -> Card:
    made = card("n", index, mode=mode, healthy=healthy)
    return msgspec.structs.replace(made, health_reason="" if healthy else "it fell off the bus")


def mthreads(index: int, mode: CardMode = CardMode.SLICED) -> Card:
    return card("n", index, vendor=Vendor.MTHREADS, mode=mode, memory=from_gib(48), product="MTT S4000")


def inventory(*cards: Card, functions: Sequence[Device] = ()) -> Inventory:
    devices = tuple(
        Device(uuid=each.uuid, index=each.index, vendor=each.vendor, product=each.product) for each in cards
    )
    return Inventory(node=NODE, devices=(*devices, *functions), cards=cards)


TWO_METAX = inventory(metax(0), metax(1))


def uuid(index: int) -> str:
    return f"GPU-n-{index}"


def limits(count: int = 1, gib: int | None = 4, cores: int | None = 10) -> dict[str, str]:
    """A MetaX slice as a person asks for it."""
    asked = {SGPU: str(count)}
    if gib is not None:
        asked["metax-tech.com/vmemory"] = str(gib)
    if cores is not None:
        asked["metax-tech.com/vcore"] = str(cores)
    return asked


def mthreads_limits(units: int = 32, cores: int = 8, count: int = 1) -> dict[str, str]:
    return {"mthreads.com/vgpu": str(count), MEMORY: str(units), CORE: str(cores)}


def written(*containers: Sequence[Part], word: str = "Metax-SGPU") -> str:
    """HAMi's allocation string."""
    return "".join(
        "".join(f"{uuid(at)},{word},{gib * 1024},{cores}:" for at, gib, cores in parts) + ";"
        for parts in containers
    )


def bound(
    name: str,
    *containers: Container | dict[str, str],
    annotations: dict[str, str] | None = None,
    at: int = 1,
    on: Inventory = TWO_METAX,
    phase: Phase = Phase.PENDING,
    uid: str = "",
    kubelet_uid: str = "",
    terminating: bool = False,
    init_done: bool = False,
    scheduler: str = "",
    node: str | None = NODE,
) -> BoundPod:
    """A pod that was bound to the node at that moment and says what its annotations say."""
    pod = Pod(
        ref=PodRef(Namespace("default"), PodName(name), PodUid(uid or f"uid-{name}")),
        containers=tuple(
            each if isinstance(each, Container) else Container(f"c{position}", limits=each)
            for position, each in enumerate(containers)
        ),
        annotations=annotations or {},
        node_name=None if node is None else NodeName(node),
        phase=phase,
        terminating=terminating,
        init_done=init_done,
        scheduler_name=scheduler,
    )
    return BoundPod(
        pod=pod,
        holds=read_tenant(pod, Node(name=on.node, cards=on.cards), settings_for(on)),
        bound_at=at,
        kubelet_uid=PodUid(kubelet_uid or pod.ref.uid),
    )


def sliced(
    name: str,
    *parts: Part,
    at: int = 1,
    qos: str = "best-effort",
    app_class: str = "",
    asked: dict[str, str] | None = None,
    on: Inventory = TWO_METAX,
    phase: Phase = Phase.PENDING,
    terminating: bool = False,
) -> BoundPod:
    """A pod with one container that asks for exactly what it holds, unless said otherwise."""
    _, gib, cores = parts[0]
    notes = {HAMI_SLICE: written(parts), QOS: qos} | ({APP_CLASS: app_class} if app_class else {})
    want = asked or limits(len(parts), gib, cores)
    return bound(name, want, annotations=notes, at=at, on=on, phase=phase, terminating=terminating)


def init(name: str, asked: dict[str, str]) -> Container:
    return Container(name, Role.INIT, limits=asked)


def sidecar(name: str, asked: dict[str, str]) -> Container:
    return Container(name, Role.SIDECAR, limits=asked)


def starting(
    who: BoundPod, *containers: str, resource: str = SGPU, ids: int | tuple[str, ...] = 1
) -> Starting:
    numbered = tuple(f"id-{number}" for number in range(ids)) if isinstance(ids, int) else ids
    return Starting(bound=who, resource=resource, ids=numbered, containers=containers or ("c0",))


def noted(
    uid: str, container: str, *ids: str, resource: str = SGPU, answer: ContainerAllocateResponse | None = None
) -> CheckpointedAllocation:
    return CheckpointedAllocation(
        pod_uid=PodUid(uid),
        container=container,
        resource=resource,
        by_numa=(NumaIds(NO_NUMA, ids),),
        answer=(answer or ContainerAllocateResponse()).SerializeToString(),
    )


def answered(*names: str, annotations: dict[str, str] | None = None) -> ContainerAllocateResponse:
    return ContainerAllocateResponse(
        cdi_devices=[CDIDevice(name=name) for name in names], annotations=annotations or {}
    )


def held(name: str, container: str, *ids: str, resource: str = SGPU) -> HeldDevices:
    return HeldDevices(
        namespace=Namespace("default"), pod=PodName(name), container=container, resource=resource, ids=ids
    )


def function(index: int, of: int) -> Device:
    return Device(
        uuid=CardUuid(f"VF-{of}-{index}"),
        index=index,
        vendor=Vendor.METAX,
        product="MXC500",
        virtual_function_of=CardUuid(uuid(of)),
    )
