"""Room for a more important pod where kube-scheduler cannot see that any is missing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress

import pytest

from builders.scheduling import World, metax_cards, node, pod, silence
from tangram.engine.preempt import Preemption
from tangram.kube.informer import Change, Key
from tangram.model.pods import PodRef
from tangram.services.scheduler import preempting
from tangram.services.scheduler.outcomes import Answered
from tangram.services.scheduler.preempting import Preempting
from tangram.units.ids import NodeName, PodUid
from tangram.wire.disruption import read_budget

HALF = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 16}
WHOLE = {"metax-tech.com/sgpu": 1}


class Court:
    """A full node, and somebody who makes room on it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.told: list[tuple[PodRef, Preemption]] = []
        self.counted: list[str] = []
        self.wrote: list[str] = []
        self.preempting = Preempting(
            world.state,
            world.api,
            lambda: True,
            lambda ref, found: self.told.append((ref, found)),
            counted=self.counted.append,
            wrote=self.wrote.append,
        )

    async def ask(self, name: str) -> Answered | None:
        """Filter, and whatever follows from it."""
        answer, verdict = self.world.filter_with_verdict(name)
        if verdict is not None and verdict.answered is Answered.UNFIT:
            seen = self.world.state.waiting[PodUid(f"uid-{name}")]
            assert seen.waiting is not None
            self.preempting.consider(seen.waiting, map(NodeName, self.world.nodes))
            async with _running(self.preempting):
                # Turns of the loop and not time: on a busy machine none may fit into a few milliseconds.
                for _ in range(500):
                    await asyncio.sleep(0)
        assert answer is not None
        return None if verdict is None else verdict.answered

    def budget(self, name: str, selector: Mapping[str, object], *, allowed: int) -> None:
        written = {
            "metadata": {"namespace": "default", "name": name},
            "spec": {"selector": selector},
            "status": {"disruptionsAllowed": allowed},
        }
        self.preempting.budget_changed(Change(Key("default", name), None, read_budget(written)))


@asynccontextmanager
async def _running(court_of: Preempting) -> AsyncGenerator[None]:
    task = asyncio.create_task(court_of.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def full(*priorities: int, cards: int = 1) -> Court:
    world = World(node("a", metax_cards("a", cards)))
    for number, priority in enumerate(priorities):
        world.create(pod(f"p{number}", HALF, priority=priority, labels={"app": f"p{number}"}))
        assert await world.schedule(f"p{number}") == "a"
    return Court(world)


async def test_the_least_important_pod_whose_cards_make_room_is_evicted_and_the_room_is_held() -> None:
    court = await full(5, 1)
    world = court.world
    world.create(pod("vip", HALF, priority=10))
    assert await court.ask("vip") is Answered.UNFIT
    assert world.evicted == ["p1"]
    assert world.pods["default", "vip"]["status"]["nominatedNodeName"] == "a"
    assert [str(ref) for ref, _ in court.told] == ["default/vip"]
    assert (court.counted, court.wrote) == (["done"], ["eviction", "nomination"]), (
        "a dry run counts for nothing"
    )
    world.create(pod("late", HALF, priority=10))
    assert not world.filter("late")["NodeNames"], "the room is held against an equal"
    answer, verdict = world.filter_with_verdict("vip")
    assert verdict is not None
    assert verdict.answered is Answered.ROOM
    assert answer["Error"] == "room is being made on a: 1 pod has to end there first"
    world.delete("p1")
    assert not world.filter("late")["NodeNames"], "and still, when the victim has gone"
    assert await world.schedule("vip") == "a"


async def test_nobody_is_evicted_for_a_pod_that_would_not_fit_even_then() -> None:
    court = await full(20, 1)
    court.world.create(pod("vip", WHOLE, priority=10))
    await court.ask("vip")
    assert court.world.evicted == []
    assert len(court.world.state.reservations) == 0


async def test_an_equal_is_never_evicted() -> None:
    court = await full(10, 10)
    court.world.create(pod("vip", HALF, priority=10))
    await court.ask("vip")
    assert court.world.evicted == []


async def test_a_pod_that_may_not_preempt_does_not() -> None:
    court = await full(1, 1)
    court.world.create(pod("vip", HALF, priority=10, spec={"preemptionPolicy": "Never"}))
    await court.ask("vip")
    assert court.world.evicted == []


async def test_a_pod_whose_budget_is_used_up_is_spared_for_a_more_important_one() -> None:
    court = await full(1, 5)
    court.budget("keep", {"matchLabels": {"app": "p0"}}, allowed=0)
    court.world.create(pod("vip", HALF, priority=10))
    await court.ask("vip")
    assert court.world.evicted == ["p1"]


async def test_a_budget_that_allows_one_to_go_is_not_spent_twice() -> None:
    court = await full(1, 1, 5, 5, cards=2)
    pair = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["p0", "p2"]}]}
    court.budget("pair", pair, allowed=1)
    allocated = {name: court.world.state.ledger.holding(PodUid(f"uid-{name}")) for name in ("p0", "p2")}
    cards = {name: held.tenant.allocation.cards for name, held in allocated.items() if held is not None}
    assert cards["p0"] == cards["p2"], "whoever empties that card spends the budget twice"
    court.world.create(pod("vip", WHOLE, priority=10))
    await court.ask("vip")
    assert sorted(court.world.evicted) == ["p1", "p3"]


async def test_a_budget_that_allows_too_few_to_go_costs_nobody_anything() -> None:
    court = await full(1, 1)
    court.budget("all", {}, allowed=1)
    court.world.create(pod("vip", WHOLE, priority=10))
    await court.ask("vip")
    assert court.world.evicted == []
    assert len(court.world.state.reservations) == 0


async def test_when_a_budget_allows_more_those_it_kept_waiting_are_looked_at_again() -> None:
    court = await full(1, 1)
    court.budget("all", {}, allowed=0)
    court.world.create(pod("vip", HALF, priority=10))
    await court.ask("vip")
    assert court.world.evicted == []
    court.budget("all", {}, allowed=1)
    async with _running(court.preempting):
        await asyncio.sleep(0.01)
    assert court.world.evicted == ["p0"]


async def test_an_api_server_that_does_not_answer_leaves_nothing_held_and_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(preempting, "TRY_AGAIN_S", 0.0)
    court = await full(1, 1)
    failing = court.world.api.create
    outages = [True]

    async def unreachable_once(path: str, body: object, **query: str) -> object:
        if not query and outages:
            outages.clear()
            assert len(court.world.state.reservations) == 1
            raise silence()
        assert query or len(court.world.state.reservations) == 1
        return await failing(path, body, **query)

    monkeypatch.setattr(court.world.api, "create", unreachable_once)
    court.world.create(pod("vip", HALF, priority=10))
    await court.ask("vip")
    assert court.world.evicted == ["p0"]
    assert court.counted == ["failed", "done"]


async def test_nobody_goes_when_room_appears_while_the_evictions_are_prepared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    court = await full(1, 1)
    asking = court.world.api.create

    async def while_somebody_ends(path: str, body: object, **query: str) -> object:
        if ("default", "p1") in court.world.pods:
            court.world.delete("p1")
        return await asking(path, body, **query)

    monkeypatch.setattr(court.world.api, "create", while_somebody_ends)
    court.world.create(pod("vip", HALF, priority=10))
    await court.ask("vip")
    assert court.world.evicted == []
    assert await court.world.schedule("vip") == "a"


async def test_a_pod_under_two_budgets_is_left_alone_since_no_eviction_of_it_is_accepted() -> None:
    court = await full(1, 5)
    court.budget("one", {"matchLabels": {"app": "p0"}}, allowed=9)
    court.budget("two", {"matchLabels": {"app": "p0"}}, allowed=9)
    court.world.create(pod("vip", HALF, priority=10))
    await court.ask("vip")
    assert court.world.evicted == ["p1"]


async def test_when_the_api_server_refuses_one_eviction_nobody_goes_and_nothing_is_held() -> None:
    court = await full(1, 1)
    court.world.protected = {"p0", "p1"}
    court.world.create(pod("vip", WHOLE, priority=10))
    await court.ask("vip")
    assert court.world.evicted == []
    assert len(court.world.state.reservations) == 0


async def test_the_fewest_victims_are_taken_even_if_they_are_more_important() -> None:
    world = World(node("a", metax_cards("a", 2)))
    for name, limits, priority in (("small-1", HALF, 1), ("small-2", HALF, 1), ("large", WHOLE, 5)):
        packed = {"hami.io/gpu-scheduler-policy": "binpack"}
        world.create(pod(name, limits, priority=priority, annotations=packed))
        assert await world.schedule(name) == "a"
    court = Court(world)
    world.create(pod("vip", WHOLE, priority=10))
    await court.ask("vip")
    assert world.evicted == ["large"]


async def test_room_held_for_a_pod_gives_way_to_a_more_important_one() -> None:
    court = await full(1, 1)
    world = court.world
    world.create(pod("vip", HALF, priority=10))
    await court.ask("vip")
    (gone,) = world.evicted
    world.create(pod("president", HALF, priority=100))
    world.delete(gone)
    assert world.filter("president")["NodeNames"] == ["a"]
    assert world.state.reservations.of(PodUid("uid-vip")) is None


async def test_room_that_nobody_comes_for_is_free_again_after_its_time() -> None:
    court = await full(1, 1)
    world = court.world
    world.create(pod("vip", HALF, priority=10))
    await court.ask("vip")
    world.delete(world.evicted[0])
    world.delete("vip")
    world.create(pod("late", HALF))
    assert await world.schedule("late") == "a"
