"""All members of a gang find room, or none holds any."""

from __future__ import annotations

from builders.scheduling import World, metax_cards, node, pod
from tangram.model.allocations import Allocation
from tangram.model.requests import Request
from tangram.services.scheduler.failing import failing
from tangram.services.scheduler.filtering import Filtering
from tangram.services.scheduler.outcomes import Answered
from tangram.services.scheduler.reservations import Times

WHOLE = {"metax-tech.com/sgpu": 1}
NAME, SIZE = "pod-group.scheduling.sigs.k8s.io/name", "pod-group.scheduling.sigs.k8s.io/min-available"


def gang(world: World, name: str, count: int, at_least: int | None = None) -> list[str]:
    labels = {NAME: name, SIZE: str(count if at_least is None else at_least)}
    names = [f"{name}-{number}" for number in range(count)]
    for each in names:
        world.create(pod(each, WHOLE, labels=labels))
    return names


async def test_of_two_gangs_that_race_for_the_same_cards_one_gets_all_and_the_other_holds_none() -> None:
    world = World(node("a", metax_cards("a", 8)))
    red, blue = gang(world, "red", 8), gang(world, "blue", 8)
    bound = [await world.schedule(name) for pair in zip(red, blue, strict=True) for name in pair]
    assert bound.count("a") == 8
    assert {name for name in red if world.node_of(name)} == set(red)
    assert not any(world.node_of(name) for name in blue)
    assert len(world.state.reservations) == 0


async def test_a_gang_whose_members_are_not_all_there_waits_and_holds_nothing() -> None:
    world = World(node("a", metax_cards("a", 8)))
    names = gang(world, "red", 3, at_least=4)
    answer, verdict = world.filter_with_verdict(names[0])
    assert verdict is not None
    assert verdict.answered is Answered.GANG
    assert answer["Error"] == "3 of 4 pods of gang red are there"
    assert len(world.state.reservations) == 0


async def test_a_gang_that_lost_members_to_the_clock_is_placed_anew_with_those_that_run_counted() -> None:
    world = World(node("a", metax_cards("a", 4)))
    names = gang(world, "red", 4)
    assert await world.schedule(names[0]) == "a"
    world.now += Times().long_promise + 1
    world.state.reservations.expire()
    assert len(world.state.reservations) == 0
    assert [await world.schedule(name) for name in names[1:]] == ["a"] * 3


async def test_members_beyond_the_least_number_need_not_fit() -> None:
    world = World(node("a", metax_cards("a", 4)))
    names = gang(world, "red", 6, at_least=4)
    bound = [await world.schedule(name) for name in names]
    assert bound.count("a") == 4


async def test_a_member_that_is_deleted_gives_up_its_room_and_the_gang_is_short_again() -> None:
    world = World(node("a", metax_cards("a", 4)))
    names = gang(world, "red", 4)
    world.filter(names[0])
    assert len(world.state.reservations) == 4
    world.delete(names[3])
    assert len(world.state.reservations) == 3


async def test_a_gang_that_its_quota_does_not_allow_as_a_whole_holds_nothing() -> None:
    world = World(node("a", metax_cards("a", 4)))
    names = gang(world, "red", 4)
    held: list[str] = []

    def at_most_three(request: Request, _allocation: Allocation) -> str | None:
        held.append(request.pod.name)
        return "exceeding resource quota" if len(set(held)) > 3 else None

    world.filtering = Filtering(world.state, failing, at_most_three)
    assert await world.schedule(names[0]) == ""
    assert len(world.state.reservations) == 0
