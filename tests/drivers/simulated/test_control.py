"""Commands to a running simulation, in the words a person types."""

from __future__ import annotations

from typing import cast

import pytest

from builders.simulated import make_world
from tangram.drivers.errors import DriverError
from tangram.drivers.simulated.control import carry_out
from tangram.drivers.simulated.state import card_uuid
from tangram.drivers.simulated.world import World
from tangram.units.memory import from_gib


@pytest.fixture
def world() -> World:
    world = make_world({"product": "C500", "count": 2, "sliced": True}, {"product": "S4000"})
    world.create_slice(card_uuid(world.description, world.description.cards[1]), from_gib(8), 20, "web")
    return world


@pytest.mark.parametrize("name", ["GPU-1/0", "1/0", "web"])
def test_a_slice_is_named_by_card_and_number_or_by_its_own_name(world: World, name: str) -> None:
    assert carry_out(world, f"use {name} 2GiB") == {"used": name, "pid": 40033, "memory": "2 GiB"}
    assert world.state(1).holders[0].memory == from_gib(2)
    carry_out(world, f"release {name}")
    assert not world.state(1).holders


def test_a_card_is_named_by_number_or_uuid(world: World) -> None:
    uuid = card_uuid(world.description, world.description.cards[0])
    assert carry_out(world, f"fail {uuid}") == {"card": "GPU-0", "faults": ["ecc"]}
    assert carry_out(world, "fail 0 hang") == {"card": "GPU-0", "faults": ["ecc", "hang"]}
    assert carry_out(world, "recover GPU-0") == {"card": "GPU-0", "faults": []}


def test_figures_are_pinned_and_let_go(world: World) -> None:
    uuid = card_uuid(world.description, world.description.cards[0])
    before = world.figures(uuid)
    carry_out(world, "set temperature GPU-0 85")
    assert world.figures(uuid).temperature_celsius == 85
    carry_out(world, "set temperature GPU-0 106")
    assert world.health()[uuid].code == "overheat"
    carry_out(world, "set temperature GPU-0 none")
    assert world.figures(uuid) == before


def test_time_jumps(world: World) -> None:
    assert carry_out(world, "advance 1m30s") == {"time": "1m30s"}


def test_a_moore_threads_container_runs_and_stops(world: World) -> None:
    carry_out(world, "run 0123456789ab MTHREADS_VISIBLE_DEVICES=0 MTHREADS_QOS_MEMORY_LIMIT=1073741824")
    assert [each.memory for each in world.state(2).slices] == [from_gib(1)]
    carry_out(world, "stop 0123456789ab")
    assert world.state(2).slices == ()


def test_the_list_tells_slices_and_their_use(world: World) -> None:
    carry_out(world, "use web")
    cards = cast("list[dict[str, object]]", carry_out(world, "list")["cards"])
    assert [card["card"] for card in cards] == ["GPU-0", "GPU-1", "GPU-2"]
    assert cards[1]["slices"] == [
        {"slice": "GPU-1/0", "memory": "8 GiB", "cores": 20, "name": "web", "busy": True}
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        pytest.param("", "it is empty; the commands are: list, fail", id="empty"),
        pytest.param("'", "quotes do not match", id="quotes"),
        pytest.param("explode GPU-0", "'explode' is no command", id="unknown"),
        pytest.param("fail", r"fail is written 'fail CARD", id="too-few"),
        pytest.param("list all", "list is written 'list'", id="too-many"),
        pytest.param("fail GPU-7", "the cards are GPU-0 to GPU-2", id="card"),
        pytest.param("fail GPU-0 recover", "it is ecc, overheat, link, vanish or hang", id="fault"),
        pytest.param("use GPU-0/5", "there is no slice 5", id="slice"),
        pytest.param("use GPU-0/x", "write for example GPU-0/0", id="slice-word"),
        pytest.param("use GPU-1", "it is in parts", id="in-parts"),
        pytest.param("use GPU-1/0 9GiB", "ask for up to 8 GiB", id="too-much"),
        pytest.param("use GPU-1/0 9", "a memory size is", id="no-unit"),
        pytest.param("release GPU-1/0", "nobody uses part 0", id="not-used"),
        pytest.param("set colour GPU-0 1", "'colour' cannot be set", id="figure"),
        pytest.param("set temperature GPU-0 nan", "is no figure", id="nan"),
        pytest.param("set sliced GPU-0 maybe", "it is on or off", id="sliced"),
        pytest.param("set sliced GPU-1 off", "has slices", id="sliced-busy"),
        pytest.param("advance 5", "a duration is", id="duration"),
        pytest.param("run short X=1", "12 to 64 letters", id="container"),
        pytest.param("run 0123456789ab X", "is no variable", id="variable"),
    ],
)
def test_a_bad_command_is_answered_with_a_sentence(world: World, line: str, says: str) -> None:
    with pytest.raises(DriverError, match=says):
        carry_out(world, line)
