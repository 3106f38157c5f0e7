"""How pods that come to a node in unusual ways get devices: without a scheduler, from a file, from a DaemonSet."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from e2e.nodes_kit import first_line
from e2e.restarts_kit import (
    NODE,
    PATIENCE,
    calls_of,
    checkpointed,
    get_pod,
    plugin_of,
    pod_resources,
    room_of,
    until_offered,
)
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import SLEEP, container, is_gone, is_running, pod
from testbed.plugin_behaviours import Script, failing, granting, in_turn

APPS = "apps/v1"


@pytest.fixture
def resource(unique: Callable[[str], str]) -> str:
    return f"tangram.dev/{unique('devices')}"


async def test_a_pod_that_names_its_node_gets_devices_without_any_scheduler(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    """So Allocate can be called for a pod that nobody placed."""
    name = unique("unplaced")
    async with plugin_of(cluster, resource, ["a"]) as plugin:
        await until_offered(cluster, plugin)
        described = pod(name, container(limits={resource: 1}), node=NODE, scheduler="nobody")
        await cluster.api.create(described)
        await cluster.until_pod(name, is_running, within=PATIENCE)
        assert len(calls_of(plugin, "Allocate")) == 1


@pytest.mark.smoke
async def test_a_static_pod_gets_devices_and_is_known_by_two_different_uids(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    """PodResources calls it by its mirror's name; the kubelet's checkpoint by a UID the API server has for nobody."""
    name = unique("static")
    mirror = f"{name}-{NODE}"
    granted = Script(allocate=granting({"CARD": "seven"}, cdi=False))
    async with plugin_of(cluster, resource, ["a"], script=granted) as plugin:
        await until_offered(cluster, plugin)
        script = f'echo "card=$CARD"; {SLEEP}'
        described = pod(name, container(script=script, limits={resource: 1}), annotations={"own": "words"})
        async with static_pod(cluster, described):
            assert await first_line(cluster, mirror) == "card=seven"
            seen = await get_pod(cluster, mirror)
            assert len(calls_of(plugin, "PreStartContainer")) == 1
            assert [one.pod for one in await pod_resources(cluster, resource)] == [mirror]
            (entry,) = checkpointed(cluster, resource)
            annotations = seen["metadata"]["annotations"]
            assert entry.pod_uid != seen["metadata"]["uid"]
            assert entry.pod_uid == annotations["kubernetes.io/config.hash"]
            # Its file is the only place from which it can have annotations.
            assert annotations["own"] == "words"
        await cluster.until_pod(mirror, is_gone, within=PATIENCE)


@asynccontextmanager
async def static_pod(cluster: Cluster, described: Object) -> AsyncGenerator[None]:
    """The kubelet runs a pod from a file as long as the file is there."""
    folder = room_of(cluster).static_pods
    file = folder / f"{described['metadata']['name']}.json"
    unfinished = folder / f".{file.name}"
    unfinished.write_text(json.dumps(described), encoding="utf-8")
    unfinished.replace(file)
    try:
        yield
    finally:
        file.unlink()


async def test_a_daemon_set_goes_through_the_scheduler_and_replaces_a_pod_that_allocate_ended(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    name = unique("everywhere")
    daemons = {
        "apiVersion": APPS,
        "kind": "DaemonSet",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": _template(name, resource)},
    }
    async with plugin_of(cluster, resource, ["a"]) as plugin:
        plugin.script.allocate = in_turn(failing("not the first"), plugin.script.allocate)
        await until_offered(cluster, plugin)
        await cluster.api.create(daemons)
        try:
            await cluster.api.until(
                path_of("DaemonSet", name, version=APPS),
                lambda seen: seen.get("status", {}).get("numberReady") == 1,
                within=PATIENCE,
                what=f"DaemonSet {name} ready",
            )
            assert len(calls_of(plugin, "Allocate")) == 2
            # The one that was ended may still be on its way out.
            pods = await cluster.api.list(path_of("Pod"), labelSelector=f"app={name}")
            (running,) = [one for one in pods if is_running(one)]
            scheduled = await _events(cluster, running["metadata"]["name"], "Scheduled")
            assert scheduled == ["default-scheduler"]
        finally:
            await cluster.api.delete(path_of("DaemonSet", name, version=APPS))
        await cluster.until_pod(running["metadata"]["name"], is_gone, within=PATIENCE)


def _template(name: str, resource: str) -> Object:
    made = pod("", container(limits={resource: 1}), labels={"app": name}, restartPolicy="Always")
    return {"metadata": {"labels": made["metadata"]["labels"]}, "spec": made["spec"]}


async def _events(cluster: Cluster, name: str, reason: str) -> list[str]:
    """Who reported this about the pod; events are written some time after what they tell."""
    found: list[str] = []
    selector = f"involvedObject.name={name},reason={reason}"
    for _ in range(100):
        events = await cluster.api.list(path_of("Event"), fieldSelector=selector)
        found = [one["source"].get("component") or one["reportingComponent"] for one in events]
        if found:
            break
        await asyncio.sleep(0.1)
    return found
