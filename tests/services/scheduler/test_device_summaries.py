"""koord-scheduler's debug API, answered in its shape from our books, to those who may read what it tells."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders.closed_nodes import counted_node
from builders.described_nodes import SLICE, bare_node, describe, device_manifest
from builders.desks import ask
from builders.scheduling import World, metax_cards, mthreads_cards, node, pod
from builders.whole_scheduler import WholeScheduler
from services.scheduler.test_outside import bearer, outside, sentence
from tangram.services.scheduler.desk import Reply
from tangram.services.scheduler.device_summaries import DeviceSummaries

PATH = "/apis/v1/plugins/DeviceShare/nodeDeviceSummaries"


def amounts(core: int, memory: str, ratio: int) -> dict[str, str]:
    return {
        "koordinator.sh/gpu-core": str(core),
        "koordinator.sh/gpu-memory": memory,
        "koordinator.sh/gpu-memory-ratio": str(ratio),
    }


FULL = amounts(100, "64Gi", 100)
SLICED_C500 = amounts(100, "63Gi", 100)
"""Of a Device of others, by which koord-scheduler counts 64Gi."""


def summary(world: World, name: str = "a") -> dict[str, Any]:
    return said(DeviceSummaries(world.state.ledger).one(name))


def said(reply: Reply) -> dict[str, Any]:
    assert (reply.status, reply.kind) == (200, "application/json")
    return json.loads(reply.body)


async def test_a_node_with_one_pod_is_told_as_koord_scheduler_tells_it() -> None:
    world = World(bare_node("a"))
    describe(world, device_manifest("a"))
    world.create(pod("p", SLICE))
    assert await world.schedule("p") == "a"
    taken, left = amounts(10, "4Gi", 6), amounts(90, "59Gi", 94)
    assert summary(world) == {
        "deviceTotal": amounts(200, "126Gi", 200),
        "deviceFree": amounts(190, "122Gi", 194),
        "deviceUsed": taken,
        "deviceTotalDetail": {"gpu": {"0": SLICED_C500, "1": SLICED_C500}},
        "deviceFreeDetail": {"gpu": {"0": SLICED_C500, "1": left}},
        "deviceUsedDetail": {"gpu": {"1": taken}},
        "allocateSet": {"gpu": {"default/p": {"1": taken}}},
    }


def test_an_idle_node_has_nothing_taken() -> None:
    found = summary(World(node("a", metax_cards("a", 1))))
    assert (found["deviceUsed"], found["deviceUsedDetail"], found["allocateSet"]) == ({}, {}, {})
    assert found["deviceFreeDetail"] == found["deviceTotalDetail"] == {"gpu": {"0": FULL}}


def test_a_sick_card_has_nothing_to_give_and_what_is_held_of_it_stays_held() -> None:
    world = World(bare_node("a"))
    describe(world, device_manifest("a"))
    world.create(pod("p", SLICE))
    world.filter("p")
    describe(world, device_manifest("a", sick=[0, 1]))
    found = summary(world)
    assert found["deviceTotalDetail"] == {"gpu": {"0": {}, "1": {}}}
    assert found["deviceFreeDetail"] == {"gpu": {"0": {}, "1": amounts(0, "0", 0)}}
    assert found["deviceUsedDetail"] == {"gpu": {"1": amounts(10, "4Gi", 6)}}


async def test_without_its_device_a_nodes_tenants_are_still_told_of() -> None:
    world = World(bare_node("a"))
    describe(world, device_manifest("a", 1))
    world.create(pod("p", {**SLICE, "koordinator.sh/gpu-memory": "32Gi"}))
    assert await world.schedule("p") == "a"
    empty = device_manifest("a", 0)
    describe(world, empty)
    found = summary(world)
    assert found["deviceTotalDetail"] == {"gpu": {"0": {}}}
    assert list(found["allocateSet"]["gpu"]) == ["default/p"]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        pytest.param(SLICE, amounts(10, "4Gi", 6), id="Koordinator's bytes, cut off"),
        pytest.param(
            {"koordinator.sh/gpu-core": 30, "koordinator.sh/gpu-memory-ratio": 30, "metax-tech.com/sgpu": 1},
            amounts(30, "20615843020", 30),
            id="Koordinator's percent, as asked",
        ),
        pytest.param(
            {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 10, "metax-tech.com/vmemory": 4},
            amounts(10, "4Gi", 7),
            id="MetaX's words, as they are told at bind",
        ),
    ],
)
async def test_a_share_is_told_as_it_is_written_at_bind(
    limits: dict[str, str | int], expected: dict[str, str]
) -> None:
    world = World(node("a", metax_cards("a", 1)))
    describe(world, device_manifest("a", 1))
    world.create(pod("p", limits))
    assert await world.schedule("p") == "a"
    written = world.pods["default", "p"]["metadata"]["annotations"][
        "scheduling.koordinator.sh/device-allocated"
    ]
    assert json.loads(written)["gpu"][0]["resources"] == expected
    assert summary(world)["allocateSet"] == {"gpu": {"default/p": {"0": expected}}}


async def test_moore_threads_cards_are_told_in_percent_under_the_devices_numbers() -> None:
    world = World(node("a", mthreads_cards("a", 1)))
    manifest = device_manifest("a", 1, vendor="mthreads", memory="48Gi")
    manifest["spec"]["devices"][0]["minor"] = 5
    describe(world, manifest)
    limits: dict[str, str | int] = {
        "mthreads.com/vgpu": 1,
        "mthreads.com/sgpu-core": 2,
        "mthreads.com/sgpu-memory": 16,
    }
    world.create(pod("p", limits))
    assert await world.schedule("p") == "a"
    found = summary(world)
    assert found["deviceTotalDetail"] == {"gpu": {"5": amounts(100, "48Gi", 100)}}
    assert found["deviceUsedDetail"] == {"gpu": {"5": amounts(13, "8Gi", 17)}}


def test_pods_that_are_only_promised_their_cards_are_told_of_as_in_koord_scheduler() -> None:
    world = World(node("a"))
    world.create(pod("p"))
    assert world.filter("p")["NodeNames"] == ["a"]
    assert list(summary(world)["allocateSet"]["gpu"]) == ["default/p"]


async def test_every_node_with_cards_is_told_of_and_no_other() -> None:
    world = World(node("b"), bare_node("a"), counted_node("c", {}))
    describe(world, device_manifest("a"))
    assert list(said(await DeviceSummaries(world.state.ledger).every_node())) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("nowhere", "there is no such node", id="no node"),
        pytest.param("c", "it has no cards that anybody told of", id="no cards"),
    ],
)
def test_a_node_without_cards_is_a_404_with_a_sentence(name: str, why: str) -> None:
    reply = DeviceSummaries(World(counted_node("c", {})).state.ledger).one(name)
    assert (reply.status, json.loads(reply.body)) == (
        404,
        {"message": f"cannot find node {name}: {why}; ask without a name for all nodes with cards"},
    )


async def test_the_whole_scheduler_answers() -> None:
    whole = WholeScheduler(node("a"))
    assert list(said(await whole.desk.device_summaries(None))) == ["a"]
    assert said(await whole.desk.device_summaries("a"))["deviceTotal"] == amounts(200, "128Gi", 200)
    assert (await whole.desk.device_summaries("b")).status == 404


# --- the door -----------------------------------------------------------------------------------------------------


async def test_who_may_read_nodes_and_pods_is_answered() -> None:
    async with outside("list nodes", "get nodes", "list pods") as (desk, _rights, address):
        for path in (PATH, f"{PATH}/gpu-1"):
            assert await ask(address, path, headers=bearer("ann")) == (200, b'{"said":"device_summaries"}')
        assert desk.asked == [("device_summaries", b""), ("device_summaries", b"gpu-1")]


@pytest.mark.parametrize(
    ("path", "rights", "verb"),
    [
        pytest.param(PATH, ("get nodes", "list pods"), "list", id="all nodes"),
        pytest.param(f"{PATH}/gpu-1", ("list nodes", "list pods"), "get", id="one node"),
        pytest.param(f"{PATH}/gpu-1", ("get nodes", "list pods a"), "get", id="pods of one namespace only"),
    ],
)
async def test_who_lacks_a_right_is_told_which(path: str, rights: tuple[str, ...], verb: str) -> None:
    async with outside(*rights) as (desk, _rights, address):
        status, told = sentence(await ask(address, path, headers=bearer("ann")))
        assert status == 403
        assert told == (
            f"'ann' may not {verb} nodes and list pods of all namespaces, which {path} needs; "
            "bind a role with that right to the account"
        )
        assert (await ask(address, path))[0] == 401
        assert not desk.asked


@pytest.mark.parametrize(
    ("path", "status"),
    [
        pytest.param(f"{PATH}/", 404, id="no name"),
        pytest.param(f"{PATH}/a/b", 404, id="two parts"),
        pytest.param(f"{PATH}/a%2Fb", 404, id="an escaped slash"),
        pytest.param(f"{PATH}/Not_A_Name", 400, id="no name of Kubernetes"),
        pytest.param("/explain/x", 404, id="below another path"),
    ],
)
async def test_other_paths_are_refused_with_a_sentence(path: str, status: int) -> None:
    async with outside("list nodes", "get nodes", "list pods") as (desk, _rights, address):
        found, told = sentence(await ask(address, path, headers=bearer("ann")))
        assert (found, bool(told), desk.asked) == (status, True, [])
