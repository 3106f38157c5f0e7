"""The agent's device plugin, against a kubelet's side of the API over real gRPC on real unix sockets."""

import asyncio
import itertools
import logging
from pathlib import Path

import grpc
import grpc.aio
import pytest

from builders.plugins import GPU, PATIENCE, Run, ScriptedAnswers, eventually, names_in, running
from tangram.kubelet import registration
from tangram.kubelet.plugin import Plugin, endpoint_of
from tangram.kubelet.sockets import Refusal, SocketUnusable, ask, open_channel
from tangram.model.offers import Unit
from tangram.wire.kubelet import deviceplugin
from testbed.fake_kubelet import FakeKubelet

SGPU = "metax-tech.com/sgpu"


# ---- what it tells the kubelet


@pytest.mark.parametrize("prefers", [True, False])
async def test_it_introduces_itself_with_its_resource_its_socket_and_its_options(
    directory: Path, *, prefers: bool
) -> None:
    async with FakeKubelet(directory) as kubelet:
        plugin = Plugin(directory, GPU, ScriptedAnswers(), prefers=prefers)
        plugin.offer([Unit(id="a")])
        async with asyncio.TaskGroup() as together:
            task = together.create_task(plugin.run())
            await eventually(lambda: bool(kubelet.introductions))
            task.cancel()
    (introduction,) = kubelet.introductions
    assert introduction.version == "v1beta1"
    assert introduction.resource_name == GPU
    assert introduction.endpoint == "tangram-metax-tech-com-gpu.sock"
    assert introduction.options.pre_start_required
    assert introduction.options.get_preferred_allocation_available == prefers
    assert names_in(directory) == {"kubelet.sock"}


async def test_units_are_told_with_their_health_and_those_of_a_numa_node_with_that_node(
    directory: Path,
) -> None:
    async with FakeKubelet(directory) as kubelet, running(directory) as run:
        run.plugin.offer([Unit(id="b", healthy=False), Unit(id="a", numa=0), Unit(id="c", numa=1)])
        await run.until_registered()
        client = kubelet.plugin(GPU)
        await client.wait_for_devices({"a": "Healthy", "b": "Unhealthy", "c": "Healthy"}, within=PATIENCE)
        told = {
            device.ID: [node.ID for node in device.topology.nodes] if device.HasField("topology") else None
            for device in client.received[-1].devices
        }
        assert told == {"a": [0], "b": None, "c": [1]}


async def test_only_changes_are_sent_and_the_order_of_units_is_none(directory: Path) -> None:
    one, two, sick = Unit(id="a"), Unit(id="b"), Unit(id="b", healthy=False)
    async with FakeKubelet(directory) as kubelet, running(directory) as run:
        assert run.plugin.offer([one, two])
        await run.until_registered()
        client = kubelet.plugin(GPU)
        await client.wait_for_devices({"a": "Healthy", "b": "Healthy"}, within=PATIENCE)
        before = len(client.lists)
        assert not run.plugin.offer([two, one])
        assert not run.plugin.offer((one, two, one))
        assert run.plugin.offer([one, sick])
        await client.wait_for_devices({"a": "Healthy", "b": "Unhealthy"}, within=PATIENCE)
        assert run.plugin.offer([sick, Unit(id="a", numa=1)])
        assert run.plugin.offer([])
        await client.wait_for_devices({}, within=PATIENCE)
        assert before <= 2
        assert client.lists[before] == {"a": "Healthy", "b": "Unhealthy"}
        assert len(client.lists) <= before + 3


async def test_an_id_listed_twice_is_healthy_only_if_nobody_doubts_it(directory: Path) -> None:
    async with FakeKubelet(directory) as kubelet, running(directory) as run:
        run.plugin.offer(
            [Unit(id="a", healthy=False), Unit(id="a"), Unit(id="b"), Unit(id="b", healthy=False)]
        )
        await run.until_registered()
        await kubelet.plugin(GPU).wait_for_devices({"a": "Unhealthy", "b": "Unhealthy"}, within=PATIENCE)


async def test_nothing_is_registered_before_the_units_are_known(directory: Path) -> None:
    async with FakeKubelet(directory) as kubelet:
        plugin = Plugin(directory, GPU, ScriptedAnswers(), prefers=False)
        waiting = asyncio.create_task(plugin.run())
        async with running(directory, "a", resource=SGPU) as other:
            await other.until_registered()
        assert [one.resource_name for one in kubelet.introductions] == [SGPU]
        plugin.offer([])
        await eventually(lambda: len(kubelet.introductions) == 2)
        waiting.cancel()
        await asyncio.wait({waiting})


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        ("metax-tech.com/sgpu", "tangram-metax-tech-com-sgpu.sock"),
        ("mthreads.com/sgpu-memory", "tangram-mthreads-com-sgpu-memory.sock"),
    ],
)
def test_the_socket_is_named_after_the_resource(resource: str, name: str) -> None:
    assert endpoint_of(resource) == name


def test_a_directory_too_deep_for_a_socket_is_refused_with_its_length(tmp_path: Path) -> None:
    with pytest.raises(SocketUnusable, match=r"has \d+ bytes, and a unix socket's path may have 107"):
        Plugin(tmp_path / ("x" * 100), GPU, ScriptedAnswers(), prefers=True)


# ---- answers


async def test_each_container_of_an_allocation_gets_its_own_answer(directory: Path) -> None:
    async with FakeKubelet(directory), running(directory, "a", "b", "c") as run:
        await run.until_registered()
        question = deviceplugin.AllocateRequest(
            container_requests=[
                deviceplugin.ContainerAllocateRequest(devices_ids=["a", "b"]),
                deviceplugin.ContainerAllocateRequest(devices_ids=["c"]),
            ]
        )
        async with open_channel(directory / endpoint_of(GPU)) as channel:
            answer = await ask(channel, deviceplugin.ALLOCATE, question, within=PATIENCE)
        names = [one.cdi_devices[0].name for one in answer.container_responses]
        assert names == ["tangram.dev/test=a-b", "tangram.dev/test=c"]
        assert run.answers.calls == [("allocate", GPU, "a", "b"), ("allocate", GPU, "c")]


async def test_a_preference_is_passed_on_and_one_that_fails_is_empty(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def wrong() -> None:
        raise KeyError("typo")

    async def refused() -> None:
        raise Refusal(grpc.StatusCode.UNAVAILABLE, "not now")

    async with FakeKubelet(directory) as kubelet, running(directory, "a", "b") as run:
        await run.until_registered()
        client = kubelet.plugin(GPU)
        assert await client.prefer(["b", "a"], 1, must=["b"]) == ("b",)
        assert run.answers.calls == [("prefer", GPU, "b", "a", "with", "b")]
        for failing in (wrong, refused):
            run.answers.on_prefer = failing
            assert await client.prefer(["b", "a"], 1) == ()
    assert caplog.text.count("no preference could be found") == 2


async def test_a_refusal_reaches_the_kubelet_word_for_word(directory: Path) -> None:
    async def refused() -> None:
        raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "card gone: ask another")

    async with FakeKubelet(directory) as kubelet, running(directory, "a") as run:
        await run.until_registered()
        run.answers.on_pre_start = run.answers.on_allocate = refused
        client = kubelet.plugin(GPU)
        for call in (client.pre_start, client.allocate):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call("a")
            assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
            assert caught.value.details() == "card gone: ask another"
        run.answers.on_pre_start = None
        await client.pre_start("a")


async def test_an_unforeseen_failure_is_an_error_and_never_an_empty_answer(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def wrong() -> None:
        raise KeyError("typo")

    async with FakeKubelet(directory) as kubelet, running(directory, "a") as run:
        await run.until_registered()
        run.answers.on_pre_start = run.answers.on_allocate = wrong
        client = kubelet.plugin(GPU)
        for call, name in ((client.pre_start, "PreStartContainer"), (client.allocate, "Allocate")):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call("a")
            assert caught.value.code() is grpc.StatusCode.INTERNAL
            assert str(caught.value.details()).startswith(
                f"{name} for {GPU} failed inside Tangram's node agent"
            )
            assert f"{name} failed" in caplog.text
        assert run.plugin.registered
    assert all(getattr(record, "resource", None) == GPU for record in caplog.records if record.exc_info)


# ---- kubelets that come and go


async def test_it_registers_again_with_every_kubelet_that_starts(directory: Path) -> None:
    async with (
        FakeKubelet(directory) as kubelet,
        running(directory, "a") as gpu,
        running(directory, "b", resource=SGPU) as sgpu,
    ):
        for round_ in (1, 2, 3):
            await gpu.until_registered(round_)
            await sgpu.until_registered(round_)
            await kubelet.plugin(GPU).wait_for_devices({"a": "Healthy"}, within=PATIENCE)
            await kubelet.plugin(SGPU).wait_for_devices({"b": "Healthy"}, within=PATIENCE)
            await kubelet.plugin(GPU).allocate("a")
            await kubelet.restart()
        assert gpu.plugin.registration_seconds > 0


async def test_a_dead_kubelets_socket_is_not_mistaken_for_a_kubelet(directory: Path) -> None:
    async with FakeKubelet(directory) as kubelet, running(directory, "a") as run:
        await run.until_registered()
        await kubelet.die()
        await run.until(lambda: not run.plugin.registered)
        assert (directory / "kubelet.sock").is_socket()
        assert run.plugin.registrations == 1
        await kubelet.start()
        await run.until_registered(2)
        await kubelet.plugin(GPU).allocate("a")
        assert len(kubelet.introductions) == 2


async def test_an_agent_that_starts_beside_a_dead_kubelets_socket_waits_for_the_next_kubelet(
    directory: Path,
) -> None:
    kubelet = FakeKubelet(directory)
    await kubelet.start()
    await kubelet.die()
    async with running(directory, "a") as run:
        await eventually(lambda: endpoint_of(GPU) in names_in(directory))
        await kubelet.start()
        await run.until_registered()
        await kubelet.plugin(GPU).wait_for_devices({"a": "Healthy"}, within=PATIENCE)
        await kubelet.die()


async def test_a_socket_that_does_not_listen_yet_is_tried_until_it_does(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kubelet's socket is there a moment before it can be connected to; nothing tells when that moment ends."""
    looks = itertools.count()

    def listened_at_last(_path: Path) -> bool:
        return next(looks) >= 3

    monkeypatch.setattr(registration, "listened_at", listened_at_last)
    async with FakeKubelet(directory) as kubelet, running(directory, "a") as run:
        await run.until_registered()
        assert next(looks) >= 4
        assert len(kubelet.introductions) == 1


async def test_a_list_that_the_kubelet_closes_leads_to_another_registration(directory: Path) -> None:
    """What a kubelet does to the younger of two plugins when the older one ends."""
    async with FakeKubelet(directory) as kubelet, running(directory, "a") as run:
        for round_ in (1, 2, 3):
            await run.until_registered(round_)
            client = kubelet.plugin(GPU)
            await client.wait_for_devices({"a": "Healthy"}, within=PATIENCE)
            await client.close()
        await run.until_registered(4)
        assert len(kubelet.introductions) == 4


async def test_of_two_agents_at_one_socket_the_one_that_stays_is_read_in_the_end(directory: Path) -> None:
    """This kubelet hangs up on whoever registered before; a real one keeps both, and drops both when one ends."""
    async with FakeKubelet(directory) as kubelet, running(directory, "a") as older:
        await older.until_registered()
        async with running(directory, "a", "b") as newer:
            await newer.until(lambda: newer.plugin.registered)
            await older.plugin.drain(1)
            await newer.until(lambda: newer.plugin.registered)
            await kubelet.plugin(GPU).wait_for_devices({"a": "Healthy", "b": "Healthy"}, within=PATIENCE)
            await kubelet.plugin(GPU).allocate("b")
            assert newer.answers.calls == [("allocate", GPU, "b")]


async def test_a_kubelet_that_refuses_is_told_once_and_asked_again_later_or_when_it_is_another(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kubelet = FakeKubelet(directory)
    kubelet.refusal = Refusal(grpc.StatusCode.UNKNOWN, "the ResourceName is invalid")
    await kubelet.start()
    async with running(directory, "a") as run:
        await eventually(lambda: bool(kubelet.introductions))
        assert not run.plugin.registered
        await eventually(lambda: len(kubelet.introductions) == 2)
        kubelet.refusal = None
        await kubelet.restart()
        await run.until_registered()
        await kubelet.die()
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert [record.getMessage() for record in warnings] == [
        f"the kubelet at '{directory}/kubelet.sock' refuses the plugin: UNKNOWN, the ResourceName is invalid"
    ]


async def test_a_directory_that_is_made_later_or_goes_for_a_while_is_waited_for(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plugins = directory / "plugins"
    async with running(plugins, "a") as run:
        await eventually(lambda: "is not a folder" in caplog.text)
        plugins.mkdir()
        kubelet = FakeKubelet(plugins)
        await kubelet.start()
        await run.until_registered()
        await kubelet.die()
        plugins.rename(directory / "away")
        plugins.mkdir()
        await kubelet.start()
        await run.until_registered(2)
        await kubelet.die()


# ---- its end


async def hang_up(run: Run, release: asyncio.Event, begun: asyncio.Event) -> None:
    async def held() -> None:
        begun.set()
        await release.wait()

    run.answers.on_pre_start = held


async def test_draining_lets_a_call_end_then_closes_the_list_and_removes_the_socket(directory: Path) -> None:
    release, begun = asyncio.Event(), asyncio.Event()
    async with FakeKubelet(directory) as kubelet, running(directory, "a") as run:
        await run.until_registered()
        client = kubelet.plugin(GPU)
        await hang_up(run, release, begun)
        async with asyncio.TaskGroup() as together:
            call = together.create_task(client.pre_start("a"))
            await begun.wait()
            draining = together.create_task(run.plugin.drain(PATIENCE))
            await client.allocate("a")
            assert not draining.done()
            assert client.ended is None
            async with open_channel(directory / endpoint_of(GPU)) as channel:
                with pytest.raises(grpc.aio.AioRpcError, match="is ending"):
                    async for _ in _listed(channel):
                        pass
            release.set()
        assert call.done()
        assert await client.wait_for_end(within=PATIENCE) == "OK"
        await asyncio.wait({run.task}, timeout=PATIENCE)
        assert run.task.done()
        assert not run.plugin.registered
        assert len(kubelet.introductions) == 1
    assert names_in(directory) == {"kubelet.sock"}


def _listed(
    channel: grpc.aio.Channel,
) -> grpc.aio.UnaryStreamCall[deviceplugin.Empty, deviceplugin.ListAndWatchResponse]:
    call = channel.unary_stream(
        deviceplugin.LIST_AND_WATCH.path,
        request_serializer=deviceplugin.Empty.SerializeToString,
        response_deserializer=deviceplugin.ListAndWatchResponse.FromString,
    )
    return call(deviceplugin.Empty())


async def test_a_call_that_outlives_the_grace_is_cut_off(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begun = asyncio.Event()
    async with FakeKubelet(directory) as kubelet, running(directory, "a") as run:
        await run.until_registered()
        await hang_up(run, asyncio.Event(), begun)
        call = asyncio.create_task(kubelet.plugin(GPU).pre_start("a"))
        await begun.wait()
        await run.plugin.drain(0.05)
        with pytest.raises(grpc.aio.AioRpcError):
            await call
    assert "calls of the kubelet are cut off" in caplog.text


async def test_draining_a_plugin_that_never_ran_does_nothing(directory: Path) -> None:
    plugin = Plugin(directory, GPU, ScriptedAnswers(), prefers=True)
    await plugin.drain(1)
    await plugin.run()
    assert names_in(directory) == set()


async def test_cancelling_it_removes_the_socket_and_stops_no_other_plugins(directory: Path) -> None:
    async with FakeKubelet(directory) as kubelet, running(directory, "b", resource=SGPU) as other:
        async with running(directory, "a") as run:
            await run.until_registered()
            await other.until_registered()
        assert names_in(directory) == {"kubelet.sock", endpoint_of(SGPU)}
        await kubelet.plugin(SGPU).allocate("b")
