"""What keeps, repeats and forgets a device when its container, its plugin or the kubelet starts again."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.restarts_kit import (
    NODE,
    PATIENCE,
    api_server_held,
    calls_of,
    card_pod,
    checkpointed,
    end_container,
    get_pod,
    ids_of,
    kubelet_away,
    kubelet_socket,
    name_of,
    plugin_of,
    restart_kubelet,
    restarted,
    room_of,
    run_pods,
    same_container,
    until_counts,
    until_log,
    until_noted,
    until_offered,
    until_stopped,
    write_card,
)
from testbed.api import Object
from testbed.cdi import remove_spec
from testbed.cluster import Cluster
from testbed.manifests import container, is_over, pod
from testbed.plugin import PluginOptions, ScriptedPlugin
from testbed.plugin_behaviours import Script, cdi_name
from testbed.plugin_records import Call, Grant, PluginDevice

FOLLOWING = PluginOptions(follow_kubelet=True)


@pytest.fixture
def resource(unique: Callable[[str], str]) -> str:
    return f"tangram.dev/{unique('restarts')}"


class Cards:
    """Answers Allocate with a CDI name and writes its spec in the first PreStart, as Tangram's agent does."""

    def __init__(self, cluster: Cluster) -> None:
        self.script = Script(allocate=self._allocate, pre_start=self._pre_start)
        self.specs: dict[str, Path] = {}
        self._cluster = cluster
        self._names: dict[tuple[str, ...], str] = {}

    async def _allocate(self, call: Call) -> tuple[Grant, ...]:
        (ids,) = ids_of([call])
        self._names[ids] = cdi_name(call)
        return (Grant(cdi_names=(cdi_name(call),)),)

    async def _pre_start(self, call: Call) -> None:
        (ids,) = ids_of([call])
        name = self._names[ids]
        if name not in self.specs:
            self.specs[name] = write_card(self._cluster, name)


@pytest.fixture
def cards(cluster: Cluster) -> Iterator[Cards]:
    made = Cards(cluster)
    yield made
    for spec in made.specs.values():
        remove_spec(spec)


@pytest.mark.smoke
async def test_a_container_that_restarts_gets_pre_start_again_with_its_ids_and_keeps_its_cdi_name(
    cluster: Cluster, unique: Callable[[str], str], resource: str, cards: Cards
) -> None:
    name = unique("restarting")
    async with plugin_of(cluster, resource, ["a", "b", "c"], script=cards.script) as plugin:
        await until_offered(cluster, plugin)
        (before,) = await run_pods(cluster, card_pod(resource, name))
        await end_container(cluster, before)
        await cluster.until_pod(name, restarted(1), within=PATIENCE)
        (allocated,) = calls_of(plugin, "Allocate")
        assert ids_of(calls_of(plugin, "PreStartContainer")) == ids_of([allocated, allocated])
        await until_log(cluster, name, f"card={cdi_name(allocated)}\n")


@pytest.mark.smoke
async def test_a_kubelet_restart_repeats_neither_allocate_nor_pre_start_and_later_replays_the_old_answer(
    cluster: Cluster, unique: Callable[[str], str], resource: str, cards: Cards
) -> None:
    old, new = unique("before"), unique("after")
    async with plugin_of(
        cluster, resource, ["a", "b", "c"], options=FOLLOWING, script=cards.script
    ) as plugin:
        await until_offered(cluster, plugin)
        (before,) = await run_pods(cluster, card_pod(resource, old))
        (first,) = calls_of(plugin, "Allocate")
        (noted,) = checkpointed(cluster, resource)
        assert (noted.pod_uid, noted.container) == (before["metadata"]["uid"], "main")
        assert [one.name for one in noted.response().cdi_devices] == [cdi_name(first)]

        await restart_kubelet(cluster)
        await plugin.wait_for_registration(2, within=PATIENCE)
        await until_offered(cluster, plugin)
        await run_pods(cluster, card_pod(resource, new))
        assert same_container(await get_pod(cluster, old), before)

        # The old pod's own next start is the first of it that the plugin hears of.
        await end_container(cluster, before)
        await cluster.until_pod(old, restarted(1), within=PATIENCE)
        again, second = calls_of(plugin, "Allocate")
        assert again == first
        assert ids_of([first]) != ids_of([second])
        assert ids_of(calls_of(plugin, "PreStartContainer")) == ids_of([first, second, first])
        await until_log(cluster, old, f"card={cdi_name(first)}\n")


@pytest.mark.smoke
async def test_a_kubelet_restart_removes_the_plugins_socket_and_counts_zero_until_the_plugin_registers(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    name = unique("kept")
    socket = room_of(cluster).device_plugins / "deaf.sock"
    async with plugin_of(cluster, resource, ["a", "b"], endpoint=socket.name) as plugin:
        await until_offered(cluster, plugin)
        (before,) = await run_pods(cluster, card_pod(resource, name))
        old_kubelet = kubelet_socket(cluster)
        async with kubelet_away(cluster):
            # Both sockets outlive the kubelet, so a plugin that only looks whether they are there learns nothing.
            assert kubelet_socket(cluster) == old_kubelet
            assert socket.is_socket()
        assert kubelet_socket(cluster) != old_kubelet
        assert not socket.exists()
        await until_counts(cluster, resource, "0", "0")
        (ending,) = await plugin.wait_for_ending("ListAndWatch", within=PATIENCE)
        assert ending.outcome == "cancelled"
        assert same_container(await get_pod(cluster, name), before)

        await plugin.register(within=PATIENCE)
        assert socket.is_socket()
        await until_offered(cluster, plugin)


async def test_after_a_kubelet_restart_containers_restart_without_pre_start_until_the_plugin_registers(
    cluster: Cluster, unique: Callable[[str], str], resource: str, cards: Cards
) -> None:
    """The kubelet forgot that the plugin wants PreStart. The CDI name it remembers, so the old spec is used again."""
    name = unique("unannounced")
    async with plugin_of(cluster, resource, ["a"], script=cards.script) as plugin:
        await until_offered(cluster, plugin)
        (before,) = await run_pods(cluster, card_pod(resource, name))
        await restart_kubelet(cluster)
        # Only a pod that this kubelet has admitted again is past the question whether it may stay.
        await until_counts(cluster, resource, "0", "0")
        await run_pods(cluster, pod(unique("marker"), node=NODE))
        await end_container(cluster, before)
        await cluster.until_pod(name, restarted(1), within=PATIENCE)
        (allocated,) = calls_of(plugin, "Allocate")
        assert ids_of(calls_of(plugin, "PreStartContainer")) == ids_of([allocated])
        await until_log(cluster, name, f"card={cdi_name(allocated)}\n")


# ---- containers that are over when the kubelet starts


@dataclass(frozen=True, slots=True)
class Before:
    """Pods as they were before the kubelet restarted."""

    plain: Object
    """Its only container runs."""
    ended: Object
    """Its only container ends while there is no kubelet."""
    prepared: Object
    """Its init container, which had a device, is over. When told to end, it ends badly."""
    polite: Object
    """As the one before, but it ends well."""


async def run_each(cluster: Cluster, unique: Callable[[str], str], resource: str) -> Before:
    init = container("init", script="true", limits={resource: 1})
    plain, ended, prepared, polite = await run_pods(
        cluster,
        card_pod(resource, unique("plain")),
        card_pod(resource, unique("ended")),
        card_pod(resource, unique("prepared"), inits=[init], ends_with=3),
        card_pod(resource, unique("polite"), inits=[init]),
    )
    for one in (prepared, polite):
        await until_log(cluster, name_of(one), "card=\n")
    return Before(plain, ended, prepared, polite)


async def test_a_kubelet_restart_ends_pods_with_a_device_container_that_is_over_if_the_plugin_is_late(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    """What still runs is killed; a container that then ends well can make the refusal look like a success."""
    async with plugin_of(cluster, resource, ["a", "b", "c", "d"]) as plugin:
        await until_offered(cluster, plugin)
        before = await run_each(cluster, unique, resource)
        async with kubelet_away(cluster):
            await end_container(cluster, before.ended)
            await until_stopped(cluster, before.ended)

        async def outcome(seen: Object) -> tuple[str, str]:
            status = (await cluster.until_pod(name_of(seen), is_over, within=PATIENCE))["status"]
            return status["phase"], status.get("reason", "")

        failed, succeeded = ("Failed", "UnexpectedAdmissionError"), ("Succeeded", "")
        assert await outcome(before.ended) == failed
        assert await outcome(before.prepared) == failed
        # Mostly the second: whichever the API server hears of first, the refusal or the container's end.
        assert await outcome(before.polite) in {failed, succeeded}
        assert same_container(await get_pod(cluster, name_of(before.plain)), before.plain)


async def test_a_kubelet_restart_spares_pods_with_a_device_container_that_is_over_if_the_plugin_is_early(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    async with plugin_of(cluster, resource, ["a", "b", "c", "d"], options=FOLLOWING) as plugin:
        await until_offered(cluster, plugin)
        before = await run_each(cluster, unique, resource)
        # Only when it knows the plugin's devices, the new one included, does the kubelet learn of its pods.
        async with api_server_held(cluster):
            async with kubelet_away(cluster):
                await end_container(cluster, before.ended)
                await until_stopped(cluster, before.ended)
                plugin.devices.add(PluginDevice("e"))
            await until_noted(cluster, plugin)
        await cluster.until_pod(name_of(before.ended), restarted(1), within=PATIENCE)
        await run_pods(cluster, pod(unique("marker"), node=NODE))
        for spared in (before.plain, before.prepared, before.polite):
            assert same_container(await get_pod(cluster, name_of(spared)), spared)
        assert len(calls_of(plugin, "Allocate")) == 6


# ---- PreStart itself


def starts(plugins: list[ScriptedPlugin]) -> list[str]:
    """The resources whose plugins heard PreStart, in the order of the calls."""
    heard = [(call.order, one.resource) for one in plugins for call in calls_of(one, "PreStartContainer")]
    return [resource for _, resource in sorted(heard)]


async def test_a_container_gets_one_pre_start_for_each_of_its_resources_in_no_fixed_order(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    # Go begins its walk over a map of eight at any of them: all eight containers alike is a chance of 8**-7.
    plugins = [
        plugin_of(cluster, f"{resource}-{letter}", [f"{letter}{number}" for number in range(8)])
        for letter in "abcdefgh"
    ]
    resources = [plugin.resource for plugin in plugins]
    try:
        await asyncio.gather(*(plugin.start(within=PATIENCE) for plugin in plugins))
        await until_offered(cluster, *plugins)
        limits = dict.fromkeys(resources, 1)
        containers = [container(f"c{number}", limits=limits) for number in range(8)]
        await run_pods(cluster, pod(unique("many"), *containers, node=NODE))
        heard = starts(plugins)
        orders = [tuple(heard[begin : begin + 8]) for begin in range(0, len(heard), 8)]
        assert [sorted(order) for order in orders] == [resources] * 8
        assert len(set(orders)) > 1
    finally:
        await asyncio.gather(*(plugin.stop() for plugin in plugins))
