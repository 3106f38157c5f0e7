"""Whole cards, virtual functions and shared cards through the whole agent: the kubelet's ids are the truth."""

import asyncio
import json
from collections import Counter

import pytest

from builders.agent_api import NODE, pod
from builders.agent_runs import GPU, MT_GPU, AgentRun, agent_on
from builders.waiting import LIMIT_S, until
from tangram.wire.hami import (
    METAX_WHOLE_ALLOCATED,
    METAX_WHOLE_TO_ALLOCATE,
    MTHREADS_ALLOCATED,
    MTHREADS_TO_ALLOCATE,
    decode_allocation,
)
from tangram.wire.koordinator.names import DEVICE_ALLOCATED

EIGHT = {"server": "c500-8-two-groups"}
GROUPS = ({0, 1, 2, 3}, {4, 5, 6, 7})


def written_cards(run: AgentRun, name: str, key: str = METAX_WHOLE_TO_ALLOCATE) -> list[str]:
    text = run.api.pod(name)["metadata"]["annotations"].get(key, "")
    return [each.id for container in decode_allocation(text) for each in container]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8])
async def test_a_pod_gets_as_many_cards_as_it_asks_for_with_their_nodes_and_is_told_which(count: int) -> None:
    async with agent_on(EIGHT) as run:
        await run.offered(GPU, 8)
        made = run.api.bind(pod("p", {GPU: count}))
        ids = (await run.pods.run(made))["c0"][GPU]
        assert len(set(ids)) == count
        assert set(ids) <= set(run.uuids)
        assert set(run.grant_of(made).cards) == set(ids)
        env, nodes = run.edits_of(made)
        own = [device for device in run.driver.world.devices() if device.uuid in ids]
        assert set(nodes) == {path for device in own for path in device.nodes.all}
        assert not env
        await until(lambda: sorted(written_cards(run, "p")) == sorted(ids))


@pytest.mark.parametrize(
    ("count", "rest"),
    [
        pytest.param(4, False, id="figure 2.2: the only four that share a group"),
        pytest.param(2, True, id="figure 2.3: the group of four stays whole"),
    ],
)
async def test_with_two_cards_of_a_group_in_use_the_manuals_choice_is_made(count: int, *, rest: bool) -> None:
    async with agent_on(EIGHT) as run:
        await run.offered(GPU, 8)
        first = run.api.bind(pod("first", {GPU: 2}))
        taken = (await run.pods.run(first))["c0"][GPU]
        # The manual draws cards 1 and 2 of the first group; which group it is makes no difference.
        used = {run.uuids.index(each) for each in taken}
        (group,) = [each for each in GROUPS if used <= each]
        second = run.api.bind(pod("second", {GPU: count}))
        ids = (await run.pods.run(second))["c0"][GPU]
        assert {run.uuids.index(each) for each in ids} == (group - used if rest else {*range(8)} - group)


async def test_a_scheduler_that_promised_cards_is_followed_where_they_are_free() -> None:
    async with agent_on(EIGHT) as run:
        await run.offered(GPU, 8)
        promised = [run.uuids[at] for at in (1, 6)]
        text = "".join(f"{each},Metax-GPU,65536,100:" for each in promised) + ";"
        made = run.api.bind(pod("p", {GPU: 2}), {METAX_WHOLE_ALLOCATED: text})
        plugin = run.pods.plugin(GPU)
        async with asyncio.timeout(LIMIT_S):
            while set(await plugin.prefer(run.uuids, (), 2)) != set(promised):  # noqa: ASYNC110 - an answer, no event
                await asyncio.sleep(0.01)
        assert set((await run.pods.run(made))["c0"][GPU]) == set(promised)


async def test_a_scheduler_is_followed_though_the_kubelet_has_heard_of_the_pod_before_us() -> None:
    async with agent_on(EIGHT) as run:
        await run.offered(GPU, 8)
        promised = [run.uuids[at] for at in (1, 6)]
        text = "".join(f"{each},Metax-GPU,65536,100:" for each in promised) + ";"
        asked = asyncio.create_task(run.pods.plugin(GPU).prefer(run.uuids, (), 2))
        await asyncio.sleep(0.02)
        run.api.bind(pod("p", {GPU: 2}), {METAX_WHOLE_ALLOCATED: text})
        assert set(await asked) == set(promised)


async def test_a_prediction_that_did_not_come_true_is_written_over() -> None:
    async with agent_on(EIGHT) as run:
        await run.offered(GPU, 8)
        (taken,) = (await run.pods.run(run.api.bind(pod("first", {GPU: 1}))))["c0"][GPU]
        wrong = f"{taken},Metax-GPU,65536,100:;"
        made = run.api.bind(pod("p", {GPU: 1}), {METAX_WHOLE_ALLOCATED: wrong})
        ids = (await run.pods.run(made))["c0"][GPU]
        assert ids != (taken,)
        await until(lambda: written_cards(run, "p") == list(ids))


async def test_koord_scheduler_hears_too_that_a_prediction_did_not_come_true() -> None:
    """It counts a pod by what it was told at bind, and would sell the card that the pod really has."""
    async with agent_on(EIGHT) as run:
        await run.offered(GPU, 8)
        (taken,) = (await run.pods.run(run.api.bind(pod("first", {GPU: 1}))))["c0"][GPU]
        resources = {f"koordinator.sh/gpu-{each}": "100" for each in ("core", "memory-ratio")}
        wrong = {"gpu": [{"minor": run.uuids.index(taken), "resources": resources, "id": taken}]}
        told = {
            METAX_WHOLE_ALLOCATED: f"{taken},Metax-GPU,65536,100:;",
            DEVICE_ALLOCATED: json.dumps(wrong),
        }
        (given,) = (await run.pods.run(run.api.bind(pod("p", {GPU: 1}), told)))["c0"][GPU]
        assert given != taken

        def counted() -> list[tuple[int, str]]:
            text = run.api.pod("p")["metadata"]["annotations"][DEVICE_ALLOCATED]
            return [(each["minor"], each["id"]) for each in json.loads(text)["gpu"]]

        await until(lambda: counted() == [(run.uuids.index(given), given)])


async def test_virtual_functions_are_handed_out_one_by_one_and_fill_a_card_first() -> None:
    async with agent_on({"product": "C500", "count": 2, "virtual_functions": 4}, mode="mode: vgpu") as run:
        units = await run.offered(GPU, 8)
        functions = {
            str(each.uuid): str(each.virtual_function_of)
            for each in run.driver.world.devices()
            if each.virtual_function_of is not None
        }
        assert set(units) == set(functions)
        held: list[str] = []
        for number in range(4):
            made = run.api.bind(pod(f"p{number}", {GPU: 1}))
            held += (await run.pods.run(made))["c0"][GPU]
            device = next(each for each in run.driver.world.devices() if each.uuid == held[-1])
            assert set(run.edits_of(made)[1]) == set(device.nodes.all)
        assert len({functions[each] for each in held}) == 1
        counted = METAX_WHOLE_ALLOCATED
        await until(lambda: all(written_cards(run, f"p{number}", counted) for number in range(4)))
        assert written_cards(run, "p0", counted) == [functions[held[0]]]


async def test_a_shared_card_is_offered_as_often_as_configured_and_turns_spread() -> None:
    async with agent_on({"product": "C500", "count": 2}, mode="mode: shared\nshareNums: 3") as run:
        units = await run.offered(GPU, 6)
        assert set(units) == {f"{uuid}-share-{turn}" for uuid in run.uuids for turn in range(3)}
        cards: Counter[str] = Counter()
        for number in range(4):
            made = run.api.bind(pod(f"p{number}", {GPU: 1}))
            await run.pods.run(made)
            cards.update(str(each) for each in run.grant_of(made).cards)
        assert cards == Counter(dict.fromkeys(run.uuids, 2))


async def test_whole_cards_of_moore_threads_come_as_the_variable_of_their_runtime() -> None:
    async with agent_on({"product": "S4000", "count": 4, "sliced": False}) as run:
        await run.offered(MT_GPU, 4)
        made = run.api.bind(pod("p", {MT_GPU: 2}))
        ids = (await run.pods.run(made))["c0"][MT_GPU]
        numbers = sorted(run.uuids.index(each) for each in ids)
        env, nodes = run.edits_of(made)
        assert env == {"MTHREADS_VISIBLE_DEVICES": ",".join(map(str, numbers))}
        assert not nodes
        await until(lambda: sorted(written_cards(run, "p", MTHREADS_TO_ALLOCATE)) == sorted(ids))
        made_up = [f"{NODE}-mthreads-{number}" for number in numbers]
        assert sorted(written_cards(run, "p", MTHREADS_ALLOCATED)) == made_up


async def test_two_containers_never_share_a_card_and_each_is_told_its_own() -> None:
    async with agent_on(EIGHT) as run:
        await run.offered(GPU, 8)
        made = run.api.bind(pod("p", {GPU: 3}, {GPU: 5}))
        given = await run.pods.run(made)
        assert not set(given["c0"][GPU]) & set(given["c1"][GPU])
        assert set(run.grant_of(made, "c0").cards) == set(given["c0"][GPU])
        assert set(run.grant_of(made, "c1").cards) == set(given["c1"][GPU])

        def told() -> list[set[str]]:
            text = run.api.pod("p")["metadata"]["annotations"].get(METAX_WHOLE_TO_ALLOCATE, "")
            return [{each.id for each in container} for container in decode_allocation(text)]

        await until(lambda: told() == [set(given["c0"][GPU]), set(given["c1"][GPU])])


async def test_the_node_says_which_cards_are_left() -> None:
    async with agent_on(EIGHT) as run:
        await run.offered(GPU, 8)
        await run.pods.run(run.api.bind(pod("p", {GPU: 2})))
        await run.published("metax-tech.com/gpu.topology.scores")

        def sizes() -> list[int]:
            return sorted(
                int(each)
                for each in json.loads(run.api.node_annotations["metax-tech.com/gpu.topology.scores"])
            )

        await until(lambda: sizes() == [1, 2, 3, 4, 5, 6])
