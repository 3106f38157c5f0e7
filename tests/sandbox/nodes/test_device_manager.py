"""The device manager does to a plugin what a real kubelet does: docs/kubernetes-facts.md says where that was seen."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
import pytest

from builders.plugins import eventually, short_directory
from tangram.kube.objects import Object
from tangram.kubelet.sockets import ask, open_channel
from tangram.sandbox.nodes.device_manager import DeviceManager, NotAllocated
from tangram.sandbox.nodes.plugin_client import PluginError
from tangram.sandbox.nodes.plugin_list import GRACE_S
from tangram.sandbox.nodes.pod_resources import AT_ONCE, PodResources, Turns
from tangram.sandbox.nodes.pod_specs import containers_of, kubelet_uid
from tangram.units.ids import PodUid
from tangram.wire.kubelet import deviceplugin, podresources
from tangram.wire.kubelet.checkpoint import CHECKPOINT_FILE, Checkpoint, parse_checkpoint
from testbed.plugin import PluginOptions, ScriptedPlugin
from testbed.plugin_behaviours import Script, failing
from testbed.plugin_records import PluginDevice

GPU = "metax-tech.com/gpu"


class Node:
    """A device manager, the pods that live, and a clock that moves when told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pods: dict[PodUid, Object] = {}
        self.seconds = 0.0
        self.sick: list[str] = []
        self.devices = self.fresh()

    def fresh(self) -> DeviceManager:
        return DeviceManager(
            self.folder,
            living=lambda: self.pods,
            sick=self.sick.append,
            clock=lambda: self.seconds,
            order=random.Random(7),  # noqa: S311 - an order, no secret
        )

    async def admit(self, pod: Object, *running: str) -> dict[str, set[str]]:
        """By container, the ids it got of whatever resource."""
        uid = kubelet_uid(pod)
        self.pods[uid] = pod
        try:
            await self.devices.admit(pod, running)
        except NotAllocated:
            del self.pods[uid]
            raise
        return {each.name: self.held(pod, each.name) for each in containers_of(pod)}

    async def refused(self, pod: Object, *running: str) -> str:
        with pytest.raises(NotAllocated) as refusal:
            await self.admit(pod, *running)
        return str(refusal.value)

    def held(self, pod: Object, container: str) -> set[str]:
        return {
            unit for each in self.devices.book.of_container(kubelet_uid(pod), container) for unit in each.ids
        }

    def notes(self) -> Checkpoint:
        return parse_checkpoint((self.folder / CHECKPOINT_FILE).read_bytes())

    async def restart(self) -> None:
        await self.devices.stop()
        await self.devices.start()

    async def until_offered(self, count: int, resource: str = GPU) -> None:
        await eventually(lambda: self.devices.amounts().allocatable.get(resource) == count)


def pod(name: str, *containers: Mapping[str, object], inits: tuple[Mapping[str, object], ...] = ()) -> Object:
    spec: Object = {"containers": [dict(each) for each in containers]}
    if inits:
        spec["initContainers"] = [dict(each) for each in inits]
    return {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"}, "spec": spec}


def wants(count: int, name: str = "c", resource: str = GPU, **more: object) -> Mapping[str, object]:
    return {"name": name, "resources": {"limits": {resource: str(count)}}, **more}


def devices(*ids: str, numa: int | None = None) -> list[PluginDevice]:
    return [PluginDevice(each, numa=() if numa is None else (numa,)) for each in ids]


@asynccontextmanager
async def node() -> AsyncGenerator[Node]:
    with short_directory() as folder:
        made = Node(folder)
        await made.devices.start()
        try:
            yield made
        finally:
            await made.devices.stop()


PREFERRING = PluginOptions(preferences=True)


async def test_units_are_given_once_and_written_down_in_the_kubelets_own_form() -> None:
    async with node() as here, ScriptedPlugin(here.folder, GPU, devices("a", "b", "c", numa=1)):
        await here.until_offered(3)
        one = await here.admit(pod("one", wants(2)))
        two = await here.admit(pod("two", wants(1)))
        assert one["c"] | two["c"] == {"a", "b", "c"}
        noted = {(each.pod_uid, each.container, each.ids) for each in here.notes().allocations}
        assert {(uid, container, frozenset(ids)) for uid, container, ids in noted} == {
            ("uid-one", "c", frozenset(one["c"])),
            ("uid-two", "c", frozenset(two["c"])),
        }
        assert {group.numa for each in here.notes().allocations for group in each.by_numa} == {1}
        (registered,) = here.notes().registered
        assert (registered.resource, set(registered.ids)) == (GPU, {"a", "b", "c"})


async def test_the_plugin_is_offered_all_free_units_and_its_answer_is_followed() -> None:
    async def last(call: object) -> tuple[tuple[str, ...], ...]:
        del call
        return (("d", "nobody"),)

    script = Script(prefer=last)
    async with (
        node() as here,
        ScriptedPlugin(
            here.folder, GPU, devices("a", "b", "c", "d"), script=script, options=PREFERRING
        ) as plugin,
    ):
        await here.until_offered(4)
        given = await here.admit(pod("one", wants(2)))
        # What is not free is left out without an error, and the kubelet fills up as it likes.
        assert "d" in given["c"]
        assert len(given["c"]) == 2
        (asked,) = [call for call in plugin.calls if call.method == "GetPreferredAllocation"]
        assert set(asked.preferences[0].available) == {"a", "b", "c", "d"}


async def test_units_of_init_containers_go_to_those_after_them_and_never_those_of_sidecars() -> None:
    async with node() as here, ScriptedPlugin(here.folder, GPU, devices("a", "b", "c", "d")):
        await here.until_offered(4)
        given = await here.admit(
            pod(
                "one",
                wants(2),
                inits=(wants(2, "first"), wants(1, "beside", restartPolicy="Always"), wants(1, "second")),
            )
        )
        assert given["beside"] < given["first"]
        assert given["second"] == given["first"] - given["beside"]
        assert given["second"] < given["c"]
        assert not given["beside"] & given["c"]
        assert len(given["first"] | given["c"]) == 3


async def test_more_than_there_is_cannot_be_given_and_costs_nobody_anything() -> None:
    async with node() as here, ScriptedPlugin(here.folder, GPU, devices("a", "b")):
        await here.until_offered(2)
        words = "requested number of devices unavailable for metax-tech.com/gpu. Requested: 3, Available: 2"
        assert await here.refused(pod("one", wants(3))) == words
        assert len((await here.admit(pod("two", wants(2))))["c"]) == 2


async def test_a_plugin_without_healthy_units_and_one_that_is_away_end_the_pod() -> None:
    words = "no healthy devices present; cannot allocate unhealthy devices metax-tech.com/gpu"
    async with node() as here:
        async with ScriptedPlugin(here.folder, GPU, devices("a")) as plugin:
            await here.until_offered(1)
            plugin.devices.set_health("a", healthy=False)
            await here.until_offered(0)
            assert here.devices.amounts().capacity == {GPU: 1}
            assert await here.refused(pod("one", wants(1))) == words
        await eventually(lambda: not here.devices.registered(GPU))
        assert await here.refused(pod("two", wants(1))) == words


async def test_a_resource_nobody_ever_registered_is_passed_over() -> None:
    async with node() as here:
        assert await here.admit(pod("one", wants(1))) == {"c": set()}


async def test_an_error_of_allocate_and_of_the_preference_ends_the_pod_and_frees_its_units() -> None:
    script = Script(allocate=failing("no"))
    async with node() as here, ScriptedPlugin(here.folder, GPU, devices("a"), script=script):
        await here.until_offered(1)
        assert await here.refused(pod("one", wants(1))) == "rpc error: code = Internal desc = no"
        assert not here.devices.book.taken()
    script = Script(prefer=failing("no"))
    async with (
        node() as here,
        ScriptedPlugin(here.folder, GPU, devices("a", "b"), script=script, options=PREFERRING),
    ):
        await here.until_offered(2)
        words = await here.refused(pod("one", wants(1)))
        assert words.startswith(
            "device plugin GetPreferredAllocation rpc failed with err: rpc error: code = Internal"
        )


async def test_every_start_is_announced_with_the_same_units_and_an_error_only_delays() -> None:
    script = Script(pre_start=failing("later", grpc.StatusCode.UNAVAILABLE))
    async with node() as here, ScriptedPlugin(here.folder, GPU, devices("a", "b"), script=script) as plugin:
        await here.until_offered(2)
        made = pod("one", wants(1))
        given = await here.admit(made)
        (container,) = containers_of(made)
        for _ in range(2):
            with pytest.raises(
                PluginError, match="PreStartContainer rpc failed with err: rpc error: code = Unavai"
            ):
                await here.devices.prepare(made, container)
        starts = [call for call in plugin.calls if call.method == "PreStartContainer"]
        assert [set(call.ids[0]) for call in starts] == [given["c"]] * 2


async def test_when_the_older_of_two_plugins_ends_the_newer_one_is_dropped() -> None:
    async with node() as here:
        older = ScriptedPlugin(here.folder, GPU, devices("a"), endpoint="older.sock")
        newer = ScriptedPlugin(here.folder, GPU, devices("b"), endpoint="newer.sock")
        async with older:
            await here.until_offered(1)
            async with newer:
                await eventually(lambda: here.devices.plugins.healthy(GPU) == ("b",))
                await older.crash()
                await here.until_offered(0)
                assert here.devices.amounts().capacity == {GPU: 1}


async def test_a_plugin_that_is_gone_keeps_its_capacity_for_five_minutes() -> None:
    async with node() as here:
        async with ScriptedPlugin(here.folder, GPU, devices("a", "b")):
            await here.until_offered(2)
        await here.until_offered(0)
        here.seconds += GRACE_S
        assert here.devices.amounts().capacity == {GPU: 2}
        here.seconds += 1
        amounts = here.devices.amounts()
        assert (amounts.capacity, amounts.removed) == ({}, (GPU,))
        assert here.notes().registered == ()


async def test_a_restarted_kubelet_removes_sockets_and_counts_nothing_until_the_plugin_is_back() -> None:
    async with node() as here:
        options = PluginOptions(follow_kubelet=True)
        async with ScriptedPlugin(here.folder, GPU, devices("a", "b"), options=options) as plugin:
            await here.until_offered(2)
            made = pod("one", wants(1))
            before = await here.admit(made)
            await here.devices.stop()
            await here.devices.start()
            assert here.held(made, "c") == before["c"]
            amounts = here.devices.amounts()
            assert (amounts.capacity, amounts.allocatable) in (({GPU: 0}, {GPU: 0}), ({GPU: 2}, {GPU: 2}))
            # Until the plugin is back nobody is asked before a container starts.
            (container,) = containers_of(made)
            answers = await here.devices.prepare(made, container)
            assert len(answers) == 1
            await here.until_offered(2)
            await here.devices.admit(made)
            assert here.held(made, "c") == before["c"]
            assert len([call for call in plugin.calls if call.method == "Allocate"]) == 1


async def test_a_restarted_kubelet_ends_pods_with_a_container_that_is_over_unless_the_plugin_is_early() -> (
    None
):
    async with node() as here:
        made = pod("one", wants(1), inits=(wants(1, "first"),))
        async with ScriptedPlugin(here.folder, GPU, devices("a")):
            await here.until_offered(1)
            await here.admit(made)
        await here.restart()
        words = "no healthy devices present; cannot allocate unhealthy devices metax-tech.com/gpu"
        assert await here.refused(made, "c") == words
        here.pods[kubelet_uid(made)] = made
        await here.devices.admit(made, ["first", "c"])


async def test_a_unit_that_changes_its_health_is_told_to_whoever_holds_it() -> None:
    async with node() as here, ScriptedPlugin(here.folder, GPU, devices("a", "b")) as plugin:
        await here.until_offered(2)
        made = pod("one", wants(2))
        await here.admit(made)
        plugin.devices.set_health("a", healthy=False)
        await eventually(lambda: here.sick == ["uid-one"])
        assert not here.devices.plugins.is_healthy(GPU, "a")
        assert await here.refused(made) == (
            "previously allocated devices are no longer healthy; cannot allocate unhealthy devices "
            "metax-tech.com/gpu"
        )


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        pytest.param(
            deviceplugin.RegisterRequest(version="v1alpha", resource_name=GPU, endpoint="x.sock"),
            'requested API version "v1alpha" is not supported by kubelet. Supported version is ["v1beta1"]',
            id="another version",
        ),
        pytest.param(
            deviceplugin.RegisterRequest(version="v1beta1", resource_name="cpu", endpoint="x.sock"),
            'the ResourceName "cpu" is invalid',
            id="no extended resource",
        ),
        pytest.param(
            deviceplugin.RegisterRequest(version="v1beta1", resource_name=GPU, endpoint="nobody.sock"),
            "failed to get device plugin options",
            id="nobody there",
        ),
    ],
)
async def test_a_plugin_that_cannot_be_used_is_refused_at_its_registration(
    asked: deviceplugin.RegisterRequest, words: str
) -> None:
    async with node() as here, open_channel(here.folder / deviceplugin.KUBELET_SOCKET) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await ask(channel, deviceplugin.REGISTER, asked, within=20)
        assert words in str(refusal.value.details())
        assert here.devices.amounts().capacity == {}


# ---- who holds what


async def test_pod_resources_shows_who_holds_what_and_never_init_containers_nor_uids() -> None:
    async with node() as here, ScriptedPlugin(here.folder, GPU, devices("a", "b", numa=0)):
        await here.until_offered(2)
        made = pod("one", wants(1), inits=(wants(1, "first"), wants(1, "beside", restartPolicy="Always")))
        given = await here.admit(made)
        socket = here.folder / "r" / "kubelet.sock"
        shown = PodResources(socket, here.devices, lambda: list(here.pods.values()))
        await shown.start()
        async with open_channel(socket) as channel:
            listed = await ask(channel, podresources.LIST, podresources.ListPodResourcesRequest(), within=20)
            (told,) = listed.pod_resources
            assert (told.namespace, told.name) == ("default", "one")
            held = {
                each.name: {unit for one in each.devices for unit in one.device_ids}
                for each in told.containers
            }
            assert held == {"beside": given["beside"], "c": given["c"]}
            one = await ask(
                channel,
                podresources.GET,
                podresources.GetPodResourcesRequest(pod_name="one", pod_namespace="default"),
                within=20,
            )
            assert one.pod_resources == told
            everything = await ask(
                channel,
                podresources.GET_ALLOCATABLE_RESOURCES,
                podresources.AllocatableResourcesRequest(),
                within=20,
            )
            assert {unit for each in everything.devices for unit in each.device_ids} == {"a", "b"}
            with pytest.raises(grpc.aio.AioRpcError, match="pod two in namespace default not found"):
                await ask(
                    channel,
                    podresources.GET,
                    podresources.GetPodResourcesRequest(pod_name="two", pod_namespace="default"),
                    within=20,
                )
            # A pod that is over is forgotten when somebody asks.
            here.pods.clear()
            listed = await ask(channel, podresources.LIST, podresources.ListPodResourcesRequest(), within=20)
            assert not listed.pod_resources
            assert not here.devices.book.all()
        await shown.stop()


async def test_pod_resources_refuses_whoever_asks_too_often() -> None:
    async with node() as here:
        shown = PodResources(here.folder / "r.sock", here.devices, list)
        question = podresources.ListPodResourcesRequest()
        await shown.start()
        async with open_channel(here.folder / "r.sock") as channel:
            with pytest.raises(grpc.aio.AioRpcError) as refusal:
                await asyncio.gather(
                    *(ask(channel, podresources.LIST, question, within=20) for _ in range(100))
                )
        await shown.stop()
        assert refusal.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert refusal.value.details() == "rejected by rate limit"


def test_a_hundred_questions_a_second_are_answered_and_ten_at_once() -> None:
    now = [0.0]
    turns = Turns(lambda: now[0])
    assert [turns.take() for _ in range(AT_ONCE + 1)] == [True] * AT_ONCE + [False]
    now[0] += 0.01
    assert [turns.take(), turns.take()] == [True, False]
    now[0] += 1000
    assert sum(turns.take() for _ in range(100)) == AT_ONCE
