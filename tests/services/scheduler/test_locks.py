"""The lock of closed plugins: owned by UID, given back on failure, never waiting on itself."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from builders.scheduling import Object, World, metax_cards, pod
from tangram.kube.api import Api
from tangram.kube.errors import ApiError
from tangram.kube.informer import Key
from tangram.model.pods import PodRef
from tangram.sandbox.apiserver.server import serving_api
from tangram.services.scheduler.binding import BindOutcome
from tangram.services.scheduler.forgotten_locks import ForgottenLocks
from tangram.services.scheduler.locks import LockContentionError, NodeLocks
from tangram.units.ids import Namespace, NodeName, PodName, PodUid
from tangram.wire.metax_listing import NODE_DEVICES, encode_listing
from tangram.wire.metax_publishing import listing_of
from tangram.wire.nodelock import NODE_LOCK, OWNER, LockHolder, NodeLock, format_lock, owner_of, owner_text


def closed(name: str, cards: int = 2) -> Object:
    """A node that a closed MetaX plugin runs: its cards are announced in the vendor's own annotation."""
    listing = encode_listing(listing_of(metax_cards(name, cards), None, {}))
    return {
        "metadata": {"name": name, "annotations": {NODE_DEVICES: listing}},
        "spec": {},
        "status": {"allocatable": {"metax-tech.com/sgpu": str(16 * cards), "cpu": "64", "memory": "512Gi"}},
    }


def lock_of(world: World, node: str = "a") -> str:
    return world.nodes[node]["metadata"]["annotations"].get(NODE_LOCK, "")


def lock(world: World, name: str, *, age: int = 0, owner: str = "") -> None:
    value = format_lock(NodeLock(int(world.now) - age, LockHolder(Namespace("default"), PodName(name))))
    annotations = world.nodes["a"]["metadata"]["annotations"]
    annotations[NODE_LOCK] = value
    if owner:
        annotations[OWNER] = owner_text(PodUid(owner), value)


async def test_a_slice_on_a_closed_node_is_bound_under_the_lock_which_stays_for_the_plugin() -> None:
    world = World(closed("a"))
    world.create(pod("p"))
    assert await world.schedule("p") == "a"
    assert lock_of(world).endswith(",default,p")
    assert owner_of(world.nodes["a"]["metadata"]["annotations"]) == "uid-p"


async def test_the_next_pod_of_the_node_waits_for_the_plugin_and_is_then_bound() -> None:
    world = World(closed("a"))
    for name in ("p", "q"):
        world.create(pod(name))
    assert await world.schedule("p") == "a"
    assert (await world.bind("q", "a")).outcome is BindOutcome.LOCKED
    assert world.node_of("q") == ""
    del world.nodes["a"]["metadata"]["annotations"][NODE_LOCK]
    assert await world.schedule("q") == "a"


async def test_a_lock_left_by_a_scheduler_that_died_is_nobodys_once_its_pod_has_another_node() -> None:
    world = World(closed("a"), closed("b"))
    for name in ("p", "q"):
        world.create(pod(name))
    lock(world, "p", owner="uid-p")
    assert (await world.bind("q", "a")).outcome is BindOutcome.LOCKED
    assert (await world.bind("p", "b")).done
    assert (await world.bind("q", "a")).done
    assert lock_of(world).endswith(",default,q")


async def test_contention_is_told_in_hamis_words() -> None:
    world = World(closed("a"))
    for name in ("p", "q"):
        world.create(pod(name))
    await world.schedule("p")
    assert (await world.bind("q", "a")).sentence == "node a has been locked within 5m0s: node lock contention"


async def test_a_failed_bind_gives_the_lock_back() -> None:
    world = World(closed("a"))
    world.create(pod("p"))
    world.filter("p")
    world.pods["default", "p"]["spec"]["nodeName"] = "elsewhere"
    assert (await world.bind("p", "a")).outcome is BindOutcome.REFUSED
    assert lock_of(world) == ""


async def test_a_pod_does_not_wait_for_its_own_lock() -> None:
    world = World(closed("a"))
    world.create(pod("p"))
    lock(world, "p", owner="uid-p")
    assert await world.schedule("p") == "a"


async def test_a_recreated_pod_does_not_wait_for_its_predecessors_lock() -> None:
    world = World(closed("a"))
    world.create(pod("p", uid="second"))
    lock(world, "p", owner="first")
    assert await world.schedule("p") == "a"


@pytest.mark.parametrize(
    "age", [pytest.param(301, id="too old"), pytest.param(0, id="of a pod that is gone")]
)
async def test_a_lock_that_nobody_needs_is_taken_over(age: int) -> None:
    world = World(closed("a"))
    world.create(pod("p"))
    if age:
        world.create(pod("other"))
    lock(world, "other", age=age)
    assert await world.schedule("p") == "a"
    assert lock_of(world).endswith(",default,p")


async def test_a_lock_of_hami_for_a_pod_that_is_there_is_respected() -> None:
    world = World(closed("a"))
    world.create(pod("p"))
    world.create(pod("other"))
    lock(world, "other")
    world.filter("p")
    assert (await world.bind("p", "a")).outcome is BindOutcome.LOCKED
    assert lock_of(world).endswith(",default,other")


async def test_a_lock_that_cannot_be_read_keeps_nobody_out() -> None:
    world = World(closed("a"))
    world.create(pod("p"))
    world.nodes["a"]["metadata"]["annotations"][NODE_LOCK] = "nonsense"
    assert await world.schedule("p") == "a"


async def test_a_lock_that_cannot_be_written_is_an_error_and_gives_the_cards_back() -> None:
    world = World(closed("a", 1))
    world.create(pod("p", {"metax-tech.com/sgpu": 1}))
    world.filter("p")
    world.failures = [ApiError(403, "Forbidden", "no")]
    assert (await world.bind("p", "a")).outcome is BindOutcome.REFUSED
    assert len(world.state.reservations) == 0


async def test_a_slice_in_an_init_container_alone_takes_the_lock_too() -> None:
    world = World(closed("a"))
    made = pod("p", {"cpu": "1"})
    made["spec"]["initContainers"] = [
        {"name": "init", "resources": {"limits": {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 10}}}
    ]
    world.create(made)
    assert await world.schedule("p") == "a"
    assert lock_of(world).endswith(",default,p")


async def looked_over(world: World) -> None:
    readings = {Key("", name): world.state.read_node(found) for name, found in world.nodes.items()}
    await ForgottenLocks(readings, world.locks, world.waits, lambda: True).look()


async def test_a_lock_of_ours_whose_pod_went_elsewhere_is_given_back_though_nobody_comes_for_it() -> None:
    world = World(closed("a"), closed("b"))
    world.create(pod("p"))
    lock(world, "p", owner="uid-p")
    await looked_over(world)
    assert lock_of(world), "it may still be bound there"
    world.pods["default", "p"]["spec"]["nodeName"] = "b"
    world.hear("default", "p")
    await looked_over(world)
    assert lock_of(world) == ""


async def test_a_lock_that_somebody_else_set_after_ours_is_theirs() -> None:
    world = World(closed("a"))
    world.create(pod("p"))
    lock(world, "gone", owner="uid-gone")
    world.create(pod("other"))
    stale = world.nodes["a"]["metadata"]["annotations"][OWNER]
    lock(world, "other")
    assert world.nodes["a"]["metadata"]["annotations"][OWNER] == stale
    await looked_over(world)
    assert lock_of(world).endswith(",default,other")
    world.filter("p")
    assert (await world.bind("p", "a")).outcome is BindOutcome.LOCKED


class Overtaken(Api):
    """A peer takes the lock of whatever was read, right after it was read."""

    peer = ""

    async def get(self, path: str, **query: str) -> Object:
        found = await super().get(path, **query)
        await self.merge(path, {"metadata": {"annotations": {NODE_LOCK: self.peer}}})
        return found


async def test_a_lock_that_is_taken_between_our_look_and_our_write_is_not_overwritten() -> None:
    theirs = format_lock(NodeLock(1_000, LockHolder(Namespace("default"), PodName("theirs"))))
    ours = format_lock(NodeLock(1_000, LockHolder(Namespace("default"), PodName("ours"))))
    async with serving_api() as running, Overtaken(running.connection()) as api:
        api.peer = theirs
        await api.create("/api/v1/nodes", {"metadata": {"name": "a"}})
        locks = NodeLocks(api, lambda _namespace, _name, _uid, _node: True, patience=0.2, now=lambda: 1_001)
        with pytest.raises(LockContentionError):
            await locks.take(NodeName("a"), PodRef(Namespace("default"), PodName("ours"), PodUid("u")), ours)
        annotations = (await api.get("/api/v1/nodes/a"))["metadata"]["annotations"]
        assert annotations == {NODE_LOCK: theirs}


class HeldByAPeer:
    """An API server with one node, which a peer's pod has locked; every answer takes its time."""

    def __init__(self, *, takes: float = 0.0) -> None:
        self.now = 1_000.0
        self.asked = 0
        self._takes = takes

    async def get(self, _path: str) -> Object:
        self.asked += 1
        self.now += self._takes
        await asyncio.sleep(0)
        theirs = format_lock(NodeLock(1_000, LockHolder(Namespace("default"), PodName("theirs"))))
        return {"metadata": {"resourceVersion": "1", "annotations": {NODE_LOCK: theirs}}}

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)

    async def contended_by(self, *names: str) -> None:
        locks = NodeLocks(
            cast("Api", self),
            lambda _namespace, _name, _uid, _node: True,
            patience=2.0,
            now=lambda: self.now,
            sleep=self.sleep,
        )
        tries = (
            locks.take(NodeName("a"), PodRef(Namespace("default"), PodName(name), PodUid(name)), "lock")
            for name in names
        )
        found = await asyncio.gather(*tries, return_exceptions=True)
        assert all(isinstance(each, LockContentionError) for each in found)


async def test_waiting_for_a_lock_ends_in_time_however_slow_the_api_server_is() -> None:
    server = HeldByAPeer(takes=1.0)
    await server.contended_by("ours")
    assert server.now <= 1_000.0 + 2.0 + 1.1


async def test_of_all_pods_that_wait_for_the_lock_of_a_node_one_asks_for_it() -> None:
    server = HeldByAPeer()
    await server.contended_by(*(f"p{number}" for number in range(30)))
    alone = HeldByAPeer()
    await alone.contended_by("p0")
    assert server.asked <= alone.asked + 30
