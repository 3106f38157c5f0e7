"""Which answers of a plugin end a pod for good, and which only make it wait."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from e2e.nodes_kit import outcome_of, start_pod, touch, until_refused, words_of
from e2e.restarts_kit import (
    NODE,
    PATIENCE,
    calls_of,
    counts,
    plugin_of,
    quiet,
    until_counts,
    until_offered,
)
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, is_running, pod
from testbed.plugin import PluginOptions
from testbed.plugin_behaviours import Preferring, Script, failing, holding, in_turn, start_at_once
from testbed.plugin_records import Call, PluginDevice

REJECTED = "UnexpectedAdmissionError"


@pytest.fixture
def resource(unique: Callable[[str], str]) -> str:
    return f"tangram.dev/{unique('errors')}"


async def ending_of(cluster: Cluster, name: str, resource: str) -> tuple[str, str, str]:
    """Phase, reason and message of a pod that may restart as often as it likes."""
    await start_pod(cluster, name, resource, restart="Always")
    status = (await outcome_of(cluster, name))["status"]
    return status["phase"], status.get("reason", ""), status.get("message", "")


@asynccontextmanager
async def counted(cluster: Cluster, resource: str, amount: int) -> AsyncGenerator[None]:
    """The node claims to have so many of a resource that no plugin has registered."""

    async def claim(value: str | None) -> None:
        numbers = {"capacity": {resource: value}, "allocatable": {resource: value}}
        await cluster.api.patch(f"{path_of('Node', NODE)}/status", {"status": numbers})
        await cluster.until_node(NODE, lambda seen: counts(seen, resource) == (value, value), within=PATIENCE)

    await claim(str(amount))
    try:
        yield
    finally:
        await claim(None)


@pytest.mark.smoke
async def test_an_error_of_allocate_or_of_get_preferred_allocation_ends_the_pod_for_good(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    options = PluginOptions(preferences=True)
    async with plugin_of(cluster, resource, ["a"], options=options) as plugin:
        await until_offered(cluster, plugin)
        plugin.script.allocate = failing("no card today")
        phase, reason, message = await ending_of(cluster, unique("allocate"), resource)
        assert (phase, reason) == ("Failed", REJECTED)
        assert "no card today" in message

        plugin.script.allocate = quiet().allocate
        plugin.script.prefer = failing("no taste today")
        phase, reason, message = await ending_of(cluster, unique("prefer"), resource)
        assert (phase, reason) == ("Failed", REJECTED)
        assert "GetPreferredAllocation rpc failed" in message
        assert "no taste today" in message

        # Its one device was not lost with them.
        plugin.script.prefer = Script().prefer
        assert (await ending_of(cluster, unique("next"), resource))[0] == "Running"
        assert len(calls_of(plugin, "Allocate")) == 2


@pytest.mark.smoke
async def test_a_pod_bound_to_a_node_whose_plugin_is_away_or_has_nothing_to_give_is_ended_for_good(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    away, sick, short = (f"{resource}-{word}" for word in ("away", "sick", "short"))
    async with plugin_of(cluster, away, ["away"]) as plugin:
        await until_offered(cluster, plugin)
    await until_counts(cluster, away, "1", "0")
    async with plugin_of(cluster, sick, []) as ill, plugin_of(cluster, short, ["short"]) as one:
        ill.devices.become(PluginDevice("sick", healthy=False))
        await until_offered(cluster, ill, one)
        for unable in (away, sick):
            phase, reason, message = await ending_of(cluster, unique(unable[-4:]), unable)
            assert (phase, reason) == ("Failed", REJECTED)
            assert "no healthy devices present" in message
        assert (await ending_of(cluster, unique("takes"), short))[0] == "Running"
        phase, reason, message = await ending_of(cluster, unique("misses"), short)
        assert (phase, reason) == ("Failed", REJECTED)
        assert "Requested: 1, Available: 0" in message


@pytest.mark.smoke
async def test_a_resource_the_node_does_not_name_is_ignored_and_one_it_has_none_of_ends_the_pod(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    """Bound to a node that never knew the resource, a pod runs without any device: nobody refuses it."""
    absent, none, one = (f"{resource}-{word}" for word in ("absent", "none", "one"))
    async with counted(cluster, none, 0), counted(cluster, one, 1):
        name = unique("absent")
        await start_pod(cluster, name, absent, script="env | grep -c tangram; ls /dev | sort")
        bare = unique("bare")
        await cluster.api.create(
            pod(bare, container(script="env | grep -c tangram; ls /dev | sort"), node=NODE)
        )
        assert await words_of(cluster, name) == await words_of(cluster, bare)

        phase, reason, message = await ending_of(cluster, unique("none"), none)
        assert (phase, reason) == ("Failed", f"OutOf{none}")
        assert "capacity: 0" in message
        assert (await ending_of(cluster, unique("first"), one))[0] == "Running"
        assert (await ending_of(cluster, unique("second"), one))[:2] == ("Failed", f"OutOf{one}")


async def test_a_pod_that_the_scheduler_places_waits_for_a_resource_that_no_node_has(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    name = unique("patient")
    await cluster.api.create(pod(name, container(limits={resource: 1})))
    seen = await cluster.until_pod(name, lambda one: bool(_unschedulable(one)), within=PATIENCE)
    assert f"Insufficient {resource}" in _unschedulable(seen)
    async with plugin_of(cluster, resource, ["a"]):
        await cluster.until_pod(name, is_running, within=PATIENCE)


def _unschedulable(seen: Object) -> str:
    conditions = seen.get("status", {}).get("conditions", [])
    return "".join(one["message"] for one in conditions if one.get("reason") == "Unschedulable")


async def test_an_error_of_pre_start_and_one_that_takes_longer_than_30_seconds_only_delay(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    """The kubelet asks again for ever, and no other pod waits meanwhile."""
    refused, hanging = unique("refused"), unique("hanging")
    slow = f"{resource}-slow"
    answer = asyncio.Event()
    async with plugin_of(cluster, resource, ["a"]) as plugin, plugin_of(cluster, slow, ["b"]) as other:
        plugin.script.pre_start = in_turn(failing("not yet"), failing("still not"), start_at_once)
        other.script.pre_start = in_turn(holding(answer, start_at_once), start_at_once)
        await until_offered(cluster, plugin, other)
        await start_pod(cluster, hanging, slow)
        await other.wait_for_call("PreStartContainer", within=PATIENCE)
        await start_pod(cluster, refused, resource)
        message = await until_refused(cluster, refused, "CreateContainerConfigError")
        assert "PreStartContainer rpc failed" in message
        await cluster.until_pod(refused, is_running, within=PATIENCE)
        assert len(calls_of(plugin, "PreStartContainer")) == 3
        assert len(calls_of(plugin, "Allocate")) == 1

        (ending,) = await other.wait_for_ending("PreStartContainer", within=PATIENCE)
        assert ending.outcome == "cancelled"
        assert ending.at - ending.call.at > 20
        await cluster.until_pod(hanging, is_running, within=PATIENCE)
        assert len(calls_of(other, "PreStartContainer")) == 2
        answer.set()


async def test_any_change_to_a_pod_makes_the_kubelet_try_a_refused_start_again_at_once(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    """By itself it waits ten seconds and more each time, which would be longer than this takes altogether."""
    name, times = unique("touched"), 5
    async with plugin_of(cluster, resource, ["a"]) as plugin:
        plugin.script.pre_start = failing("not yet")
        await until_offered(cluster, plugin)
        await start_pod(cluster, name, resource)
        await until_refused(cluster, name, "CreateContainerConfigError")
        async with asyncio.timeout(9.0 * times):
            for _ in range(times):
                before = len(calls_of(plugin, "PreStartContainer"))
                await touch(cluster, name)
                await plugin.wait_for_call("PreStartContainer", before + 1, within=PATIENCE)
        plugin.script.pre_start = start_at_once
        await touch(cluster, name)
        await cluster.until_pod(name, is_running, within=PATIENCE)


async def test_the_answer_of_get_preferred_allocation_is_taken_as_far_as_it_is_possible(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    ids = [f"card-{number:02d}" for number in range(12)]
    options = PluginOptions(preferences=True)
    answers = {
        "exact": ("card-07", "card-03"),
        "foreign": ("nowhere", "card-05"),
        "nothing": (),
    }
    async with plugin_of(cluster, resource, ids, options=options) as plugin:
        await until_offered(cluster, plugin)
        given: dict[str, set[str]] = {}
        for word, answer in answers.items():
            plugin.script.prefer = _always(answer)
            made = container(limits={resource: 2})
            await cluster.api.create(pod(unique(word), made, node=NODE))
            await cluster.until_pod(unique(word), is_running, within=PATIENCE)
            given[word] = set(calls_of(plugin, "Allocate")[-1].ids[0])
        assert given["exact"] == {"card-07", "card-03"}
        # What cannot be had is left out, and the kubelet fills up as it likes.
        assert "card-05" in given["foreign"]
        assert all(len(found) == 2 and found <= set(ids) for found in given.values())
        assert len({one for found in given.values() for one in found}) == 6
        offered = [call.preferences[0] for call in calls_of(plugin, "GetPreferredAllocation")]
        assert [len(one.available) for one in offered] == [12, 10, 8]
        assert [one.size for one in offered] == [2, 2, 2]


def _always(answer: tuple[str, ...]) -> Preferring:
    async def prefer(_call: Call) -> tuple[tuple[str, ...], ...]:
        return (answer,)

    return prefer
