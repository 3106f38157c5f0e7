"""Pods that run count, whatever admission thinks of them today and in whatever order their events arrive."""

from __future__ import annotations

from typing import Any

import pytest

from builders.scheduling import Object, World, metax_cards, node, pod
from tangram.model.cards import CardMode
from tangram.units.ids import PodUid

GPU = {"metax-tech.com/gpu": 1}
HAMI = "hami.io/metax-gpu-devices-allocated"


def whole_node(count: int, *left_out: int) -> Object:
    cards = metax_cards("a", count, mode=CardMode.WHOLE)
    return node("a", [card for card in cards if card.index not in left_out])


def running(name: str, *, named: str = "", privileged: bool = False, **annotations: str) -> Object:
    text = {HAMI: f"{named},Metax-GPU,65536,100:;"} if named else {}
    made = pod(name, GPU, annotations={**annotations, **text}, spec={"nodeName": "a"})
    made["spec"]["containers"][0]["securityContext"] = {"privileged": privileged}
    made["status"]["phase"] = "Running"
    return made


def cards_of(world: World, name: str) -> tuple[str, ...]:
    holding = world.state.ledger.holding(PodUid(f"uid-{name}"))
    assert holding is not None
    return holding.tenant.allocation.cards


def room(world: World) -> int:
    """How many whole cards the scheduler would still give away on the node."""
    given = 0
    while True:
        world.create(pod(f"next-{given}", GPU))
        if not world.filter(f"next-{given}")["NodeNames"]:
            return given
        given += 1


@pytest.mark.parametrize(
    "what",
    [
        pytest.param({"privileged": True}, id="privileged"),
        pytest.param({"hami.io/gpu-scheduler-policy": "bin-pack"}, id="a word that no rule knows"),
        pytest.param({"named": "GPU-gone"}, id="a card that is not there"),
        pytest.param({HAMI: "GPU-a-0,Metax"}, id="an allocation that cannot be read"),
    ],
)
def test_a_running_pod_takes_its_card_though_it_would_be_refused_today(what: dict[str, Any]) -> None:
    world = World(whole_node(2))
    world.create(running("runs", **what))
    assert room(world) == 1


def test_a_guess_makes_way_for_the_pod_whose_card_it_is() -> None:
    world = World(whole_node(2))
    world.create(running("guessed", privileged=True))
    (assumed,) = cards_of(world, "guessed")
    world.create(running("named", named=assumed))
    assert cards_of(world, "named") == (assumed,)
    assert cards_of(world, "guessed") != (assumed,)
    assert room(world) == 0


def test_a_guess_that_is_in_no_pods_way_stays() -> None:
    world = World(whole_node(3))
    world.create(running("guessed", privileged=True))
    (assumed,) = cards_of(world, "guessed")
    other = next(f"GPU-a-{index}" for index in range(3) if f"GPU-a-{index}" != assumed)
    world.create(running("named", named=other))
    world.hear("default", "guessed")
    assert cards_of(world, "guessed") == (assumed,)


def test_a_pod_whose_card_is_gone_takes_another_until_it_is_back() -> None:
    world = World(whole_node(3, 1))
    world.create(running("runs", named="GPU-a-1"))
    assert cards_of(world, "runs") != ("GPU-a-1",)
    assert room(world) == 1
    world.put_node(whole_node(3))
    assert cards_of(world, "runs") == ("GPU-a-1",), "at once: between two events it must not be sold"


def test_a_pod_whose_event_came_before_its_node_takes_its_card_when_the_node_comes() -> None:
    world = World()
    world.create(running("runs", privileged=True))
    world.put_node(whole_node(2))
    assert room(world) == 1


def test_a_pod_that_ended_takes_nothing_any_more() -> None:
    world = World(whole_node(1))
    world.create(running("runs", privileged=True))
    assert room(world) == 0
    world.end("runs")
    world.put_node(whole_node(1, 0))
    world.put_node(whole_node(1))
    assert world.state.ledger.holding(PodUid("uid-runs")) is None


def test_an_annotation_that_is_mended_ends_the_guess() -> None:
    world = World(whole_node(2))
    world.create(running("runs", privileged=True))
    (assumed,) = cards_of(world, "runs")
    other = "GPU-a-1" if assumed == "GPU-a-0" else "GPU-a-0"
    world.pods["default", "runs"] = running("runs", named=other, privileged=True)
    world.hear("default", "runs")
    holding = world.state.ledger.holding(PodUid("uid-runs"))
    assert holding is not None
    assert (holding.tenant.allocation.cards, holding.tenant.guessed) == ((other,), False)
