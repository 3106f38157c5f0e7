from tangram.units.ids import Namespace, PodName
from tangram.wire.kubelet.holdings import (
    HeldDevices,
    held_by,
    holding_exactly,
)
from tangram.wire.kubelet.podresources import (
    ContainerDevices,
    ContainerResources,
    NUMANode,
    PodResources,
    TopologyInfo,
)

SGPU = "tangram.dev/sgpu"
VGPU = "tangram.dev/vgpu"


def device(resource: str, device_id: str, *numa: int) -> ContainerDevices:
    """As the kubelet sends them: one message per device and NUMA node."""
    nodes = [NUMANode(ID=number) for number in numa]
    return ContainerDevices(
        resource_name=resource, device_ids=[device_id], topology=TopologyInfo(nodes=nodes)
    )


def pod(name: str, **containers: list[ContainerDevices]) -> PodResources:
    return PodResources(
        name=name,
        namespace="team-a",
        containers=[
            ContainerResources(name=container, devices=devices) for container, devices in containers.items()
        ],
    )


def held(name: str, container: str, resource: str, *ids: str, numa: tuple[int, ...] = ()) -> HeldDevices:
    return HeldDevices(
        namespace=Namespace("team-a"),
        pod=PodName(name),
        container=container,
        resource=resource,
        ids=ids,
        numa=numa,
    )


def test_a_containers_devices_of_one_resource_are_one_record_with_each_id_once() -> None:
    pods = [
        pod(
            "train",
            main=[device(SGPU, "a", 1), device(VGPU, "v"), device(SGPU, "a", 0), device(SGPU, "b", 1)],
            sidecar=[],
        ),
        pod("idle"),
        pod("serve", main=[device(SGPU, "c")]),
    ]
    assert held_by(pods) == (
        held("train", "main", SGPU, "a", "b", numa=(0, 1)),
        held("train", "main", VGPU, "v"),
        held("serve", "main", SGPU, "c"),
    )


def test_the_container_that_is_about_to_start_is_found_by_all_of_its_ids() -> None:
    both = held("train", "main", SGPU, "a", "b")
    others = [held("serve", "main", SGPU, "c"), held("train", "side", VGPU, "a", "b")]
    assert holding_exactly([*others, both], SGPU, ["b", "a"]) == (both,)
    assert holding_exactly([*others, both], SGPU, ["a"]) == ()
