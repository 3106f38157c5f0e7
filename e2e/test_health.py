"""Unhealthy devices: what the node counts, what pods are told, and what is refused."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from e2e.restarts_kit import (
    NODE,
    PATIENCE,
    container_status,
    end_container,
    get_pod,
    plugin_of,
    restarted,
    run_pods,
    until_counts,
    until_offered,
)
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, pod, sidecar


@pytest.fixture
def resource(unique: Callable[[str], str]) -> str:
    return f"tangram.dev/{unique('health')}"


def health(seen: Object, name: str = "main") -> dict[tuple[str, str], str]:
    """What a pod's status says of its devices, by resource and id."""
    return {
        (resource["name"], one["resourceID"]): one["health"]
        for resource in container_status(seen, name).get("allocatedResourcesStatus", [])
        for one in resource["resources"]
    }


def held_id(seen: Object) -> str:
    ((_, device),) = health(seen)
    return device


@pytest.mark.smoke
async def test_an_unhealthy_id_leaves_the_capacity_and_shows_in_the_status_of_the_pod_that_holds_it(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    limits = {resource: 1}
    async with plugin_of(cluster, resource, ["a", "b", "c"]) as plugin:
        await until_offered(cluster, plugin)
        struck, lucky = await run_pods(
            cluster, *(pod(unique(word), container(limits=limits), node=NODE) for word in ("struck", "lucky"))
        )
        device, name = held_id(struck), struck["metadata"]["name"]
        assert health(struck) == {(resource, device): "Healthy"}
        for healthy, word, allocatable in ((False, "Unhealthy", "2"), (True, "Healthy", "3")):
            plugin.devices.set_health(device, healthy=healthy)
            told = {(resource, device): word}
            seen = await cluster.until_pod(
                name, lambda seen, told=told: health(seen) == told, within=PATIENCE
            )
            await until_counts(cluster, resource, "3", allocatable)
            assert container_status(seen)["containerID"] == container_status(struck)["containerID"]
        assert health(await get_pod(cluster, lucky["metadata"]["name"])) == health(lucky)


async def test_the_status_tells_nothing_about_the_devices_of_sidecars(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    limits = {resource: 1}
    async with plugin_of(cluster, resource, ["a", "b"]) as plugin:
        await until_offered(cluster, plugin)
        (running,) = await run_pods(
            cluster,
            pod(
                unique("with-sidecar"),
                container(limits=limits),
                inits=[sidecar(container("side", limits=limits))],
                node=NODE,
            ),
        )
        plugin.devices.set_health("a", "b", healthy=False)
        seen = await cluster.until_pod(
            running["metadata"]["name"],
            lambda seen: set(health(seen).values()) == {"Unhealthy"},
            within=PATIENCE,
        )
        assert "running" in container_status(seen, "side")["state"]
        assert health(seen, "side") == {}


async def test_a_device_whose_plugin_is_gone_still_counts_as_healthy_in_the_status_of_its_pod(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    name = unique("orphaned")
    plugin = plugin_of(cluster, resource, ["a"])
    async with plugin:
        await until_offered(cluster, plugin)
        made = pod(
            name, container(limits={resource: 1}), container("other"), node=NODE, restartPolicy="Always"
        )
        (running,) = await run_pods(cluster, made)
    await until_counts(cluster, resource, "1", "0")
    # The other container's restart makes the kubelet write the pod's status anew.
    await end_container(cluster, running, "other")
    seen = await cluster.until_pod(name, restarted(1, "other"), within=PATIENCE)
    assert health(seen) == {(resource, "a"): "Healthy"}


async def test_while_its_device_is_unhealthy_or_its_plugin_away_a_pod_cannot_be_resized(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    def small(word: str) -> Object:
        made = container(limits={resource: 1, "cpu": "500m"})
        made["resources"]["requests"] = {"cpu": "10m"}
        return pod(unique(word), made, node=NODE)

    async def resize(seen: Object, cpu: str) -> Object:
        path = path_of("Pod", seen["metadata"]["name"])
        change = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}}
        await cluster.api.patch(f"{path}/resize", change, content="application/strategic-merge-patch+json")

        def decided(seen: Object) -> bool:
            return bool(refusal(seen)) or container_status(seen)["allocatedResources"]["cpu"] == cpu

        return await cluster.api.until(path, decided, within=PATIENCE)

    def refusal(seen: Object) -> str:
        conditions = seen["status"].get("conditions", [])
        return next((one["message"] for one in conditions if one["type"] == "PodResizePending"), "")

    async with plugin_of(cluster, resource, ["a", "b", "c"]) as plugin:
        await until_offered(cluster, plugin)
        struck, lucky, late = await run_pods(cluster, small("struck"), small("lucky"), small("late"))
        plugin.devices.set_health(held_id(struck), healthy=False)
        await until_counts(cluster, resource, "3", "2")
        assert "previously allocated devices are no longer healthy" in refusal(await resize(struck, "20m"))
        assert not refusal(await resize(lucky, "20m"))
    await until_counts(cluster, resource, "3", "0")
    assert "no healthy devices present" in refusal(await resize(late, "20m"))


@asynccontextmanager
async def talkative_kubelet(cluster: Cluster) -> AsyncGenerator[None]:
    """In this block the kubelet's log says which pods it looks at again, and why."""
    level = f"{path_of('Node', NODE)}/proxy/debug/flags/v"
    await cluster.api.call("PUT", level, 3)
    try:
        yield
    finally:
        await cluster.api.call("PUT", level, 2)


async def test_a_change_of_health_is_told_to_whoever_holds_that_id_even_of_another_resource(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    """So ids must be unique across resources: the pod that holds the device may go unnoticed for another's sake."""
    holder = unique("holder")
    kubelet = cluster.nodes[0].kubelet
    async with (
        plugin_of(cluster, resource, ["same"]) as held,
        plugin_of(cluster, f"{resource}-other", ["same"]) as other,
    ):
        await until_offered(cluster, held, other)
        await run_pods(cluster, pod(holder, container(limits={resource: 1}), node=NODE))
        async with talkative_kubelet(cluster):
            begin = len(cluster.box.log(kubelet))
            other.devices.set_health("same", healthy=False)
            async with asyncio.timeout(PATIENCE):
                while f'event for pod" pod="default/{holder}"' not in cluster.box.log(kubelet)[begin:]:
                    await asyncio.sleep(0.05)
        assert set(health(await get_pod(cluster, holder)).values()) == {"Healthy"}
