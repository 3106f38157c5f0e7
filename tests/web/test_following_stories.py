"""Whatever happens in a cluster, a picture that follows the scheduler is what a fresh look at its books would say.

The scheduler's side is the real one: its books, its view, its answers in parts. It is replaced now and then, forgets
who went, and some of its answers are lost on the way.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.dashboards import EVERYTHING, FakeKnown
from builders.scheduling import Object, World, metax_cards, mthreads_cards, node, pod
from builders.virtual_time import in_virtual_time
from tangram.engine.demand import demand_from
from tangram.model.cards import Card, CardMode
from tangram.reports.expecting import shapes_there
from tangram.reports.status import Scene, status_of
from tangram.reports.view_shape import View
from tangram.services.scheduler import viewing as telling
from tangram.services.scheduler.verdicts import Verdicts
from tangram.services.scheduler.viewing import LOOK_S, Viewing
from tangram.web.figures import figures
from tangram.web.following import Follower
from tangram.web.history.keeping import History
from tangram.web.known import NotKnown
from tangram.web.pages import cluster
from tangram.web.picture import Picture, Sums, sums_of
from tangram.web.placed import placed_of
from tangram.web.sight import Sight
from tangram.web.tile_telling import told_whole
from tangram.web.tiles import book_of

NAMES = ("a", "b", "c", "d", "e")
TEAMS = ("research", "vision")
LIMITS: tuple[Object, ...] = (
    {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 33, "metax-tech.com/vmemory": 16},
    {"metax-tech.com/sgpu": 2, "metax-tech.com/vmemory": 8},
    {"metax-tech.com/gpu": 1},
    {"metax-tech.com/gpu": 16},
    {"mthreads.com/vgpu": 1, "mthreads.com/sgpu-memory": 16, "mthreads.com/sgpu-core": 3},
    {"mthreads.com/gpu": 1},
)
SIGHTS = (
    EVERYTHING,
    Sight(nodes=True, namespaces=frozenset({"vision"})),
    Sight(namespaces=frozenset({"vision"})),
)
POLL_S = 15.0

_steps = st.one_of(
    st.tuples(st.just("pod"), st.integers(0, 11), st.sampled_from(LIMITS), st.sampled_from(TEAMS)),
    st.tuples(st.sampled_from(["place", "promise", "delete", "end"]), st.integers(0, 11)),
    st.tuples(st.just("node"), st.sampled_from(NAMES), st.integers(0, 9)),
    st.tuples(st.just("remove"), st.sampled_from(NAMES)),
    st.tuples(st.sampled_from(["restart", "lose", "poll", "poll", "poll"])),
)


def _cards(name: str, kind: int) -> list[Card]:
    if kind == 0:
        return []
    cards = (
        mthreads_cards(name)
        if kind in (1, 2)
        else metax_cards(name, mode=CardMode.WHOLE if kind in (3, 4) else CardMode.SLICED)
    )
    if kind in (2, 4, 6):
        first = msgspec.structs.replace(
            cards[0], healthy=kind == 4, health_reason="" if kind == 4 else "heat", cordoned=kind != 6
        )
        return [first, *cards[1:]]
    return cards


def _node(name: str, kind: int) -> Object:
    made: Object = node(name, _cards(name, kind))
    if kind == 7:
        made["spec"]["unschedulable"] = True
    if kind == 8:
        made["spec"]["taints"] = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    return made


class Cluster:
    """The scheduler's side, and the line to it."""

    def __init__(self) -> None:
        self.world = World(*(_node(name, 5) for name in NAMES[:3]))
        self.lost = 0
        self.begin()

    def begin(self) -> None:
        world = self.world
        self.viewing = Viewing(
            world.state, Verdicts(), world.leadership, lambda: world.now, now=lambda: world.now
        )
        world.state.arrived = self.viewing.arrived

    async def view(self, epoch: str, since: int, wait: float) -> View:
        # A follower asks more often than the scheduler looks; what it looks at is what it tells.
        await asyncio.sleep(LOOK_S)
        reply = await self.viewing.view(epoch, str(since), str(wait))
        assert reply.status == 200, reply.body
        if self.lost:
            self.lost -= 1
            raise NotKnown("lost", "The answer was lost.")
        return msgspec.json.decode(reply.body, type=View)

    async def leave(self) -> None:
        return None

    async def do(self, step: tuple[Any, ...]) -> None:
        world, what = self.world, step[0]
        world.now += 7.0
        if what == "pod":
            name = f"p{step[1]}"
            if all((team, name) not in world.pods for team in TEAMS):
                world.create(pod(name, step[2], namespace=step[3]))
        elif what == "node":
            world.put_node(_node(step[1], step[2]))
        elif what == "remove" and step[1] in world.nodes:
            world.remove_node(step[1])
        elif what == "restart":
            self.begin()
        elif what == "lose":
            self.lost = 2
        elif what in ("place", "promise", "delete", "end"):
            await self._to_pod(what, f"p{step[1]}")

    async def _to_pod(self, what: str, name: str) -> None:
        world = self.world
        team = next((each for each in TEAMS if (each, name) in world.pods), "")
        if not team:
            return
        if what == "delete":
            world.delete(name, team)
        elif what == "end":
            world.end(name, namespace=team)
        elif not world.node_of(name, team) and world.pods[team, name]["status"]["phase"] == "Pending":
            if what == "promise":
                world.filter(name, namespace=team)
            else:
                await world.schedule(name, team)


class Browser:
    """What `static/cluster.js` keeps of what it is told."""

    def __init__(self, picture: Picture, sight: Sight) -> None:
        self.picture, self.sight = picture, sight
        self.version = 0
        self.rows: dict[str, Any] = {}
        self.take(told_whole(picture, sight))

    def take(self, body: bytes) -> None:
        told = msgspec.json.decode(body)
        if told["whole"]:
            self.rows.clear()
        self.rows.update({row[0]: _read(row, told) for row in told["rows"]})
        for name in told["gone"]:
            self.rows.pop(name, None)
        self.version = told["version"]

    def follow(self, known: FakeKnown) -> None:
        seen = self.picture.version
        told = cluster.tiles(self.sight, known, self.version)
        if told:
            self.take(told)
        self.version = seen


def _read(row: list[Any], told: dict[str, Any]) -> list[Any]:
    """A row with words instead of their places."""
    tables = (told["kinds"], told["policies"], told["namespaces"])
    words = [[table[place] for place in places] for table, places in zip(tables, row[2:5], strict=True)]
    return [row[0], row[1], *words, row[5]]


def _same(picture: Picture, world: World, browsers: list[Browser], history: History) -> None:
    ledger = world.state.ledger
    asked = [each.waiting.request for each in world.state.waiting.values() if each.waiting is not None]
    demand = demand_from(shapes_there(ledger, [each for each in asked if each is not None]))
    report = status_of(Scene(ledger, (), demand))
    assert picture.nodes == {each.node: each for each in report.nodes}
    totals, room = report.totals, picture.room
    assert room is not None
    assert (room.idle, room.shapes) == (totals.idle, totals.kinds)
    assert (room.fragmented if room.shapes else 0.0) == totals.fragmented_cards
    assert picture.sums == sums_of(picture.nodes)
    assert picture.sums == Sums(
        nodes=totals.nodes_with_cards,
        cards=totals.cards,
        cards_free=totals.cards_free,
        cards_unhealthy=totals.cards_unhealthy,
        cards_cordoned=totals.cards_cordoned,
        memory=totals.memory,
        memory_used=totals.memory_used,
        compute=totals.compute,
        compute_used=totals.compute_used,
    )
    assert {uid: each.pod for uid, each in picture.waiting.items()} == {
        uid: str(each.ref) for uid, each in world.state.waiting.items()
    }
    holding = {holder.pod for each in report.nodes for card in each.cards for holder in card.holders}
    assert figures(picture, EVERYTHING).pods == len(holding)
    assert set(history.arrivals()) == holding
    assert sum(each.pods for each in history.held_now().values()) == len(holding)
    assert list(book_of(picture).tiles) == [each.node for each in report.nodes]
    for sight in SIGHTS:
        placed = {f"{each.namespace}/{each.name}" for each in placed_of(picture).rows(sight)}
        assert placed == {pod for pod in holding if sight.of_pod(pod)}
        sums = figures(picture, sight).sums
        seen = {
            tile.name: picture.nodes[tile.name]
            for tile in book_of(picture).tiles.values()
            if tile.seen(sight)
        }
        assert sums == sums_of(seen)
    for browser in browsers:
        fresh = Browser(picture, browser.sight)
        assert browser.rows == fresh.rows


async def _story(steps: list[tuple[Any, ...]]) -> None:
    there, known, history = Cluster(), FakeKnown(), History()
    picture = known.picture
    picture.listeners.append(history.note)
    following = asyncio.create_task(Follower(picture, there).run())
    try:
        await asyncio.sleep(POLL_S)
        browsers = [Browser(picture, sight) for sight in SIGHTS]
        for step in [*steps, ("poll",)]:
            await there.do(step)
            if step[0] != "poll":
                continue
            await asyncio.sleep(POLL_S)
            for browser in browsers:
                browser.follow(known)
            assert not picture.trouble
            _same(picture, there.world, browsers, history)
            # Who waits for so long was looked at again meanwhile, and the same is said.
            await asyncio.sleep(POLL_S)
    finally:
        following.cancel()


@settings(max_examples=60)
@given(st.lists(_steps, max_size=30))
def test_a_picture_is_what_a_fresh_look_would_say(steps: list[tuple[Any, ...]]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        # So few that every answer comes in parts.
        patched.setattr(telling, "MOST_NODES", 2)
        in_virtual_time(_story(steps))
