"""HAMi's defects in choosing nodes and cards, played against our verbs. `docs/hami-defects.md` says what each was."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping

import pytest

from builders.closed_nodes import closed_node, counted_node
from builders.scheduling import World, metax_cards, mthreads_cards, node, pod
from tangram.model.cards import CardMode
from tangram.services.scheduler.outcomes import Answered
from tangram.wire.metax_topology import LOSSES, SCORES

GPU = {"metax-tech.com/gpu": 1}
TWO_GPUS = {"metax-tech.com/gpu": 2}
SMALL = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 10, "metax-tech.com/vmemory": 4}
VGPU = "hami.io/mthreads-vgpu-devices-allocated"
VGPU_NAMED = "hami.io/mthreads-vgpu-devices-to-allocate"
SGPU = "hami.io/metax-sgpu-devices-allocated"
POLICY = "hami.io/node-scheduler-policy"


def written(world: World, name: str, key: str) -> str:
    return world.pods["default", name]["metadata"]["annotations"][key]


def container(name: str, limits: Mapping[str, str | int]) -> dict[str, object]:
    return {"name": name, "resources": {"limits": dict(limits)}}


async def test_b1_two_containers_with_whole_cards_are_placed_on_two_cards() -> None:
    world = World(node("a", metax_cards("a", 2, mode=CardMode.WHOLE)))
    world.create(pod("p", spec={"containers": [container("one", GPU), container("two", GPU)]}))
    assert await world.schedule("p") == "a"
    given = written(world, "p", "hami.io/metax-gpu-devices-to-allocate").split(";")
    assert {each.partition(",")[0] for each in given if each} == {"GPU-a-0", "GPU-a-1"}


async def test_b3_and_2987_seven_cards_are_seven_cards_and_never_none() -> None:
    world = World(node("a", mthreads_cards("a", 8)))
    world.create(pod("p", {"mthreads.com/vgpu": 7}))
    assert await world.schedule("p") == "a"
    assert written(world, "p", VGPU).count("Mthreads") == 7


@pytest.mark.parametrize("amount", ["-1", "0", "1.5", "many", "99999999999999999999"])
async def test_b3_an_amount_out_of_range_passes_no_node_even_where_no_webhook_saw_it(amount: str) -> None:
    world = World(node("a"), node("b", mthreads_cards("b")))
    for resource in ("metax-tech.com/sgpu", "mthreads.com/vgpu"):
        world.create(pod("p", {resource: amount}))
        answer = world.filter("p")
        assert not answer["NodeNames"]
        assert sorted(answer["FailedAndUnresolvableNodes"]) == ["a", "b"]
        assert not (await world.bind("p", "a")).done
        assert world.node_of("p") == ""
        world.delete("p")


@pytest.mark.parametrize("policy", ["spread", "binpack"])
async def test_b5_and_b27_a_node_without_figures_of_its_links_never_beats_one_with_them(policy: str) -> None:
    figures = {SCORES: '{"1":10,"2":20}', LOSSES: '{"1":1,"2":2}'}
    amounts = {"metax-tech.com/gpu": 4}
    for silent in ({}, {SCORES: "{", LOSSES: "nothing"}):
        world = World(
            counted_node("silent", amounts, annotations=silent),
            counted_node("well", amounts, annotations=figures),
        )
        world.create(pod("p", TWO_GPUS, annotations={POLICY: policy}))
        assert world.filter("p")["NodeNames"] == ["well"]


async def test_b8_an_exclusive_pod_gets_all_eighty_gib_of_its_card() -> None:
    world = World(node("a", mthreads_cards("a", 1, memory=80)))
    world.create(pod("p", {"mthreads.com/vgpu": 1}))
    assert await world.schedule("p") == "a"
    assert written(world, "p", VGPU).split(",")[2] == str(80 * 1024)


async def test_b11_two_containers_of_an_online_pod_share_an_idle_card() -> None:
    world = World(node("a", metax_cards("a", 1)))
    both = {"containers": [container("one", SMALL), container("two", SMALL)]}
    world.create(pod("p", annotations={"metax-tech.com/sgpu-app-class": "online"}, spec=both))
    assert await world.schedule("p") == "a"
    assert written(world, "p", SGPU).count("GPU-a-0") == 2


async def test_b13_a_list_of_moore_threads_cards_is_compared_with_their_real_ids() -> None:
    world = World(node("a", mthreads_cards("a", 3)))
    wish = {"mthreads.com/vgpu": 1, "mthreads.com/sgpu-memory": 2, "mthreads.com/sgpu-core": 1}
    world.create(pod("p", wish, annotations={"mthreads.ai/use-gpuuuid": "MT-a-2"}))
    assert await world.schedule("p") == "a"
    assert written(world, "p", VGPU).startswith("a-mthreads-2,")
    assert written(world, "p", VGPU_NAMED).startswith("MT-a-2,")
    # The ids that HAMi makes up mean the cards of these numbers still, and an id of no card means none.
    world.create(pod("old", wish, annotations={"mthreads.ai/use-gpuuuid": "a-mthreads-0"}))
    assert await world.schedule("old") == "a"
    assert written(world, "old", VGPU_NAMED).startswith("MT-a-0,")
    world.create(pod("none", wish, annotations={"mthreads.ai/use-gpuuuid": "a-mthreads-3"}))
    assert not world.filter("none")["NodeNames"]


async def test_b30_of_equal_nodes_the_same_is_chosen_in_whatever_order_they_come() -> None:
    chosen: set[str] = set()
    for names in itertools.permutations("abcd"):
        world = World(*(node(name) for name in "abcd"))
        world.create(pod("p"))
        chosen.update(world.filter("p", names)["NodeNames"])
    assert chosen == {"a"}


async def test_b32_every_container_of_a_moore_threads_pod_is_told_the_one_card_it_has() -> None:
    world = World(node("a", mthreads_cards("a", 2)))
    part = {"mthreads.com/vgpu": 1, "mthreads.com/sgpu-memory": 64, "mthreads.com/sgpu-core": 8}
    world.create(pod("other", part))
    assert await world.schedule("other") == "a"
    world.create(pod("p", part, spec={"initContainers": [container("first", part)]}))
    assert await world.schedule("p") == "a"
    index = written(world, "p", "mthreads.com/gpu-index")
    cards = {each.partition(",")[0] for each in written(world, "p", VGPU_NAMED).split(";") if each}
    assert cards == {f"MT-a-{index}"}


async def test_b36_what_a_node_says_counts_in_the_very_next_answer() -> None:
    world = World(closed_node("a", 1))
    world.create(pod("p", SMALL))
    assert world.filter("p")["NodeNames"] == ["a"]
    listing = json.loads(world.nodes["a"]["metadata"]["annotations"]["metax-tech.com/node-gpu-devices"])
    sick = [{**card, "healthy": False} for card in listing]
    world.put_node(closed_node("a", 1, **{"metax-tech.com/node-gpu-devices": json.dumps(sick)}))
    assert not world.filter("p")["NodeNames"]


async def test_b40_that_a_node_has_too_few_cards_is_among_the_reasons() -> None:
    world = World(node("a", metax_cards("a", 2, mode=CardMode.WHOLE)))
    world.create(pod("p", {"metax-tech.com/gpu": 3}))
    answer, verdict = world.filter_with_verdict("p")
    assert verdict is not None
    assert verdict.answered is Answered.UNFIT
    assert "NodeInsufficientDevice" in verdict.words
    assert any("NodeInsufficientDevice" in text for text in verdict.texts)
    assert "NodeInsufficientDevice" in {**answer["FailedNodes"], **answer["FailedAndUnresolvableNodes"]}["a"]


async def test_1075_more_cards_than_there_are_is_a_no_and_the_next_pod_is_served() -> None:
    figures = {SCORES: '{"1":10,"2":20}', LOSSES: '{"1":1,"2":2}'}
    world = World(counted_node("a", {"metax-tech.com/gpu": 2}, annotations=figures))
    world.create(pod("greedy", {"metax-tech.com/gpu": 9}))
    world.create(pod("modest", GPU))
    assert not world.filter("greedy")["NodeNames"]
    assert await world.schedule("modest") == "a"
