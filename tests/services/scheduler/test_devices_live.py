"""Koordinator's Devices count the moment they change, whenever the kind was installed, and tenants outlive them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from builders.api_server import SmallApiServer, refusal, small_api_server
from builders.described_nodes import DEVICE_ALLOCATED, SLICE, bare_node, describe, device_manifest, serve
from builders.scheduling import World, mthreads_cards, node, pod
from builders.waiting import until
from tangram.kube import informer as informers
from tangram.kube.api import Api
from tangram.kube.informer import Change, Key
from tangram.services.scheduler.device_copy import DEVICES, DeviceCopy
from tangram.units.ids import NodeName
from tangram.wire.koordinator.device import Device


def cards(world: World, name: str = "a") -> dict[str, bool]:
    found = world.state.ledger.node(NodeName(name))
    assert found is not None
    return {card.uuid: card.healthy for card in found.cards}


def test_a_device_that_changes_alone_counts_at_once() -> None:
    world = World(bare_node("a"))
    world.create(pod("p", SLICE))
    assert world.filter("p")["NodeNames"] == []
    describe(world, device_manifest("a"))
    assert cards(world) == {"GPU-a-0": True, "GPU-a-1": True}
    describe(world, device_manifest("a", sick=[0]))
    assert cards(world) == {"GPU-a-0": False, "GPU-a-1": True}


async def test_a_card_that_its_device_calls_sick_is_avoided_without_a_word_of_the_node() -> None:
    world = World(bare_node("a"))
    describe(world, device_manifest("a"))
    for name in ("p", "q"):
        world.create(pod(name, SLICE))
    assert await world.schedule("p") == "a"
    serve(world)
    describe(world, device_manifest("a", sick=[given_minor(world, "p")]))
    assert await world.schedule("q") == "a"
    assert given_minor(world, "q") != given_minor(world, "p")


def given_minor(world: World, name: str) -> int:
    written = world.pods["default", name]["metadata"]["annotations"][DEVICE_ALLOCATED]
    return json.loads(written)["gpu"][0]["minor"]


async def test_with_its_device_the_totals_of_a_node_go_and_its_tenants_stay() -> None:
    world = World(bare_node("a"))
    describe(world, device_manifest("a", 1))
    half = {**SLICE, "koordinator.sh/gpu-core": 60, "koordinator.sh/gpu-memory": "40Gi"}
    for name in ("p", "q"):
        world.create(pod(name, half))
    assert await world.schedule("p") == "a"
    world.state.put_device(NodeName("a"), None)
    assert cards(world) == {}
    world.hear("default", "p")
    assert world.filter("q")["NodeNames"] == []
    describe(world, device_manifest("a", 1))
    assert world.filter("q")["NodeNames"] == []
    world.delete("p")
    assert world.filter("q")["NodeNames"] == ["a"]


def test_on_a_node_with_our_agent_a_device_says_only_that_there_is_one() -> None:
    world = World(node("a"))
    describe(world, device_manifest("a", 1, sick=[0]))
    found = world.state.ledger.node(NodeName("a"))
    assert found is not None
    assert cards(world) == {"GPU-a-0": True, "GPU-a-1": True}
    assert (found.described, found.managed) == (True, True)
    world.state.put_device(NodeName("a"), None)
    assert world.state.ledger.node(NodeName("a")) == World(node("a")).state.ledger.node(NodeName("a"))


def test_cards_that_the_device_numbers_otherwise_are_known_by_its_numbers() -> None:
    world = World(node("a", mthreads_cards("a")))
    manifest = device_manifest("a", vendor="mthreads", memory="48Gi")
    manifest["spec"]["devices"][0]["minor"] = 7
    describe(world, manifest)
    found = world.state.ledger.node(NodeName("a"))
    assert found is not None
    assert found.minors == {"MT-a-0": 7}


def test_a_node_read_before_its_device_came_is_taken_with_it() -> None:
    """A long list is read in parts: what comes in between must not be lost."""
    world = World()
    early = world.state.read_node(bare_node("a"))
    describe(world, device_manifest("a"))
    world.state.node_changed(Change(Key("", "a"), None, early))
    assert len(cards(world)) == 2


def test_a_node_that_is_read_again_is_the_node_that_was_read() -> None:
    manifest = bare_node("a", gpu_core=200)
    manifest["metadata"]["labels"] = {"zone": "b"}
    manifest["spec"] = {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]}
    late, early = World(), World(manifest)
    describe(early, device_manifest("a"))
    describe(late, device_manifest("a"))
    late.put_node(manifest)
    assert early.state.ledger.node(NodeName("a")) == late.state.ledger.node(NodeName("a"))


# --- following ----------------------------------------------------------------------------------------------------


class Kind:
    """An API server that serves Devices or does not."""

    def __init__(self, server: SmallApiServer, copy: DeviceCopy, told: dict[str, Device | None]) -> None:
        self.server, self.copy, self.told = server, copy, told
        self.served = False
        server.answer_first = self._answer

    def _answer(self, request: web.Request) -> web.Response | None:
        if request.path == "/apis/scheduling.koordinator.sh/v1alpha1" and self.served:
            return web.json_response({"resources": [{"name": "devices"}]})
        if request.path.startswith("/apis/scheduling") and not self.served:
            return refusal(404, "NotFound", "the server could not find the requested resource")
        return None

    def put(self, name: str, *sick: int) -> None:
        self.server.put(f"{DEVICES}/{name}", device_manifest(name, sick=sick))


@asynccontextmanager
async def following() -> AsyncGenerator[Kind]:
    told: dict[str, Device | None] = {}

    def tell(node: NodeName, device: Device | None) -> None:
        told[str(node)] = device

    async with small_api_server() as (server, connection), Api(connection) as api:
        copy = DeviceCopy(api, tell, look_every=0.01)
        kind = Kind(server, copy, told)
        running = asyncio.create_task(copy.run())
        try:
            yield kind
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(informers, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(informers, "LONGEST_PAUSE_S", 0.01)


def healthy(told: dict[str, Device | None], name: str) -> Callable[[], list[bool]]:
    def look() -> list[bool]:
        device = told.get(name)
        return [] if device is None else [entry.health for entry in device.entries]

    return look


async def test_a_kind_that_is_installed_later_is_noticed_and_one_that_is_taken_away_too() -> None:
    async with following() as kind:
        await kind.copy.looked.wait()
        assert kind.told == {}
        kind.served = True
        kind.put("a")
        await until(lambda: healthy(kind.told, "a")() == [True, True])
        kind.put("a", 1)
        await until(lambda: healthy(kind.told, "a")() == [True, False])
        kind.served = False
        kind.server.cut_watches()
        await until(lambda: kind.told == {"a": None})
        kind.served = True
        await until(lambda: healthy(kind.told, "a")() == [True, False])


async def test_what_is_there_at_the_start_is_read_before_anybody_goes_on() -> None:
    async with following() as kind:
        kind.served = True
        kind.put("a")
        await kind.copy.looked.wait()
        assert list(kind.told) == ["a"]


async def test_devices_that_nobody_may_read_hold_nobody_up() -> None:
    async with following() as kind:
        kind.served = True
        answer = kind.server.answer_first

        def forbid(request: web.Request) -> web.Response | None:
            if request.path == DEVICES:
                return refusal(403, "Forbidden", "you may not list devices")
            return answer(request)

        kind.server.answer_first = forbid
        await kind.copy.looked.wait()
        assert kind.told == {}
        kind.server.answer_first = answer
        kind.put("a")
        await until(lambda: "a" in kind.told)


async def test_a_device_that_cannot_be_read_is_as_none_until_it_can() -> None:
    async with following() as kind:
        kind.served = True
        kind.server.put(f"{DEVICES}/a", {**device_manifest("a"), "kind": "Other"})
        await kind.copy.looked.wait()
        assert kind.told == {"a": None}
        kind.put("a")
        await until(lambda: healthy(kind.told, "a")() == [True, True])
