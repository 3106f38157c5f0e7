"""A C500 that others announce with 64 GiB: no slice is placed that its driver refuses, and what runs is counted."""

from __future__ import annotations

import pytest

from builders.closed_nodes import closed_node
from builders.explained import explained
from builders.scheduling import Object, World, pod
from tangram.engine.place import Defaults
from tangram.engine.wording import node_sentence
from tangram.units.ids import NodeName
from tangram.units.memory import from_gib
from tangram.vendors.admission import admit
from tangram.wire.hami import METAX_SLICE_ALLOCATED
from tangram.wire.pods import read_pod

SLICED: dict[str, str | int] = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 10}


def c500(name: str = "a") -> Object:
    """One card, served by MetaX's own plugin."""
    made = closed_node(name, 1)
    made["metadata"]["labels"]["metax-tech.com/gpu.product"] = "MXC500"
    return made


def asking(name: str, gib: int | None) -> Object:
    return pod(name, SLICED if gib is None else {**SLICED, "metax-tech.com/vmemory": gib})


def bound_by_hami(name: str, gib: int) -> Object:
    notes = {METAX_SLICE_ALLOCATED: f"GPU-a-0,Metax-SGPU,{gib << 10},10:;", "hami.io/vgpu-node": "a"}
    made = pod(name, {**SLICED, "metax-tech.com/vmemory": gib}, annotations=notes, scheduler="hami-scheduler")
    made["spec"]["nodeName"] = "a"
    made["status"]["phase"] = "Running"
    return made


def placed(world: World, name: str, gib: int | None) -> bool:
    world.create(asking(name, gib))
    return world.filter(name)["NodeNames"] == ["a"]


def used(world: World) -> int:
    return int(world.state.ledger.view((NodeName("a"),)).use.memory[0, 0])


@pytest.mark.parametrize(("gib", "fitting"), [(16, 3), (32, 1), (64, 0), (15, 4), (21, 3)])
def test_slices_are_placed_up_to_what_the_card_slices(gib: int, fitting: int) -> None:
    world = World(c500())
    assert [placed(world, f"p{number}", gib) for number in range(fitting + 1)] == [*[True] * fitting, False]


@pytest.mark.parametrize(
    ("gib", "reason"),
    [
        (16, "15 GiB free of the 63 GiB that can be sliced, 16 GiB needed, 1 GiB short"),
        (64, "63 GiB can be sliced on this card, 64 GiB needed"),
    ],
)
def test_the_pod_that_is_not_placed_is_told_what_the_card_slices(gib: int, reason: str) -> None:
    world = World(c500())
    for number in range(3):
        world.create(bound_by_hami(f"h{number}", 16))
    request = admit(read_pod(asking("more", gib))).request
    assert request is not None
    (verdict,) = explained(world.state.ledger, request, Defaults()).nodes
    assert node_sentence(verdict) == f"0 of 1 needed: {reason} (1 card)"


def test_a_pod_that_asks_for_all_memory_gets_all_that_can_be_sliced() -> None:
    world = World(c500())
    assert placed(world, "all", None)
    assert used(world) == from_gib(63)


def test_pods_that_hami_bound_are_counted_in_full_though_the_card_slices_less() -> None:
    world = World(c500())
    for number in range(4):
        world.create(bound_by_hami(f"h{number}", 16))
    assert used(world) == from_gib(64)
    assert not placed(world, "little", 1)
    assert not placed(world, "all", None)
    world.delete("h0")
    assert placed(world, "next", 15)
