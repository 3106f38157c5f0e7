"""While many pods wait they are decided about in their order, before anybody asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from builders.scheduling import World, metax_cards, node, pod
from tangram.services.scheduler import nominating
from tangram.services.scheduler.nominating import Nominator
from tangram.services.scheduler.outcomes import Answered
from tangram.units.ids import PodUid

WHOLE = {"metax-tech.com/sgpu": 1}
HALF = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 8}


@asynccontextmanager
async def looking_ahead(world: World, *, may: bool = True) -> AsyncGenerator[Nominator]:
    nominator = Nominator(world.state, world.api, lambda: may)
    world.state.arrived = nominator.wake
    task = asyncio.create_task(nominator.run())
    try:
        yield nominator
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, BaseExceptionGroup):
            await task


async def settled() -> None:
    await asyncio.sleep(nominating.SETTLE_S * 2 + 0.05)


def nominated(world: World, name: str) -> str:
    return world.pods["default", name]["status"].get("nominatedNodeName", "")


async def test_pods_that_wait_together_are_promised_and_nominated_before_they_are_asked_about() -> None:
    world = World(node("a", metax_cards("a", 2)), node("b", metax_cards("b", 2)))
    async with looking_ahead(world):
        for number in range(4):
            world.create(pod(f"p{number}", WHOLE))
        await settled()
    assert sorted(nominated(world, f"p{number}") for number in range(4)) == ["a", "a", "b", "b"]
    for number in range(4):
        answer, verdict = world.filter_with_verdict(f"p{number}", [nominated(world, f"p{number}")])
        assert answer["NodeNames"] == [nominated(world, f"p{number}")]
        assert verdict is not None
        assert verdict.answered is Answered.AHEAD


async def test_a_pod_that_comes_alone_costs_no_write() -> None:
    world = World(node("a"))
    async with looking_ahead(world) as nominator:
        world.create(pod("p"))
        await settled()
        assert nominator.writes == 0
    assert len(world.state.reservations) == 0


async def test_the_more_important_pod_is_decided_about_first() -> None:
    world = World(node("a", metax_cards("a", 1)))
    async with looking_ahead(world):
        world.create(pod("low", WHOLE, priority=1))
        world.create(pod("high", WHOLE, priority=9))
        await settled()
    assert nominated(world, "high") == "a"
    assert nominated(world, "low") == ""


async def test_a_promise_that_nobody_asked_for_gives_way_to_a_more_important_pod() -> None:
    world = World(node("a", metax_cards("a", 2)))
    async with looking_ahead(world):
        for name, priority in (("low", 1), ("lower", 0)):
            world.create(pod(name, WHOLE, priority=priority))
        await settled()
        assert len(world.state.reservations) == 2
        world.create(pod("vip", WHOLE, priority=10))
        assert await world.schedule("vip") == "a"
        assert await world.schedule("low") == "a", "no more than was needed"
        assert not world.filter("lower")["NodeNames"]


async def test_a_promise_does_not_give_way_to_an_equal_nor_where_that_would_not_help() -> None:
    world = World(node("a", metax_cards("a", 2)))
    world.create(pod("bound", WHOLE, priority=5))
    await world.schedule("bound")
    async with looking_ahead(world):
        for name in ("one", "two"):
            world.create(pod(name, HALF, priority=5))
        await settled()
        assert len(world.state.reservations) == 2
        world.create(pod("equal", WHOLE, priority=5))
        world.create(pod("large", {"metax-tech.com/sgpu": 2}, priority=9))
        for name in ("equal", "large"):
            assert not world.filter(name)["NodeNames"]
        assert len(world.state.reservations) == 2


async def test_a_standby_promises_and_writes_nothing() -> None:
    world = World(node("a"))
    async with looking_ahead(world, may=False) as nominator:
        for number in range(4):
            world.create(pod(f"p{number}"))
        await settled()
        assert nominator.writes == 0
    assert len(world.state.reservations) == 0


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"spec": {"schedulingGates": [{"name": "wait"}]}}, id="gated"),
        pytest.param(
            {"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "x"}}]}}, id="with a volume"
        ),
        pytest.param(
            {
                "spec": {
                    "affinity": {
                        "podAntiAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]
                        }
                    }
                }
            },
            id="that looks at other pods",
        ),
        pytest.param({"scheduler": "somebody-else"}, id="of another scheduler"),
    ],
)
async def test_pods_that_others_decide_about_are_left_alone(more: dict[str, Any]) -> None:
    world = World(node("a"))
    async with looking_ahead(world) as nominator:
        for number in range(3):
            world.create(pod(f"p{number}", **more))
        await settled()
        assert nominator.writes == 0
    assert len(world.state.reservations) == 0


async def test_a_nomination_of_somebody_else_is_left_alone() -> None:
    world = World(node("a"), node("b"))
    async with looking_ahead(world):
        for number in range(3):
            made = pod(f"p{number}")
            made["status"]["nominatedNodeName"] = "b"
            world.create(made)
        await settled()
    assert len(world.state.reservations) == 0


async def test_a_nominated_node_that_kube_scheduler_does_not_offer_is_given_up() -> None:
    world = World(node("a", metax_cards("a", 1)), node("b", metax_cards("b", 1)))
    async with looking_ahead(world):
        for number in range(2):
            world.create(pod(f"p{number}", WHOLE))
        await settled()
    first = nominated(world, "p0")
    other = "b" if first == "a" else "a"
    world.delete("p1")
    assert world.filter("p0", [other])["NodeNames"] == [other]
    assert len(world.state.reservations) == 1


async def test_promises_made_ahead_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nominating, "MOST_AHEAD", 5)
    world = World(node("a", metax_cards("a", 8)))
    async with looking_ahead(world):
        for number in range(12):
            world.create(pod(f"p{number}"))
        await settled()
    assert world.state.reservations.ahead() == 5


async def test_a_pod_that_asks_for_something_else_meanwhile_loses_its_promise() -> None:
    world = World(node("a", metax_cards("a", 2)))
    async with looking_ahead(world):
        for number in range(2):
            world.create(pod(f"p{number}"))
        await settled()
        uid = PodUid("uid-p0")
        assert world.state.reservations.of(uid) is not None
        world.pods["default", "p0"]["metadata"]["annotations"]["hami.io/gpu-scheduler-policy"] = "mutex"
        world.hear("default", "p0")
        assert world.state.reservations.of(uid) is None


async def test_a_nomination_that_kube_scheduler_takes_back_without_asking_gives_the_cards_to_others() -> None:
    world = World(node("a", metax_cards("a", 1)))
    async with looking_ahead(world):
        world.create(pod("first", WHOLE, priority=1))
        world.create(pod("second", WHOLE))
        await settled()
    world.hear("default", "first")
    assert nominated(world, "first") == "a"
    assert not world.filter("second")["NodeNames"]
    # Something else of the node is used up, so it never comes to the question about cards.
    world.pods["default", "first"]["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
    }
    world.hear("default", "first")
    assert world.filter("second")["NodeNames"] == ["a"]


async def test_a_pod_whose_nomination_is_yet_to_be_written_keeps_its_promise() -> None:
    world = World(node("a", metax_cards("a", 2)))
    async with looking_ahead(world):
        for number in range(2):
            world.create(pod(f"p{number}", WHOLE))
        await settled()
    world.pods["default", "p0"]["status"] = {"phase": "Pending"}
    world.hear("default", "p0")
    assert len(world.state.reservations) == 2
