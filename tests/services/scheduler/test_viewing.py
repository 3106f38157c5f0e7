"""A dashboard hears everything once and then what changed, soon, bounded, and without costing anybody else."""

import asyncio
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import metax_node
from builders.scheduling import World, metax_cards, node, pod
from builders.virtual_time import in_virtual_time, virtually
from tangram.engine.place import Defaults
from tangram.model.cards import CardMode
from tangram.model.pods import PodRef
from tangram.model.requests import NodePolicy
from tangram.reports.view_shape import LONGEST_WAIT_S, MOST_NODES, MOST_PODS, NodeDetail, View
from tangram.services.scheduler.desk import Reply
from tangram.services.scheduler.explain_turns import Turns
from tangram.services.scheduler.verdicts import Stage, Verdict, Verdicts
from tangram.services.scheduler.view_changes import MOST_GONE
from tangram.services.scheduler.view_unasked import HOLDS_S, PATIENCE_S
from tangram.services.scheduler.view_waiting import STILL_S
from tangram.services.scheduler.viewing import LOOK_S, MOST_FOLLOWERS, Viewing
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


@virtually
async def test_whoever_waits_hears_of_a_change_at_once_and_else_nothing_in_the_end() -> None:
    world = World(node("a"))
    follower, loop = Follower(world), asyncio.get_running_loop()
    await follower.everything()
    began = loop.time()
    quiet = await follower.ask(LONGEST_WAIT_S, rest=False)
    assert (quiet.version, quiet.nodes, quiet.room is not None) == (follower.version, [], True)
    assert loop.time() - began == pytest.approx(LONGEST_WAIT_S)
    waiting = asyncio.create_task(follower.ask(LONGEST_WAIT_S, rest=False))
    await asyncio.sleep(3)
    world.put_node(node("b"))
    began = loop.time()
    assert [each.node for each in (await waiting).nodes] == ["b"]
    assert loop.time() - began <= 2 * LOOK_S


@virtually
async def test_a_pod_that_is_being_deleted_says_so_for_as_long_as_it_holds_its_cards() -> None:
    world = World(node("a"))
    follower = Follower(world)
    world.create(pod("p"))
    await world.schedule("p")
    await follower.everything()
    world.pods["default", "p"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    world.hear("default", "p")
    (told,) = (await follower.ask()).nodes
    assert [each.phase for card in told.cards for each in card.holders] == ["Terminating"]
    assert (await follower.ask()).nodes == []
    detail = await follower.viewing.node("a")
    assert b"Terminating" in detail.body
    world.delete("p")
    (told,) = (await follower.ask()).nodes
    assert told.cards_free == 2


@virtually
async def test_a_node_that_goes_or_loses_its_cards_is_gone() -> None:
    world = World(node("a"), node("b"), node("c"))
    follower = Follower(world)
    await follower.everything()
    world.remove_node("a")
    world.put_node(node("b", []))
    view = await follower.ask()
    assert sorted(view.gone_nodes) == ["a", "b"]
    assert list(follower.nodes) == ["c"]
    world.put_node(node("b"))
    assert [each.node for each in (await follower.ask()).nodes] == ["b"]


@virtually
async def test_a_node_that_is_replaced_between_two_looks_is_told_as_both() -> None:
    world = World(node("a"))
    follower = Follower(world)
    await follower.everything()
    world.remove_node("a")
    world.put_node(node("z"))
    view = await follower.ask()
    assert (view.gone_nodes, [each.node for each in view.nodes]) == (["a"], ["z"])


@virtually
async def test_many_nodes_come_in_several_answers_of_which_none_is_large() -> None:
    world = World(
        *(node(f"n{number}", metax_cards(f"n{number}", 1)) for number in range(2 * MOST_NODES + 10))
    )
    world.create(pod("waits"))
    follower = Follower(world)
    answers = [await follower.ask()]
    while answers[-1].more:
        answers.append(await follower.ask(LONGEST_WAIT_S))
    assert [len(each.nodes) for each in answers] == [MOST_NODES, MOST_NODES, 10]
    assert len({each.epoch for each in answers}) == 1
    assert len(follower.nodes) == 2 * MOST_NODES + 10
    assert list(follower.waiting.values()) == ["default/waits"]


@virtually
async def test_what_changes_while_the_first_answers_are_read_is_not_lost() -> None:
    world = World(*(node(f"n{number}", metax_cards(f"n{number}", 1)) for number in range(MOST_NODES + 50)))
    follower = Follower(world)
    assert (await follower.ask()).more
    world.create(pod("p"))
    world.filter("p", ["n0"])
    world.remove_node("n1")
    world.remove_node(f"n{MOST_NODES + 1}")
    await follower.everything()
    assert follower.nodes["n0"] == 16 << 30
    assert len(follower.nodes) == MOST_NODES + 48


@virtually
async def test_another_process_is_a_beginning() -> None:
    world = World(node("a"))
    follower = Follower(world)
    await follower.everything()
    old = follower.epoch
    follower.viewing = Follower(world).viewing
    assert [each.node for each in (await follower.ask()).nodes] == ["a"]
    assert follower.epoch != old


@virtually
async def test_who_slept_through_more_than_is_remembered_begins_anew_and_others_do_not() -> None:
    world = World(node("a"))
    sleeper = Follower(world)
    await sleeper.everything()
    awake = Follower(world)
    awake.viewing = sleeper.viewing
    names = [f"p{number}" for number in range(MOST_PODS)]
    for age in range(MOST_GONE // MOST_PODS + 1):
        for name in names:
            world.create(pod(name, uid=f"{name}-{age}"))
        await awake.ask()
        for name in names:
            world.delete(name)
        await awake.ask()
    told = await awake.ask()
    assert not told.nodes
    assert not awake.waiting
    epoch = sleeper.epoch
    view = await sleeper.ask()
    assert [each.node for each in view.nodes] == ["a"]
    assert not view.gone_waiting
    assert sleeper.epoch != epoch
    assert (await sleeper.ask()).epoch == view.epoch


@virtually
async def test_a_pod_that_waits_is_told_with_what_it_asks_and_its_last_verdict() -> None:
    world = World(node("a"))
    follower = Follower(world)
    world.now = 5000.0
    world.create(pod("waits", priority=7))
    world.now = 5100.0
    (only,) = (await follower.ask()).waiting
    assert (only.pod, only.since, only.priority, only.stage) == ("default/waits", 5000.0, 7, "")
    assert (only.vendor, only.cards, only.memory, only.cores) == ("metax", 1, 16 << 30, 50)
    victim = PodRef(Namespace("theirs"), PodName("secret"), PodUid("u"))
    note(follower, at=5101.0, sentence="theirs/secret is asked to go", pods=(victim,))
    (only,) = (await follower.ask()).waiting
    assert (only.stage, only.word, only.at) == ("preempt", "RoomBeingMade", 5101.0)
    assert only.sentence == "a pod of another namespace is asked to go"
    await world.bind("waits", "a")
    world.filter("waits", ["a"])
    await world.bind("waits", "a")
    gone = await follower.ask()
    assert gone.gone_waiting == ["uid-waits"]
    assert gone.nodes[0].cards[1].holders[0].pod == "default/waits"


@virtually
async def test_the_same_verdict_again_is_no_news_until_it_has_held_for_a_while() -> None:
    world = World(node("a"))
    follower = Follower(world)
    world.create(pod("waits"))
    note(follower, at=100.0, sentence="no room")
    await follower.everything()
    note(follower, at=100.0 + STILL_S / 2, sentence="no room")
    assert not (await follower.ask()).waiting
    note(follower, at=100.0 + STILL_S, sentence="no room")
    (still,) = (await follower.ask()).waiting
    assert still.at == 100.0 + STILL_S
    note(follower, at=101.0 + STILL_S, sentence="less room")
    assert [each.sentence for each in (await follower.ask()).waiting] == ["less room"]


@virtually
async def test_of_a_crowd_that_waits_some_are_told_and_the_others_counted() -> None:
    world = World(node("a"))
    for number in range(MOST_PODS + 3):
        world.create(pod(f"p{number}"))
    follower = Follower(world)
    view = await follower.ask()
    assert (len(view.waiting), view.untold_waiting) == (MOST_PODS, 3)
    world.delete("p0")
    view = await follower.ask()
    assert ([each.pod for each in view.waiting], view.untold_waiting) == ([f"default/p{MOST_PODS}"], 2)


@virtually
async def test_rules_are_told_again_when_they_change() -> None:
    world = World(node("a"))
    follower = Follower(world)
    first = await follower.ask()
    assert first.rules is not None
    assert first.rules.scheduler_names == ["hami-scheduler", "tangram-scheduler"]
    assert (await follower.ask()).rules is None
    world.state.defaults = Defaults(node_policy=NodePolicy.FRAG)
    changed = (await follower.ask(LONGEST_WAIT_S)).rules
    assert changed is not None
    assert (changed.node_policy, changed.card_policy) == ("frag", ["spread"])


@virtually
async def test_a_standby_and_a_copy_that_is_behind_say_so() -> None:
    class Behind:
        def stale_for(self, now: float) -> float:
            return now - 990.0

    world = World(node("a"))
    follower = Follower(world)
    world.leadership.copies = {"pods": Behind()}
    assert (await follower.ask()).behind_s == 10.0
    world.leadership.synced = False
    assert refused(await follower.viewing.view(), 503).startswith("the cluster has not been read yet")
    assert refused(await follower.viewing.node("a"), 503).startswith("the cluster has not been read yet")


@virtually
async def test_only_so_many_may_wait_and_all_are_let_go_at_the_end() -> None:
    follower, loop = Follower(World(node("a"))), asyncio.get_running_loop()
    await follower.everything()
    asked = follower.epoch, str(follower.version), "20"
    waiting = [asyncio.create_task(follower.viewing.view(*asked)) for _ in range(MOST_FOLLOWERS)]
    await asyncio.sleep(1)
    assert refused(await follower.viewing.view(*asked), 503) == (
        "16 wait for news already, and no more may: ask without wait, or later"
    )
    assert (await follower.viewing.view(*asked[:2])).status == 200
    began = loop.time()
    follower.viewing.end()
    assert {reply.status for reply in await asyncio.gather(*waiting)} == {200}
    assert loop.time() == began
    assert (await follower.viewing.view(*asked)).status == 200


@given(st.text(max_size=80), st.text(max_size=30), st.text(max_size=30))
def test_whatever_is_asked_is_answered(epoch: str, since: str, wait: str) -> None:
    async def asking() -> None:
        follower = Follower(World(node("a")))
        reply = await follower.viewing.view(epoch, since, wait)
        assert reply.status in (200, 400)
        if reply.status == 400:
            assert json.loads(reply.body)["Error"]

    in_virtual_time(asking())


@virtually
async def test_what_cannot_be_read_is_said_with_what_to_write() -> None:
    follower = Follower(World(node("a")))
    await follower.everything()
    view = follower.viewing.view
    assert "write that of the last answer" in refused(await view("a b"), 400)
    assert "a whole number" in refused(await view("", "-1"), 400)
    assert "from 0 to 20" in refused(await view("", "", "21"), 400)
    assert "from 0 to 20" in refused(await view("", "", "nan"), 400)
    assert "has only told up to version" in refused(await view(follower.epoch, "999999"), 400)
    beyond = f"{follower.epoch.partition('.')[0]}.{10**17}"
    assert read(await view(beyond, "3")).epoch != beyond


@virtually
async def test_one_node_is_told_in_full_with_the_sets_weighed_for_a_pod() -> None:
    world = World(node("a", metax_cards("a", 3)))
    world.create(pod("waits"))
    world.create(pod("runs"))
    world.filter("runs", ["a"])
    await world.bind("runs", "a")
    follower = Follower(world)
    for name, chosen in (("waits", True), ("runs", True)):
        reply = await follower.viewing.node("a", f"default/{name}")
        detail = msgspec.json.decode(reply.body, type=NodeDetail)
        assert (detail.pod, detail.node.node, len(detail.node.cards)) == (f"default/{name}", "a", 3)
        assert [each.chosen for each in detail.sets] == [chosen, False]
        assert detail.cpu_milli == 64_000
    held = [card.index for card in detail.node.cards if card.holders]
    assert detail.sets[0].cards == held
    for nothing in ("", "default/nobody"):
        reply = await follower.viewing.node("a", nothing)
        assert msgspec.json.decode(reply.body, type=NodeDetail).sets == []


@virtually
async def test_the_links_of_a_node_are_told_by_the_numbers_of_its_cards() -> None:
    world = World()
    world.state.ledger.put_node(metax_node("a", 8))
    reply = await Follower(world).viewing.node("a")
    detail = msgspec.json.decode(reply.body, type=NodeDetail)
    assert detail.links_known
    assert len(detail.links) == 28
    assert (detail.links[0].kind, detail.links[0].pcie) == ("MX", "single-switch")


@virtually
async def test_a_node_without_cards_or_that_is_not_there_gets_a_sentence() -> None:
    follower = Follower(World(node("plain", [])))
    assert "it announces no cards" in refused(await follower.viewing.node("plain"), 404)
    assert "there is no such node" in refused(await follower.viewing.node("nowhere"), 404)


def note(follower: Follower, **said: Any) -> None:  # noqa: ANN401 - any field of a verdict
    ref = PodRef(Namespace("default"), PodName("waits"), PodUid("uid-waits"))
    follower.verdicts.note(ref, Verdict(stage=Stage.PREEMPT, word="RoomBeingMade", **said))


@virtually
async def test_a_pod_that_kube_scheduler_turns_away_by_itself_has_a_reason_too() -> None:
    world = World(node("one", metax_cards("one", 2, mode=CardMode.WHOLE)))
    follower = Follower(world)
    world.create(pod("large", {"metax-tech.com/gpu": 3}))
    (fresh,) = (await follower.ask()).waiting
    assert fresh.sentence == ""
    world.now += PATIENCE_S
    (told,) = (await follower.ask()).waiting
    assert told.word == "NodeInsufficientDevice"
    assert told.sentence == "the only node does not fit: too few cards of the kind asked"
    world.now += HOLDS_S
    assert (await follower.ask()).waiting == []


@virtually
async def test_a_node_in_full_is_worked_out_in_its_turn_like_any_explanation() -> None:
    world = World(node("one"))
    turns, order = Turns(), list[str]()
    viewing = Viewing(
        world.state, Verdicts(), world.leadership, lambda: world.now, now=lambda: world.now, turns=turns
    )

    async def explained() -> None:
        await turns.made(lambda: order.append("explained"))

    async def looked_at() -> None:
        assert (await viewing.node("one")).status == 200
        order.append("node")

    await asyncio.gather(explained(), looked_at(), explained())
    assert order == ["explained", "node", "explained"]
