"""A dashboard hears everything once and then what changed, soon, bounded, and without costing anybody else."""

import asyncio
import json

import msgspec
import pytest

from builders.scheduling import World, metax_cards, node, pod
from builders.virtual_time import virtually
from tangram.model.pods import PodRef
from tangram.reports.view_shape import LONGEST_WAIT_S, MOST_NODES, MOST_PODS, NodeDetail, View
from tangram.services.scheduler.desk import Reply
from tangram.services.scheduler.verdicts import Stage, Verdict, Verdicts
from tangram.services.scheduler.viewing import LOOK_S, MOST_FOLLOWERS, Viewing
from tangram.services.scheduler.view_waiting import STILL_S
from tangram.units.ids import Namespace, PodName, PodUid


class Follower:
    """Asks as a dashboard does, with what it heard last, and keeps what it was told."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.verdicts = Verdicts()
        self.viewing = Viewing(
            world.state, self.verdicts, world.leadership, lambda: world.now, now=lambda: world.now
        )
        world.state.arrived = self.viewing.arrived
        self.epoch, self.version = "", 0
        self.nodes: dict[str, int] = {}
        self.waiting: dict[str, str] = {}

    async def ask(self, wait: float = 0, *, rest: bool = True) -> View:
        if rest:
            await asyncio.sleep(LOOK_S)
        view = read(await self.viewing.view(self.epoch, str(self.version), str(wait)))
        if view.epoch != self.epoch:
            self.nodes.clear()
            self.waiting.clear()
        self.epoch, self.version = view.epoch, view.version
        self.nodes.update({each.node: each.memory_used for each in view.nodes})
        for name in view.gone_nodes:
            self.nodes.pop(name, None)
        self.waiting.update({each.uid: each.pod for each in view.waiting})
        for uid in view.gone_waiting:
            self.waiting.pop(uid, None)
        return view

    async def everything(self) -> None:
        while (await self.ask()).more:
            pass


def read(reply: Reply) -> View:
    assert reply.status == 200, reply.body
    return msgspec.json.decode(reply.body, type=View)


def refused(reply: Reply, status: int) -> str:
    assert reply.status == status, reply.body
    return json.loads(reply.body)["Error"]


@virtually
async def test_the_first_answer_is_everything_and_the_next_what_changed() -> None:
    world = World(node("a"), node("b"), node("plain", []))
    world.create(pod("waits"))
    follower = Follower(world)
    first = await follower.ask()
    assert [each.node for each in first.nodes] == ["a", "b"]
    assert [each.pod for each in first.waiting] == ["default/waits"]
    assert (first.active, first.more, first.room is not None, first.rules is not None) == (
        True,
        False,
        True,
        True,
    )
    again = await follower.ask()
    assert (again.version, again.nodes, again.waiting, again.rules) == (first.version, [], [], None)
    world.filter("waits", ["b"])
    changed = await follower.ask()
    assert [(each.node, each.cards_free) for each in changed.nodes] == [("b", 1)]
    assert changed.nodes[0].cards[1].holders[0].pod == "default/waits"
