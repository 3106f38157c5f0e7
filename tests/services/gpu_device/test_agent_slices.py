"""Slices through the whole agent: made when a container starts, the same after any restart, gone with the pod."""

import asyncio
import json

import pytest

from builders.agent_api import pod
from builders.agent_runs import GPU, MT_CORE, MT_MEMORY, SGPU, AgentRun, agent_on, allocated, slice_limits
from builders.api_server import Object
from builders.waiting import until
from tangram.units.memory import from_gib
from tangram.vendors.metax.names import APP_CLASS
from tangram.wire.hami import METAX_SLICE_ALLOCATED, MTHREADS_ALLOCATED

SLICED = {"product": "C500", "count": 2, "sliced": True}
MODE = "mode: sgpu"
QOS = {"metax-tech.com/sgpu-qos-policy": "fixed-share"}


def sold(run: AgentRun) -> list[tuple[str, int, int]]:
    return sorted((str(each.card), each.memory // from_gib(1), each.cores) for each in run.slices())


async def nothing_left(run: AgentRun) -> None:
    await until(lambda: not run.slices() and not run.grants())


async def started(run: AgentRun, name: str, *parts: tuple[int, int, int]) -> Object:
    """A pod with one container and those slices: card, GiB and percent."""
    held = [(run.uuids[at], gib * 1024, cores) for at, gib, cores in parts]
    _, gib, cores = parts[0]
    made = run.api.bind(pod(name, slice_limits(gib, cores, len(parts))), allocated(held))
    await run.pods.run(made)
    return made


async def test_a_slice_is_made_as_promised_and_the_container_learns_its_name() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = await started(run, "p", (1, 4, 25))
        (part,) = run.slices()
        assert (part.card, part.memory, part.cores) == (run.uuids[1], from_gib(4), 25)
        env, nodes = run.edits_of(made)
        card = next(each for each in run.driver.world.devices() if each.uuid == run.uuids[1])
        assert nodes == list(card.nodes.all)
        assert env["METAX_SGPUS"] == f"sgpu={card.bdf}#{part.id};compute=25;vram=4096;alias={part.name}"


async def test_an_online_pod_starts_on_a_card_whose_compute_is_all_sold() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        for name, cores, app_class in (("batch", 100, "offline"), ("web", 30, "online")):
            asked = pod(name, slice_limits(4, cores), annotations={APP_CLASS: app_class})
            made = run.api.bind(asked, allocated([(run.uuids[0], 4096, cores)]))
            await run.pods.run(made)
        assert sorted((part.cores, part.online) for part in run.slices()) == [(0, True), (100, False)]
        assert "compute=0;vram=4096;" in run.edits_of(made)[0]["METAX_SGPUS"]


async def test_sixteen_pods_at_once_each_get_their_own_slice_and_a_gone_pod_leaves_nothing() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        pods = [
            run.api.bind(pod(f"p{at}", slice_limits(2, 5)), allocated([(run.uuids[at % 2], 2048, 5)]))
            for at in range(16)
        ]
        for each in pods:
            await run.pods.admit(each)
        await asyncio.gather(*(run.pods.start_container(each, "c0") for each in pods))
        assert sold(run) == sorted((run.uuids[at % 2], 2, 5) for at in range(16))
        names = [run.edits_of(each)[0]["METAX_SGPUS"].rpartition("alias=")[2] for each in pods]
        assert len(set(names)) == 16
        for each in pods:
            run.api.delete_pod(each["metadata"]["name"])
            run.pods.forget(each)
        await nothing_left(run)


async def test_a_container_of_two_cards_has_a_slice_of_each() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = await started(run, "p", (0, 4, 10), (1, 4, 10))
        assert sold(run) == sorted((uuid, 4, 10) for uuid in run.uuids)
        assert len(run.grant_of(made).slices) == 2


async def test_a_container_that_restarts_finds_the_slice_it_had() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = await started(run, "p", (0, 4, 10))
        before, files = run.slices(), run.grants()
        await run.pods.start_container(made, "c0")
        assert run.slices() == before
        assert run.grants() == files


async def test_the_first_tenant_sets_the_policy_of_its_card() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        held = allocated([(run.uuids[0], 4096, 10)])
        await run.pods.run(run.api.bind(pod("p", slice_limits(4, 10), annotations=QOS), held))
        assert str(run.driver.room(run.driver.world.devices()[0].uuid).policy) == "fixed-share"


async def test_a_slice_in_use_stays_until_its_processes_are_gone() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = await started(run, "p", (0, 4, 10))
        run.order("use GPU-0/0")
        run.api.delete_pod("p")
        run.pods.forget(made)
        other = await started(run, "q", (1, 4, 10))
        run.api.delete_pod("q")
        run.pods.forget(other)
        await until(lambda: [str(each.card) for each in run.slices()] == [run.uuids[0]])
        run.order("release GPU-0/0")
        await nothing_left(run)


async def test_a_pod_that_the_kubelet_still_shows_keeps_its_slice() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        first, second = await started(run, "p", (0, 4, 10)), await started(run, "q", (1, 4, 10))
        run.api.delete_pod("p")
        run.api.delete_pod("q")
        run.pods.forget(second)
        await until(lambda: len(run.slices()) == 1)
        assert [each.card for each in run.slices()] == [run.uuids[0]]
        run.pods.forget(first)
        await nothing_left(run)


async def test_a_new_pod_of_an_old_name_gets_a_slice_of_its_own() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        old = await started(run, "p", (0, 4, 10))
        (before,) = run.slices()
        run.api.delete_pod("p")
        run.pods.forget(old)
        await started(run, "p", (1, 8, 20))
        await until(lambda: sold(run) == [(run.uuids[1], 8, 20)])
        assert before.name != run.slices()[0].name


# ---- init containers


async def test_an_init_container_and_the_one_that_takes_over_its_ids_share_one_slice_of_the_larger_size() -> (
    None
):
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        held = allocated([(run.uuids[0], 8192, 10)], [(run.uuids[0], 4096, 20)])
        made = run.api.bind(pod("p", slice_limits(4, 20), init=[slice_limits(8, 10)]), held)
        given = await run.pods.admit(made)
        assert given["i0"] == given["c0"]
        await run.pods.start_container(made, "i0")
        assert sold(run) == [(run.uuids[0], 8, 20)]
        assert set(run.grants()) == {run.grant_of(made, "i0").claim, run.grant_of(made, "c0").claim}
        await run.pods.start_container(made, "c0")
        assert sold(run) == [(run.uuids[0], 8, 20)]
        run.api.delete_pod("p")
        run.pods.forget(made)
        await nothing_left(run)


async def test_the_slice_of_an_init_container_with_ids_of_its_own_goes_when_the_next_starts() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        held = allocated(
            [(run.uuids[0], 4096, 10), (run.uuids[1], 4096, 10)], [(run.uuids[1], 60 * 1024, 95)]
        )
        made = run.api.bind(pod("p", slice_limits(60, 95), init=[slice_limits(4, 10, 2)]), held)
        await run.pods.admit(made)
        await run.pods.start_container(made, "i0")
        assert len(run.slices()) == 2
        await run.pods.start_container(made, "c0")
        assert sold(run) == [(run.uuids[1], 60, 95)]


# ---- Moore Threads


def mthreads_held(run: AgentRun, at: int, gib: int, cores: int) -> dict[str, str]:
    return {MTHREADS_ALLOCATED: f"{run.uuids[at]},Mthreads,{gib * 1024},{cores}:;"}


async def test_a_slice_of_moore_threads_is_left_to_their_runtime_with_the_variables_it_reads() -> None:
    async with agent_on({"product": "S4000", "count": 2}) as run:
        await run.offered(MT_CORE, 32)
        await run.offered(MT_MEMORY, 192)
        limits = {"mthreads.com/vgpu": 1, MT_MEMORY: 32, MT_CORE: 8}
        made = run.api.bind(pod("p", limits), mthreads_held(run, 1, 16, 8))
        given = await run.pods.run(made)
        assert (len(given["c0"][MT_MEMORY]), len(given["c0"][MT_CORE])) == (32, 8)
        assert run.edits_of(made) == (
            {
                "MTHREADS_VISIBLE_DEVICES": "1",
                "MTHREADS_QOS_MEMORY_LIMIT": str(from_gib(16)),
                "MTHREADS_QOS_COMPUTING_POWER_WEIGHT": "8",
                "MTHREADS_ALLOCATED_SGPU_MEMORY_DEVICES": "32",
                "MTHREADS_ALLOCATED_SGPU_CORE_DEVICES": "8",
            },
            [],
        )
        carried, alone = (run.pods.answer(made, "c0", each) for each in (MT_MEMORY, MT_CORE))
        assert len(carried.cdi_devices) == 1
        assert not alone.cdi_devices
        assert len(run.grants()) == 1


async def test_compute_without_memory_brings_no_card_and_is_refused() -> None:
    async with agent_on({"product": "S4000"}) as run:
        await run.offered(MT_CORE, 16)
        made = run.api.bind(pod("p", {MT_CORE: 8}), mthreads_held(run, 0, 16, 8))
        await run.pods.admit(made)
        assert "[memory-missing]" in await run.refused(made)


# ---- mixed nodes


async def test_a_mixed_node_sells_some_cards_whole_and_the_rest_in_slices() -> None:
    cards = ({"product": "C500", "count": 4},)
    async with agent_on(*cards, mode="mode: mixed\nslicedCards: [0, 1]") as run:
        await run.offered(SGPU, 32)
        assert set(await run.offered(GPU, 2, 2)) == set(run.uuids[2:])
        await started(run, "p", (0, 4, 10))
        whole = run.api.bind(pod("q", {GPU: 2}))
        assert set((await run.pods.run(whole))["c0"][GPU]) == set(run.uuids[2:])


async def test_a_card_changes_its_mode_only_when_nobody_holds_it() -> None:
    async with agent_on({"product": "C500", "count": 2}) as run:
        await run.offered(GPU, 2)
        made = run.api.bind(pod("p", {GPU: 1}))
        (busy,) = (await run.pods.run(made))["c0"][GPU]
        run.configure(MODE)
        await run.offered(SGPU, 16)
        assert [str(each.uuid) for each in run.driver.world.devices() if each.sliced is not True] == [busy]
        run.api.delete_pod("p")
        run.pods.forget(made)
        await run.offered(SGPU, 32)
        await run.offered(GPU, 0, 0)


async def test_the_cluster_is_told_that_a_card_is_closed_before_it_changes() -> None:
    async with agent_on({"product": "C500"}) as run:
        await run.offered(GPU, 1)
        await run.published("tangram.dev/node-inventory")
        run.api.writes.clear()
        run.configure(MODE)
        await run.offered(SGPU, 16)
        texts = [
            str(body) for method, path, body in run.api.writes if method == "PATCH" and "/nodes/" in path
        ]
        assert "about to be offered in another way" in texts[0]


# ---- other schedulers


@pytest.mark.parametrize("by", ["hami", "koordinator"])
async def test_pods_of_other_schedulers_are_served(by: str) -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        if by == "hami":
            written = {METAX_SLICE_ALLOCATED: f"{run.uuids[0]},Metax-SGPU,4096,10:;"}
            made = run.api.bind(
                pod("p", slice_limits(4, 10)), {**written, "hami.io/bind-phase": "allocating"}
            )
        else:
            resources = {"koordinator.sh/gpu-core": "10", "koordinator.sh/gpu-memory": "4Gi"}
            device = {"minor": 0, "id": run.uuids[0], "resources": resources}
            written = {"scheduling.koordinator.sh/device-allocated": json.dumps({"gpu": [device]})}
            made = run.api.bind(pod("p", slice_limits(4, 10)), written)
        await run.pods.run(made)
        assert sold(run) == [(run.uuids[0], 4, 10)]
        if by == "hami":
            await until(
                lambda: run.api.pod("p")["metadata"]["annotations"]["hami.io/bind-phase"] == "success"
            )


async def test_a_static_pod_is_served_under_the_uid_that_the_kubelet_knows() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        mirror = {"kubernetes.io/config.hash": "ab" * 16, "kubernetes.io/config.mirror": "ab" * 16}
        held = allocated([(run.uuids[0], 4096, 10)])
        await run.pods.run(run.api.bind(pod("p", slice_limits(4, 10), annotations=mirror), held))
        (grant,) = run.grants().values()
        assert grant.pod.uid == "ab" * 16
        assert sold(run) == [(run.uuids[0], 4, 10)]
