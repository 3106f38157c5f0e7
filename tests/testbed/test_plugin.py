"""The scripted device plugin, against a kubelet's side of the API over real gRPC on real unix sockets."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import grpc
import grpc.aio
import pytest

from tangram.kubelet.sockets import Refusal, ask, open_channel
from tangram.wire.kubelet import deviceplugin
from testbed.errors import BedError
from testbed.fake_kubelet import FakeKubelet
from testbed.plugin import PluginOptions, ScriptedPlugin
from testbed.plugin_behaviours import Script, cdi_name, failing, granting, holding, in_turn, start_at_once
from testbed.plugin_records import Call, DeviceFile, Grant, HostMount, PluginDevice, devices_named

SGPU = "tangram.dev/sgpu"
VGPU = "tangram.dev/vgpu"


@pytest.fixture
def directory() -> Iterator[Path]:
    """A short path: pytest's own, with the test's name in it, can be too long for a socket."""
    made = Path(tempfile.mkdtemp(prefix="plugin-"))
    yield made
    shutil.rmtree(made)


def left_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


# ---- registration and the list


async def test_it_registers_with_its_resource_endpoint_and_options(directory: Path) -> None:
    options = PluginOptions(pre_start=True, preferences=True)
    async with FakeKubelet(directory) as kubelet, ScriptedPlugin(directory, SGPU, options=options) as plugin:
        (introduction,) = kubelet.introductions
        assert introduction.version == "v1beta1"
        assert introduction.resource_name == SGPU
        assert (directory / introduction.endpoint).is_socket()
        assert introduction.options.pre_start_required
        assert introduction.options.get_preferred_allocation_available
        assert await kubelet.plugin(SGPU).options() == introduction.options
        assert [registration.refusal for registration in plugin.registrations] == [None]


async def test_every_change_of_the_devices_reaches_the_kubelet(directory: Path) -> None:
    async with (
        FakeKubelet(directory) as kubelet,
        ScriptedPlugin(directory, SGPU, devices_named("a", "b")) as plugin,
    ):
        client = kubelet.plugin(SGPU)
        await client.wait_for_devices({"a": "Healthy", "b": "Healthy"})
        plugin.devices.set_health("b", healthy=False)
        await client.wait_for_devices({"a": "Healthy", "b": "Unhealthy"})
        plugin.devices.add(PluginDevice("c", numa=(0, 1)))
        await client.wait_for_devices({"a": "Healthy", "b": "Unhealthy", "c": "Healthy"})
        plugin.devices.remove("a", "b")
        await client.wait_for_devices({"c": "Healthy"})
        await plugin.devices.wait_until_sent()
        (device,) = client.received[-1].devices
        assert [node.ID for node in device.topology.nodes] == [0, 1]
        assert not client.received[0].devices[0].HasField("topology")


@pytest.mark.parametrize(
    ("refusal", "status"),
    [(None, "OK"), (Refusal(grpc.StatusCode.UNAVAILABLE, "moving"), "UNAVAILABLE")],
    ids=["quietly", "with-an-error"],
)
async def test_it_can_end_the_list_and_go_on_serving(
    directory: Path, refusal: Refusal | None, status: str
) -> None:
    async with (
        FakeKubelet(directory) as kubelet,
        ScriptedPlugin(directory, SGPU, devices_named("a")) as plugin,
    ):
        await plugin.wait_for_call("ListAndWatch")
        plugin.devices.end_streams(refusal)
        assert await kubelet.plugin(SGPU).wait_for_end() == status
        await plugin.register()
        await kubelet.plugin(SGPU).wait_for_devices({"a": "Healthy"})


async def test_a_kubelet_that_refuses_is_quoted(directory: Path) -> None:
    async with FakeKubelet(directory) as kubelet:
        kubelet.refusal = Refusal(grpc.StatusCode.UNKNOWN, "the ResourceName is invalid")
        plugin = ScriptedPlugin(directory, "nonsense")
        with pytest.raises(
            BedError, match=r"did not register nonsense.*UNKNOWN, the ResourceName is invalid"
        ):
            async with plugin:
                pass
        assert [registration.refusal for registration in plugin.registrations] == [
            "UNKNOWN, the ResourceName is invalid"
        ]
    assert left_in(directory) == {"kubelet.sock"}


async def test_without_a_kubelet_it_gives_up_in_a_sentence(directory: Path) -> None:
    plugin = ScriptedPlugin(directory, SGPU)
    with pytest.raises(
        BedError, match=r"kubelet\.sock' did not register .* within 0\.1 s: there is no such socket"
    ):
        await plugin.start(within=0.1)
    await plugin.stop()


async def test_it_waits_for_a_kubelet_that_comes_later(directory: Path) -> None:
    """The kubelet starts by removing every socket, the plugin's own included."""
    plugin = ScriptedPlugin(directory, SGPU, devices_named("a"))
    await plugin.start(register=False)
    async with asyncio.TaskGroup() as together:
        together.create_task(plugin.register())
        kubelet = FakeKubelet(directory)
        await kubelet.start()
    await kubelet.plugin(SGPU).wait_for_devices({"a": "Healthy"})
    await plugin.stop()
    await kubelet.die()


# ---- calls and answers


async def test_each_allocation_gets_a_cdi_name_of_its_own(directory: Path) -> None:
    async with (
        FakeKubelet(directory) as kubelet,
        ScriptedPlugin(directory, SGPU) as sgpu,
        ScriptedPlugin(directory, VGPU) as vgpu,
    ):
        answers = [
            await kubelet.plugin(SGPU).allocate("a"),
            await kubelet.plugin(VGPU).allocate("b"),
            await kubelet.plugin(SGPU).allocate("c"),
        ]
        names = [answer.cdi_devices[0].name for answer in answers]
        assert len(set(names)) == 3
        assert all(name.startswith("tangram.dev/test=") for name in names)
        first, second = await sgpu.wait_for_call("Allocate", count=2)
        (between,) = await vgpu.wait_for_call("Allocate")
        assert first.order < between.order < second.order
        assert first.at <= between.at <= second.at
        assert [names[0], names[2]] == [cdi_name(first), cdi_name(second)]


async def test_an_allocation_can_carry_everything_the_api_has(directory: Path) -> None:
    script = Script(
        allocate=granting(
            {"VISIBLE": "3"},
            device_files=(DeviceFile("/dev/mxcd", "/dev/card", "rwm"),),
            mounts=(HostMount("/opt/lib", "/usr/lib/x"),),
            annotations={"note": "x"},
            cdi=False,
        )
    )
    async with FakeKubelet(directory) as kubelet, ScriptedPlugin(directory, SGPU, script=script):
        answer = await kubelet.plugin(SGPU).allocate("a")
    assert answer == deviceplugin.ContainerAllocateResponse(
        envs={"VISIBLE": "3"},
        devices=[
            deviceplugin.DeviceSpec(host_path="/dev/mxcd", container_path="/dev/card", permissions="rwm")
        ],
        mounts=[deviceplugin.Mount(host_path="/opt/lib", container_path="/usr/lib/x", read_only=True)],
        annotations={"note": "x"},
    )


async def test_preferences_are_recorded_and_answered(directory: Path) -> None:
    async with FakeKubelet(directory) as kubelet, ScriptedPlugin(directory, SGPU) as plugin:
        assert await kubelet.plugin(SGPU).prefer(["c", "b", "a"], 2, must=["c"]) == ("c", "a")
        (call,) = await plugin.wait_for_call("GetPreferredAllocation")
        (asked,) = call.preferences
        assert (asked.available, asked.must_include, asked.size) == (("c", "b", "a"), ("c",), 2)


async def test_a_behaviour_sees_the_call_and_decides_the_answer(directory: Path) -> None:
    async def by_id(call: Call) -> tuple[Grant, ...]:
        return tuple(Grant(env={"IDS": "+".join(ids)}) for ids in call.ids)

    async with FakeKubelet(directory) as kubelet, ScriptedPlugin(directory, SGPU) as plugin:
        plugin.script.allocate = by_id
        answer = await kubelet.plugin(SGPU).allocate("a", "b")
        assert dict(answer.envs) == {"IDS": "a+b"}


async def test_it_can_fail_once_and_then_succeed(directory: Path) -> None:
    async with FakeKubelet(directory) as kubelet, ScriptedPlugin(directory, SGPU) as plugin:
        plugin.script.pre_start = in_turn(failing("not yet", grpc.StatusCode.UNAVAILABLE), start_at_once)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await kubelet.plugin(SGPU).pre_start("a")
        assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.UNAVAILABLE, "not yet")
        await kubelet.plugin(SGPU).pre_start("a")
        await kubelet.plugin(SGPU).pre_start("a")
        endings = await plugin.wait_for_ending("PreStartContainer", count=3)
        assert [ending.outcome for ending in endings] == ["failed", "answered", "answered"]
        assert [ending.call.ids for ending in endings] == [(("a",),)] * 3


async def test_it_can_hold_calls_until_told_otherwise(directory: Path) -> None:
    release = asyncio.Event()
    async with (
        FakeKubelet(directory) as kubelet,
        ScriptedPlugin(directory, SGPU) as plugin,
        asyncio.TaskGroup() as together,
    ):
        plugin.script.pre_start = holding(release, start_at_once)
        waiting = [together.create_task(kubelet.plugin(SGPU).pre_start(name)) for name in "abc"]
        await plugin.wait_for_call("PreStartContainer", count=3)
        assert not any(task.done() for task in waiting)
        assert not plugin.log.endings
        release.set()


async def test_a_call_the_kubelet_gives_up_is_noted_as_cancelled(directory: Path) -> None:
    async with FakeKubelet(directory) as kubelet, ScriptedPlugin(directory, SGPU) as plugin:
        plugin.script.pre_start = holding(asyncio.Event(), start_at_once)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await kubelet.plugin(SGPU).pre_start("a", within=0.1)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        (ending,) = await plugin.wait_for_ending("PreStartContainer")
        assert ending.outcome == "cancelled"


async def test_a_mistake_in_a_behaviour_fails_the_call_and_then_the_test(directory: Path) -> None:
    async def wrong(_call: Call) -> None:
        raise KeyError("typo")

    async with FakeKubelet(directory) as kubelet:
        plugin = ScriptedPlugin(directory, SGPU, script=Script(pre_start=wrong))
        await plugin.start()
        with pytest.raises(grpc.aio.AioRpcError, match="typo"):
            await kubelet.plugin(SGPU).pre_start("a")
        with pytest.raises(ExceptionGroup) as caught:
            await plugin.stop()
        assert caught.group_contains(KeyError, match="typo")
        await plugin.stop()


async def test_waiting_in_vain_says_what_was_seen(directory: Path) -> None:
    async with FakeKubelet(directory) as kubelet, ScriptedPlugin(directory, SGPU) as plugin:
        await plugin.wait_for_call("ListAndWatch")
        await kubelet.plugin(SGPU).allocate("a")
        with pytest.raises(
            BedError,
            match=r"within 0\.05 s the plugin of tangram.dev/sgpu saw 1 of 2 awaited Allocate; "
            r"its calls so far: ListAndWatch 1, Allocate 1",
        ):
            await plugin.wait_for_call("Allocate", count=2, within=0.05)


# ---- when it crashes, and comes back


@pytest.mark.parametrize("stays", [True, False])
async def test_a_crash_cuts_everything_off(directory: Path, *, stays: bool) -> None:
    async with (
        FakeKubelet(directory) as kubelet,
        ScriptedPlugin(directory, SGPU, devices_named("a")) as plugin,
    ):
        client = kubelet.plugin(SGPU)
        await client.wait_for_devices({"a": "Healthy"})
        plugin.script.pre_start = holding(asyncio.Event(), start_at_once)
        async with asyncio.TaskGroup() as together:
            hanging = together.create_task(_status_of_pre_start(kubelet))
            await plugin.wait_for_call("PreStartContainer")
            await plugin.crash(socket_file="stays" if stays else "goes")
        assert hanging.result() in {grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE}
        assert await client.wait_for_end() != "OK"
        (ending,) = await plugin.wait_for_ending("PreStartContainer")
        assert ending.outcome == "cancelled"
        socket = directory / client.introduction.endpoint
        assert socket.is_socket() == stays
        if stays:
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_unix_connection(socket)
        await plugin.start()
        await kubelet.plugin(SGPU).wait_for_devices({"a": "Healthy"})
        assert len(kubelet.introductions) == 2


async def _status_of_pre_start(kubelet: FakeKubelet) -> grpc.StatusCode:
    try:
        await kubelet.plugin(SGPU).pre_start("a")
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


async def test_it_follows_a_kubelet_that_restarts_and_removed_its_socket(directory: Path) -> None:
    options = PluginOptions(follow_kubelet=True)
    async with (
        FakeKubelet(directory) as kubelet,
        ScriptedPlugin(directory, SGPU, devices_named("a"), options=options) as sgpu,
        ScriptedPlugin(directory, VGPU, devices_named("b"), options=options) as vgpu,
    ):
        for round_ in (2, 3):
            await kubelet.restart()
            await sgpu.wait_for_registration(round_)
            await vgpu.wait_for_registration(round_)
            await kubelet.plugin(SGPU).wait_for_devices({"a": "Healthy"})
            await kubelet.plugin(VGPU).wait_for_devices({"b": "Healthy"})
            await kubelet.plugin(SGPU).allocate("a")
        assert len(kubelet.introductions) == 6, "once per plugin and start of the kubelet, never more"


async def test_it_registers_by_itself_with_a_kubelet_that_comes_later(directory: Path) -> None:
    plugin = ScriptedPlugin(directory, SGPU, devices_named("a"), options=PluginOptions(follow_kubelet=True))
    await plugin.start(register=False)
    async with FakeKubelet(directory) as kubelet:
        await plugin.wait_for_registration()
        await kubelet.plugin(SGPU).wait_for_devices({"a": "Healthy"})
        await plugin.stop()


async def test_two_plugins_at_one_endpoint_do_not_remove_each_others_socket(directory: Path) -> None:
    """What overlapping registrations look like: the old one's end must not take the new one's file along."""
    async with FakeKubelet(directory) as kubelet:
        old = ScriptedPlugin(directory, SGPU, devices_named("a"))
        new = ScriptedPlugin(directory, SGPU, devices_named("b"))
        await old.start()
        await new.start()
        await old.stop()
        await kubelet.plugin(SGPU).wait_for_devices({"b": "Healthy"})
        async with open_channel(directory / "tangram.dev_sgpu.sock") as channel:
            await ask(channel, deviceplugin.GET_DEVICE_PLUGIN_OPTIONS, deviceplugin.Empty(), within=5)
        assert [call.method for call in new.calls][-1] == "GetDevicePluginOptions"
        await new.stop()
    assert left_in(directory) == {"kubelet.sock"}


# ---- what it will not do


def test_a_path_too_long_for_a_socket_is_refused_with_its_length(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120)
    with pytest.raises(BedError, match=r"has \d{3} bytes, and a unix socket's path may have 107: keep"):
        ScriptedPlugin(deep, SGPU)


@pytest.mark.parametrize("endpoint", ["kubelet.sock", "../else.sock"])
def test_an_endpoint_that_is_not_its_own_file_is_refused(directory: Path, endpoint: str) -> None:
    with pytest.raises(BedError, match="its endpoint is a file name of its own"):
        ScriptedPlugin(directory, SGPU, endpoint=endpoint)


async def test_a_directory_that_is_not_there_is_named(directory: Path) -> None:
    plugin = ScriptedPlugin(directory / "none", SGPU)
    with pytest.raises(BedError, match="none' is not a folder"):
        await plugin.start()


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [(("a", "b", "a"), "listed twice: a"), (("",), "is no device id"), (("x" * 64,), "is no device id")],
    ids=["twice", "empty", "long"],
)
def test_device_lists_no_kubelet_could_keep_are_refused(
    directory: Path, ids: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(BedError, match=sentence):
        ScriptedPlugin(directory, SGPU, devices_named(*ids))


def test_changing_a_device_that_is_not_offered_is_refused(directory: Path) -> None:
    plugin = ScriptedPlugin(directory, SGPU, devices_named("a"))
    with pytest.raises(BedError, match="offers no device z"):
        plugin.devices.set_health("a", "z", healthy=False)


async def test_starting_twice_is_refused(directory: Path) -> None:
    async with FakeKubelet(directory), ScriptedPlugin(directory, SGPU) as plugin:
        with pytest.raises(BedError, match="runs already"):
            await plugin.start()
