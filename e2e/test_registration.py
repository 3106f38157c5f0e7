"""How plugins come and go at the kubelet: what it counts, whom it calls, and what it forgets."""

import asyncio
from collections.abc import Callable

import pytest

from e2e.restarts_kit import (
    NODE,
    PATIENCE,
    calls_of,
    card_pod,
    counts,
    end_container,
    get_pod,
    ids_of,
    plugin_of,
    restart_kubelet,
    restarted,
    run_pods,
    same_container,
    until_counts,
    until_offered,
)
from testbed.api import JSON_PATCH, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, pod
from testbed.plugin_records import PluginDevice


@pytest.fixture
def resource(unique: Callable[[str], str]) -> str:
    return f"tangram.dev/{unique('registered')}"


@pytest.mark.smoke
async def test_when_the_older_of_two_registered_plugins_ends_the_kubelet_drops_the_newer_one(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    name = unique("served")
    older = plugin_of(cluster, resource, ["a", "b"], endpoint="older.sock")
    newer = plugin_of(cluster, resource, ["a", "b", "c"], endpoint="newer.sock")
    async with older:
        await until_offered(cluster, older)
        async with newer:
            await until_offered(cluster, newer)
            await run_pods(cluster, pod(name, container(limits={resource: 1}), node=NODE))
            assert len(calls_of(newer, "Allocate")) == 1
            assert not calls_of(older, "Allocate")

            await older.stop()
            (ending,) = await newer.wait_for_ending("ListAndWatch", within=PATIENCE)
            assert ending.outcome == "cancelled"
            await until_counts(cluster, resource, "3", "0")

            await newer.register(within=PATIENCE)
            await until_offered(cluster, newer)


async def test_registering_again_beside_an_open_list_makes_the_kubelet_open_a_second_one(
    cluster: Cluster, resource: str
) -> None:
    async with plugin_of(cluster, resource, ["a"]) as plugin:
        await plugin.wait_for_call("ListAndWatch", within=PATIENCE)
        await plugin.register(within=PATIENCE)
        await plugin.wait_for_call("ListAndWatch", 2, within=PATIENCE)
        plugin.devices.add(PluginDevice("b"))
        await until_offered(cluster, plugin)
        assert not [end for end in plugin.log.endings if end.call.method == "ListAndWatch"]


async def test_the_resource_of_a_plugin_that_is_gone_stays_in_the_node_status(
    cluster: Cluster, resource: str
) -> None:
    plugin = plugin_of(cluster, resource, ["a", "b"])
    async with plugin:
        await until_offered(cluster, plugin)
    await until_counts(cluster, resource, "2", "0")
    await restart_kubelet(cluster)
    await until_counts(cluster, resource, "0", "0")


async def test_a_kubelet_restart_leaves_alone_what_others_wrote_into_its_nodes_status(
    cluster: Cluster, resource: str
) -> None:
    status = path_of("Node", NODE) + "/status"
    plugin = plugin_of(cluster, f"{resource}-other", ["a"])
    async with plugin:
        await until_offered(cluster, plugin)
        await cluster.api.patch(status, {"status": {"capacity": {resource: "5"}}})
        try:
            await until_counts(cluster, resource, "5", "5")
            await restart_kubelet(cluster)
            # What the kubelet reports of its devices comes after it has registered its node.
            await until_counts(cluster, plugin.resource, "0", "0")
            assert counts(await cluster.api.get(path_of("Node", NODE)), resource) == ("5", "5")
        finally:
            key = resource.replace("/", "~1")
            removal = [{"op": "remove", "path": f"/status/capacity/{key}"}]
            await cluster.api.patch(status, removal, content=JSON_PATCH)
        await cluster.until_node(NODE, lambda seen: counts(seen, resource) == (None, None), within=PATIENCE)


async def test_pods_outlive_a_plugin_that_stops_and_the_next_one_is_not_asked_to_allocate_again(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    first, second = (plugin_of(cluster, resource, ["a", "b"]) for _ in range(2))
    old, new = unique("old"), unique("new")
    async with first:
        await until_offered(cluster, first)
        (before,) = await run_pods(cluster, card_pod(resource, old))
    await until_counts(cluster, resource, "2", "0")
    async with second:
        await until_offered(cluster, second)
        await run_pods(cluster, card_pod(resource, new))
        assert same_container(await get_pod(cluster, old), before)
        ids = ids_of([*calls_of(first, "Allocate"), *calls_of(second, "Allocate")])
        assert sorted(ids) == [("a",), ("b",)]


async def first_failure(cluster: Cluster, name: str) -> str:
    """What the kubelet says when it first fails to start a container of the pod."""
    chosen = {"fieldSelector": f"involvedObject.name={name},reason=Failed"}
    async with asyncio.timeout(PATIENCE):
        listed = await cluster.api.get(path_of("Event"), **chosen)
        for event in listed["items"]:
            return event["message"]
        since = listed["metadata"]["resourceVersion"]
        async for _, event in cluster.api.watch(path_of("Event"), resourceVersion=since, **chosen):
            return event["message"]
    return ""


async def test_a_container_that_restarts_while_its_plugin_is_away_waits_and_starts_with_the_next_plugin(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    name = unique("waiting")
    first, second = (plugin_of(cluster, resource, ["a", "b"]) for _ in range(2))
    async with first:
        await until_offered(cluster, first)
        (before,) = await run_pods(cluster, card_pod(resource, name))
        await first.crash()
        await until_counts(cluster, resource, "2", "0")
        assert same_container(await get_pod(cluster, name), before)
        await end_container(cluster, before)
        # The pod's status tells of it ten seconds later only.
        assert "PreStartContainer rpc failed" in await first_failure(cluster, name)
        async with second:
            await cluster.until_pod(name, restarted(1), within=PATIENCE)
            assert ids_of(calls_of(second, "PreStartContainer")) == ids_of(calls_of(first, "Allocate"))
            assert not calls_of(second, "Allocate")
