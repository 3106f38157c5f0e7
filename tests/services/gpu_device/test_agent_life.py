"""What happens to the agent and around it: failing cards, restarts, crashes, an API server that is away, and orders."""

import asyncio
import datetime as dt

import pytest

from builders.agent_api import NODE, pod
from builders.agent_runs import GPU, SGPU, AgentRun, agent_on, allocated, slice_limits
from builders.api_server import Object
from builders.waiting import until
from tangram.kube.api import Api
from tangram.sandbox.nodes.device_manager import NotAllocated
from tangram.sandbox.nodes.plugin_client import PluginError
from tangram.services.gpu_device.agent import Agent
from tangram.services.gpu_device.delivery import Delivery
from tangram.services.gpu_device.hardware import Hardware
from tangram.units.memory import from_gib
from tangram.wire.hami import METAX_SLICE_ALLOCATED
from tangram.wire.kubelet.deviceplugin import HEALTHY
from tangram.wire.nodelock import NODE_LOCK

EIGHT = {"server": "c500-8-two-groups"}
SLICED = {"product": "C500", "count": 2, "sliced": True}
MODE = "mode: sgpu"
AGENT = "tangram.dev/agent"


async def sliced_pod(run: AgentRun, name: str, at: int = 0, gib: int = 4) -> Object:
    made = run.api.bind(pod(name, slice_limits(gib, 10)), allocated([(run.uuids[at], gib * 1024, 10)]))
    await run.pods.run(made)
    return made


def reasons(run: AgentRun) -> list[str]:
    return [each["reason"] for each in run.api.events(NODE)]


async def looked(run: AgentRun) -> None:
    """Wait until the agent has looked at its node once more because of something that happened to it."""
    asked = run.pods.resources.questions
    run.api.set_node({"metadata": {"annotations": {"somebody": f"{asked} {run.api.version}"}}})
    await until(lambda: run.pods.resources.questions > asked)


async def settled(run: AgentRun) -> None:
    """Everything has been said, and nothing more comes although the agent looks again and again."""
    before = -1
    while before != len(run.api.writes):
        before = len(run.api.writes)
        for _ in range(4):
            await looked(run)


# ---- health


async def test_a_card_that_fails_leaves_and_comes_back_when_it_recovers() -> None:
    async with agent_on(EIGHT) as run:
        await run.offered(GPU, 8)
        run.order("fail GPU-3")
        units = await run.offered(GPU, 7, 8)
        assert units[run.uuids[3]] != HEALTHY
        await until(lambda: reasons(run) == ["GpuUnhealthy"])
        run.order("recover GPU-3")
        await run.offered(GPU, 8, 8)
        await until(lambda: reasons(run) == ["GpuUnhealthy", "GpuRecovered"])


async def test_a_card_that_vanishes_stays_in_the_capacity() -> None:
    async with agent_on({"product": "C500", "count": 2}) as run:
        gone = run.uuids[1]
        await run.offered(GPU, 2)
        run.order("vanish GPU-1")
        assert (await run.offered(GPU, 1, 2))[gone] != HEALTHY


async def test_a_sliced_card_that_fails_takes_its_own_units_along_and_no_others() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        pods = [await sliced_pod(run, f"p{at}", at % 2) for at in range(4)]
        held = [run.pods.held(each, "c0")[0].ids[0] for each in pods]
        run.order("fail GPU-0")
        units = await run.offered(SGPU, 16, 32)
        assert [units[each] == HEALTHY for each in held] == [False, True, False, True]
        run.order("recover GPU-0")
        await run.offered(SGPU, 32, 32)


async def test_a_running_pod_may_restart_its_container_on_a_card_that_failed() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = await sliced_pod(run, "p")
        run.order("fail GPU-0")
        await run.offered(SGPU, 16, 32)
        await run.pods.start_container(made, "c0")
        assert len(run.slices()) == 1


# ---- the kubelet


async def test_a_kubelet_that_restarts_is_told_everything_again_and_its_pods_keep_what_they_have() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = await sliced_pod(run, "p")
        before = run.slices()
        await run.pods.restart()
        await run.offered(SGPU, 32, 32)
        await run.pods.start_container(made, "c0")
        assert run.slices() == before


async def test_an_agent_that_starts_before_the_kubelet_registers_when_it_comes() -> None:
    async with agent_on(EIGHT, begin=False) as run:
        await run.pods.die()
        run.start()
        await until(lambda: run.agent is not None)
        await run.pods.start()
        await run.offered(GPU, 8)


# ---- crashes


async def test_an_agent_killed_and_started_again_finds_everything_and_writes_nothing() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = await sliced_pod(run, "p")
        await settled(run)
        before, files = run.slices(), run.grants()
        await run.kill()
        run.api.writes.clear()
        run.start()
        await run.offered(SGPU, 32)
        await run.pods.start_container(made, "c0")
        await settled(run)
        assert (run.slices(), run.grants()) == (before, files)
        assert run.api.writes == []


async def test_what_ended_while_no_agent_ran_is_tidied_by_the_next() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        gone, stays = await sliced_pod(run, "gone"), await sliced_pod(run, "stays", 1)
        kept = run.grant_of(stays)
        await run.kill()
        run.api.delete_pod("gone")
        run.pods.forget(gone)
        run.start()
        await until(lambda: len(run.slices()) == 1)
        await until(lambda: list(run.grants()) == [kept.claim])
        assert run.slices()[0].name == kept.slices[0].name


async def test_a_pod_admitted_by_one_agent_is_started_by_the_next_under_the_name_it_was_promised() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = run.api.bind(pod("p", slice_limits(4, 10)), allocated([(run.uuids[0], 4096, 10)]))
        await run.pods.admit(made)
        await run.kill()
        run.start()
        await run.offered(SGPU, 32)
        await run.pods.start_container(made, "c0")
        (device,) = run.pods.answer(made, "c0", SGPU).cdi_devices
        assert device.name == f"tangram.dev/gpu={run.grant_of(made).claim}"


@pytest.mark.parametrize("lost", ["slice", "file", "both"])
async def test_whatever_a_crash_left_undone_the_next_try_completes(lost: str) -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = await sliced_pod(run, "p")
        before = run.grant_of(made)
        await run.kill()
        if lost in ("slice", "both"):
            run.driver.world.remove_slice(before.slices[0].card, before.slices[0].id)
        if lost in ("file", "both"):
            for path in (run.folder / "cdi").iterdir():
                path.unlink()
        run.start()
        await run.offered(SGPU, 32)
        await run.pods.start_container(made, "c0")
        assert run.grant_of(made) == before
        assert [(each.name, each.memory) for each in run.slices()] == [(before.slices[0].name, from_gib(4))]


async def test_a_second_agent_waits_until_the_first_has_gone() -> None:
    async with agent_on(EIGHT) as run:
        await run.offered(GPU, 8)
        introduced = len(run.pods.devices.door.introductions)
        other = AgentRun(run.folder, run.api, run.driver, run.pods)
        other.start()
        try:
            await settled(run)
            assert len(run.pods.devices.door.introductions) == introduced
            await run.stop()
            await until(lambda: len(run.pods.devices.door.introductions) > introduced)
            await other.offered(GPU, 8)
        finally:
            await other.kill()


async def test_the_cluster_hears_of_the_end_before_the_kubelet_does_and_of_the_beginning_again() -> None:
    async with agent_on(EIGHT) as run:
        await run.offered(GPU, 8)
        await until(lambda: run.api.node_annotations.get(AGENT) == "serving")
        assert await run.stop() == 0
        assert run.api.node_annotations[AGENT] == "stopping"
        assert not [path for path in (run.folder / "plugins").iterdir() if path.name.startswith("tangram-")]
        run.start()
        await run.offered(GPU, 8)
        await until(lambda: run.api.node_annotations.get(AGENT) == "serving")


# ---- the API server


async def test_nothing_is_written_while_nothing_changes() -> None:
    async with agent_on(EIGHT) as run:
        await run.offered(GPU, 8)
        await run.pods.run(run.api.bind(pod("p", {GPU: 2})))
        await settled(run)
        run.api.writes.clear()
        await settled(run)
        assert run.api.writes == []


async def test_an_agent_without_an_api_server_offers_cards_and_restarts_containers() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = await sliced_pod(run, "p")
        await run.kill()
        run.api.go_down()
        run.start()
        await run.offered(SGPU, 32)
        await run.pods.start_container(made, "c0")
        assert len(run.slices()) == 1


async def test_while_the_api_server_is_away_nothing_is_taken_from_anybody_and_events_wait() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = await sliced_pod(run, "p")
        bad = run.api.bind(pod("bad", slice_limits(4, 10)))
        await run.pods.admit(bad)
        assert "[allocation-missing]" in await run.refused(bad)
        await until(lambda: bool(run.api.events("bad")))
        first = run.api.events("bad")[0]["count"]
        run.api.go_down()
        run.pods.forget(made)
        assert "[allocation-missing]" in await run.refused(bad)
        asked = run.pods.resources.questions
        run.order("fail GPU-1")
        await until(lambda: run.pods.resources.questions > asked)
        assert len(run.slices()) == 1
        run.api.down = False
        await until(lambda: run.api.events("bad")[0]["count"] > first)
        run.api.delete_pod("p")
        await until(lambda: not run.slices())


# ---- orders of an administrator


async def test_a_cordoned_card_takes_no_new_pods_and_keeps_those_it_has() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = await sliced_pod(run, "p")
        (held,) = run.pods.held(made, "c0")[0].ids
        run.api.set_node({"metadata": {"annotations": {"hami.io/device-cordon": run.uuids[0]}}})
        units = await run.offered(SGPU, 17, 32)
        assert units[held] == HEALTHY
        run.api.set_node({"metadata": {"annotations": {"hami.io/device-cordon": None}}})
        await run.offered(SGPU, 32, 32)


async def test_a_node_in_maintenance_offers_nothing_and_keeps_its_pods() -> None:
    async with agent_on(EIGHT) as run:
        await run.offered(GPU, 8)
        made = run.api.bind(pod("p", {GPU: 2}))
        held = (await run.pods.run(made))["c0"][GPU]
        run.api.set_node({"spec": {"unschedulable": True}})
        units = await run.offered(GPU, 2, 8)
        assert {unit for unit, state in units.items() if state == HEALTHY} == set(held)
        with pytest.raises(NotAllocated):
            await run.pods.admit(run.api.bind(pod("q", {GPU: 1})))
        run.api.set_node({"spec": {"unschedulable": None}})
        await run.offered(GPU, 8, 8)


async def test_a_configuration_with_a_slip_changes_nothing_and_is_told_on_the_node() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        run.configure("mode: sliced")
        await until(lambda: "GpuConfigRefused" in reasons(run))
        (event,) = [each for each in run.api.events(NODE) if each["reason"] == "GpuConfigRefused"]
        assert "native" in event["message"]
        await run.offered(SGPU, 32, 32)


# ---- other ways


def lock_for(name: str) -> str:
    return f"{dt.datetime.now(dt.UTC):%Y-%m-%dT%H:%M:%SZ},default,{name}"


async def test_the_lock_of_another_scheduler_is_released_once_its_pod_is_bound() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        run.api.set_node({"metadata": {"annotations": {NODE_LOCK: lock_for("p")}}})
        written = {
            METAX_SLICE_ALLOCATED: f"{run.uuids[0]},Metax-SGPU,4096,10:;",
            "hami.io/bind-phase": "allocating",
        }
        made = run.api.bind(pod("p", slice_limits(4, 10)), written)
        await until(lambda: NODE_LOCK not in run.api.node_annotations)
        await run.pods.run(made)
        await until(lambda: run.api.pod("p")["metadata"]["annotations"]["hami.io/bind-phase"] == "success")


async def test_a_refused_pod_of_hami_is_told_that_it_failed() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        written = {METAX_SLICE_ALLOCATED: "GPU-none,Metax-SGPU,4096,10:;", "hami.io/bind-phase": "allocating"}
        made = run.api.bind(pod("p", slice_limits(4, 10)), written)
        await run.pods.admit(made)
        await run.refused(made)
        await until(lambda: run.api.pod("p")["metadata"]["annotations"]["hami.io/bind-phase"] == "failed")


async def test_without_cdi_the_answer_carries_the_devices_of_the_only_pod_that_waits() -> None:
    async with agent_on(SLICED, mode=MODE, begin=False) as run:
        run.adjust(delivery=Delivery.DIRECT)
        run.start()
        await run.offered(SGPU, 32)
        made = run.api.bind(pod("p", slice_limits(4, 10)), allocated([(run.uuids[1], 4096, 10)]))
        await known(run)
        await run.pods.run(made)
        answer = run.pods.answer(made, "c0", SGPU)
        (part,) = run.slices()
        assert part.card == run.uuids[1]
        assert answer.envs["METAX_SGPUS"].endswith(f";alias={part.name}")
        assert answer.devices
        assert not answer.cdi_devices
        assert not run.grants()


async def test_without_cdi_two_pods_that_cannot_be_told_apart_get_nothing() -> None:
    async with agent_on(SLICED, mode=MODE, begin=False) as run:
        run.adjust(delivery=Delivery.DIRECT)
        run.start()
        await run.offered(SGPU, 32)
        pods = [
            run.api.bind(pod(name, slice_limits(4, 10)), allocated([(run.uuids[at], 4096, 10)]))
            for at, name in enumerate(("p", "q"))
        ]
        await known(run)
        await run.pods.admit(pods[0])
        assert "[answered-otherwise]" in await run.refused(pods[0])


async def test_without_cdi_the_holder_of_the_lock_is_who_it_is_for() -> None:
    async with agent_on(SLICED, mode=MODE, begin=False) as run:
        run.adjust(delivery=Delivery.DIRECT)
        run.start()
        await run.offered(SGPU, 32)
        for at, name in enumerate(("p", "q")):
            run.api.bind(pod(name, slice_limits(4, 10)), allocated([(run.uuids[at], 4096, 10)]))
        run.api.set_node({"metadata": {"annotations": {NODE_LOCK: lock_for("q")}}})
        await known(run)
        await run.pods.run(run.api.pod("q"))
        assert [each.card for each in run.slices()] == [run.uuids[1]]
        await until(lambda: NODE_LOCK not in run.api.node_annotations)


async def test_without_cdi_whole_cards_are_their_nodes() -> None:
    async with agent_on(EIGHT, begin=False) as run:
        run.adjust(delivery=Delivery.DIRECT)
        run.start()
        await run.offered(GPU, 8)
        made = run.api.bind(pod("p", {GPU: 2}))
        ids = (await run.pods.run(made))["c0"][GPU]
        answer = run.pods.answer(made, "c0", GPU)
        own = [device for device in run.driver.world.devices() if device.uuid in ids]
        assert {each.host_path for each in answer.devices} == {
            path for each in own for path in each.nodes.all
        }


async def known(run: AgentRun) -> None:
    """Wait until the agent has heard of everything the API server has: a pod written last was told of last."""
    await settled(run)


# ---- speed of the calls that hold up every other pod


async def test_a_driver_that_hangs_does_not_hold_up_the_answers_that_end_pods() -> None:
    async with agent_on(EIGHT) as run:
        await run.offered(GPU, 8)
        plugin = run.pods.plugin(GPU)
        run.order("fail GPU-0 hang")
        asked = [plugin.prefer(run.uuids, (), 2), plugin.allocate([run.uuids[1]])]
        try:
            await asyncio.wait_for(asyncio.gather(*asked), 30)
        except PluginError as error:
            pytest.fail(str(error))


async def test_the_folders_of_the_agent_are_made_where_they_are_missing() -> None:
    async with agent_on(EIGHT, begin=False) as run:
        run.adjust(cdi_folder=run.folder / "a" / "cdi", state_folder=run.folder / "b" / "state")
        run.start()
        await run.offered(GPU, 8)
        assert (run.folder / "a" / "cdi").is_dir()
        assert (run.folder / "b" / "state").is_dir()


async def test_an_agent_is_ready_once_the_cards_are_read_the_kubelet_knows_them_and_the_pods_are_known() -> (
    None
):
    async with agent_on(EIGHT, begin=False) as run, Api(run.api.connection) as api:
        unborn = Agent(run.settings, api, Hardware(run.opening))
        assert any("have not been read" in each for each in unborn.unready())
        run.start()
        await run.offered(GPU, 8)
        await until(lambda: run.agent is not None and not run.agent.unready())
        run.api.go_down()
