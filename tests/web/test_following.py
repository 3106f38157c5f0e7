"""The picture follows the scheduler: never half of a cluster, the active replica where there is one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from builders.dashboards import node, view
from builders.virtual_time import virtually
from tangram.reports.view_shape import Rules, View
from tangram.web.following import TRIES, WAIT_S, Follower
from tangram.web.known import NotKnown
from tangram.web.picture import Change, Picture

Answer = View | NotKnown


class Script:
    """Answers one after the other; then nothing any more, as a scheduler without news."""

    def __init__(self, *answers: Answer | Callable[[], Answer]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int, float]] = []
        self.left = 0

    async def view(self, epoch: str, since: int, wait: float) -> View:
        self.asked.append((epoch, since, wait))
        if not self.answers:
            await asyncio.sleep(10_000)
        answer = self.answers.pop(0)
        if callable(answer):
            answer = answer()
        if isinstance(answer, NotKnown):
            raise answer
        return answer

    async def leave(self) -> None:
        self.left += 1


async def _followed(script: Script, seconds: float = 60.0) -> tuple[Picture, list[Change]]:
    picture = Picture()
    changes: list[Change] = []
    picture.listeners.append(changes.append)
    task = asyncio.create_task(Follower(picture, script).run())
    await asyncio.sleep(seconds)
    task.cancel()
    return picture, changes


@virtually
async def test_it_asks_from_where_it_is_and_waits_for_news() -> None:
    script = Script(view(node("a"), version=7), view(node("b"), version=9))
    picture, _ = await _followed(script)
    assert script.asked == [("", 0, 0), ("one", 7, WAIT_S), ("one", 9, WAIT_S)]
    assert sorted(picture.nodes) == ["a", "b"]


@virtually
async def test_a_beginning_in_parts_is_taken_as_one() -> None:
    script = Script(
        view(node("a"), version=1, more=True),
        view(node("b"), version=2, more=True),
        view(node("c"), version=3, gone=["a"]),
    )
    picture, changes = await _followed(script)
    assert sorted(picture.nodes) == ["b", "c"]
    assert picture.complete
    assert len(changes) == 1
    assert [wait for _, _, wait in script.asked] == [0, 0, 0, WAIT_S]


@virtually
async def test_what_a_part_in_the_middle_says_of_rules_and_of_the_unread_is_kept() -> None:
    rules = Rules(node_policy="spread", card_policy=["binpack"], scheduler_names=["tangram-scheduler"])
    told = view(node("b"), version=2, more=True, rules=rules)
    script = Script(
        view(node("a"), version=1, more=True),
        msgspec.structs.replace(told, unread={"b": ["its cards cannot be read"]}),
        view(node("c"), version=3),
    )
    picture, _ = await _followed(script)
    assert picture.rules == rules
    assert picture.unread == {"b": ["its cards cannot be read"]}


@virtually
async def test_nobody_sees_half_a_cluster_while_a_scheduler_is_replaced() -> None:
    script = Script(
        view(node("a"), node("b"), version=5),
        view(node("a"), epoch="two", version=1, more=True),
        view(node("b"), epoch="two", version=2),
    )
    picture, changes = await _followed(script)
    assert picture.epoch == "two"
    assert [len(change.nodes) for change in changes] == [2, 0], (
        "the second tells the same, so nothing changed"
    )


@virtually
async def test_trouble_is_noted_and_forgotten_and_the_picture_stays() -> None:
    script = Script(view(node("a"), version=1), *[NotKnown("x", "The scheduler is away.")] * 3)
    picture = Picture()
    seen: list[str] = []
    script.answers.append(lambda: seen.append(picture.trouble) or view(node("b"), version=2))
    task = asyncio.create_task(Follower(picture, script).run())
    await asyncio.sleep(60)
    task.cancel()
    assert seen == ["The scheduler is away."]
    assert picture.trouble == ""
    assert sorted(picture.nodes) == ["a", "b"]
    assert script.left == 3, "each try may find another replica"


@virtually
async def test_a_standby_is_left_for_the_active_one() -> None:
    standby = view(node("a"), epoch="standby", active=False)
    script = Script(standby, standby, view(node("a"), node("b"), epoch="active"))
    picture, _ = await _followed(script)
    assert picture.epoch == "active"
    assert script.left == 2


@virtually
async def test_a_standby_is_believed_when_there_is_nobody_else() -> None:
    script = Script(*[view(node("a"), epoch="standby", active=False)] * TRIES)
    picture, _ = await _followed(script, 20)
    assert picture.epoch == "standby"
    assert sorted(picture.nodes) == ["a"]
    assert script.left == TRIES


@virtually
async def test_others_are_tried_again_after_a_while() -> None:
    standby = view(node("a"), epoch="standby", active=False)

    class Waiting(Script):
        """A standby without news, until other connections are tried again."""

        async def view(self, epoch: str, since: int, wait: float) -> View:
            self.asked.append((epoch, since, wait))
            await asyncio.sleep(wait)
            return view(node("b"), epoch="active", version=4) if self.left > TRIES else standby

    script = Waiting()
    picture, _ = await _followed(script, 120)
    assert picture.epoch == "active"


@virtually
async def test_a_scheduler_that_changes_half_way_is_asked_anew() -> None:
    script = Script(
        view(node("a"), version=1, more=True),
        view(node("x"), epoch="two", version=1),
        view(node("x"), epoch="two", version=1),
    )
    picture, _ = await _followed(script)
    assert sorted(picture.nodes) == ["x"]
