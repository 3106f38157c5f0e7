"""A pod that is deleted after Allocate and before its container starts: who holds its ids, and what still happens."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from e2e.nodes_kit import delete_now, outcome_of, poll, start_pod
from e2e.restarts_kit import (
    NODE,
    PATIENCE,
    calls_of,
    checkpointed,
    container_status,
    plugin_of,
    pod_resources,
    room_of,
    until_offered,
)
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import SLEEP, container, is_running, pod
from testbed.plugin_behaviours import holding, in_turn, start_at_once
from testbed.plugin_records import Call, Grant


@pytest.fixture
def resource(unique: Callable[[str], str]) -> str:
    return f"tangram.dev/{unique('deletion')}"


async def test_a_pod_deleted_while_its_start_is_prepared_keeps_its_ids_until_that_is_answered(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    leaving, early, late = unique("leaving"), unique("early"), unique("late")
    answer = asyncio.Event()
    async with plugin_of(cluster, resource, ["a"]) as plugin:
        plugin.script.pre_start = in_turn(holding(answer, start_at_once), start_at_once)
        await until_offered(cluster, plugin)
        await start_pod(cluster, leaving, resource)
        await plugin.wait_for_call("PreStartContainer", within=PATIENCE)
        await cluster.api.delete(path_of("Pod", leaving))

        await start_pod(cluster, early, resource)
        refused = await outcome_of(cluster, early)
        assert refused["status"]["reason"] == "UnexpectedAdmissionError"
        assert "Requested: 1, Available: 0" in refused["status"]["message"]
        assert [one.pod for one in await pod_resources(cluster, resource)] == [leaving]
        assert not [one for one in plugin.log.endings if one.call.method == "PreStartContainer"]

        now = await cluster.api.get(path_of("Pod", leaving))
        answer.set()
        # The kubelet first starts what it was about to start, and only then ends it.
        assert await _has_run(cluster, now)

        await start_pod(cluster, late, resource)
        await cluster.until_pod(late, is_running, within=PATIENCE)
        assert [one.pod for one in await pod_resources(cluster, resource)] == [late]
        assert len(calls_of(plugin, "PreStartContainer")) == 2


async def _has_run(cluster: Cluster, since: Object) -> bool:
    """Whether a container of the pod began to run before the pod went away."""
    name, version = since["metadata"]["name"], since["metadata"]["resourceVersion"]
    begun = False
    async with asyncio.timeout(PATIENCE):
        async for kind, seen in cluster.api.watch(
            path_of("Pod"), fieldSelector=f"metadata.name={name}", resourceVersion=version
        ):
            state = container_status(seen).get("state", {})
            # The kubelet may leave out the state in between, but not which container ended.
            begun = begun or "running" in state or bool(state.get("terminated", {}).get("containerID"))
            if kind == "DELETED":
                return begun
    return begun


async def test_a_pod_deleted_by_force_loses_its_ids_to_its_successor_while_its_own_start_is_still_prepared(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    """And then its container starts after all, with nothing of what Allocate had granted it."""
    name = unique("successor")
    folder = room_of(cluster).lib / name
    folder.mkdir()
    telling = container(
        script=f'echo "granted=$GRANTED" > "/told/$UID_OF_POD"; {SLEEP}', limits={resource: 1}
    )
    telling["env"] = [{"name": "UID_OF_POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}]
    telling["volumeMounts"] = [{"name": "told", "mountPath": "/told"}]
    told = {"name": "told", "hostPath": {"path": f"/var/lib/{name}"}}
    described = pod(name, telling, node=NODE, volumes=[told])
    answer = asyncio.Event()
    async with plugin_of(cluster, resource, ["a"]) as plugin:
        plugin.script.allocate = _granting_the_number_of_the_call
        plugin.script.pre_start = in_turn(holding(answer, start_at_once), start_at_once)
        await until_offered(cluster, plugin)
        old = (await cluster.api.create(described))["metadata"]["uid"]
        await plugin.wait_for_call("PreStartContainer", within=PATIENCE)
        await delete_now(cluster, name)
        new = (await cluster.api.create(described))["metadata"]["uid"]
        await cluster.until_pod(name, is_running, within=PATIENCE)
        first, second = calls_of(plugin, "PreStartContainer")
        assert first.ids == second.ids == (("a",),)
        # PodResources knows the successor only, under the same name.
        assert [one.pod for one in await pod_resources(cluster, resource)] == [name]
        assert [one.pod_uid for one in checkpointed(cluster, resource)] == [new]

        answer.set()
        for uid, granted in ((old, ""), (new, str(calls_of(plugin, "Allocate")[1].order))):
            await poll(partial(_says_something, folder / uid), f"the container of pod {name} ({uid}) began")
            assert (folder / uid).read_text() == f"granted={granted}\n"


def _says_something(file: Path) -> bool:
    return file.is_file() and bool(file.read_text())


async def _granting_the_number_of_the_call(call: Call) -> tuple[Grant, ...]:
    return (Grant(env={"GRANTED": str(call.order)}),)
