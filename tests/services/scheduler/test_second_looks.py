"""A pod that was refused while the room for it was on its way is looked at again, and no other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest

from builders.scheduling import World, metax_cards, node, pod
from builders.virtual_time import in_virtual_time
from tangram.services.scheduler import second_looks
from tangram.services.scheduler.outcomes import Answered
from tangram.services.scheduler.second_looks import SecondLooks
from tangram.services.scheduler.seen import Waiting
from tangram.units.ids import PodUid

WHOLE = {"metax-tech.com/sgpu": 1}
SETTLED = second_looks.ASKED_AGAIN_S * 2


class Looking:
    """A world with one card, in use, and a pod that was refused because of it."""

    def __init__(self) -> None:
        self.world = World(node("a", metax_cards("a", 1)))
        self.decided: list[str] = []
        loop = asyncio.get_running_loop()
        self.looks = SecondLooks(self.world.state, self._decide, loop.time)

    def _decide(self, waiting: Waiting) -> None:
        self.decided.append(str(waiting.pod.ref.name))

    async def refuse(self) -> None:
        await self.world.schedule("first")
        self.ask("second")

    def ask(self, name: str) -> Answered:
        _, verdict = self.world.filter_with_verdict(name)
        assert verdict is not None
        self.looks.answered(verdict.pod.uid, verdict.answered)
        return verdict.answered


@asynccontextmanager
async def looking() -> AsyncGenerator[Looking]:
    scene = Looking()
    for name in ("first", "second"):
        scene.world.create(pod(name, WHOLE))
    await scene.refuse()
    task = asyncio.create_task(scene.looks.run())
    try:
        yield scene
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def test_a_pod_refused_just_before_we_heard_of_the_room_is_decided_about_once() -> None:
    async def story() -> None:
        async with looking() as scene:
            scene.world.delete("first")
            scene.looks.changed()
            scene.looks.changed()
            await asyncio.sleep(SETTLED)
            assert scene.decided == ["second"]
            scene.looks.changed()
            await asyncio.sleep(SETTLED)
            assert scene.decided == ["second"]

    in_virtual_time(story())


def test_a_pod_that_is_asked_about_again_by_itself_is_left_alone() -> None:
    async def story() -> None:
        async with looking() as scene:
            scene.world.delete("first")
            scene.looks.changed()
            await asyncio.sleep(second_looks.ASKED_AGAIN_S / 2)
            assert scene.ask("second") is Answered.CHOSEN
            await asyncio.sleep(SETTLED)
            assert scene.decided == []

    in_virtual_time(story())


def test_a_pod_refused_again_after_we_heard_is_left_alone() -> None:
    async def story() -> None:
        async with looking() as scene:
            scene.looks.changed()
            await asyncio.sleep(second_looks.ASKED_AGAIN_S / 2)
            assert scene.ask("second") is Answered.UNFIT
            await asyncio.sleep(SETTLED)
            assert scene.decided == []

    in_virtual_time(story())


def test_a_refusal_from_long_before_the_change_was_right_and_is_left_alone() -> None:
    async def story() -> None:
        async with looking() as scene:
            await asyncio.sleep(second_looks.KEPT_IN_MIND_S + 1)
            scene.looks.changed()
            await asyncio.sleep(SETTLED)
            assert scene.decided == []

    in_virtual_time(story())


def test_a_pod_that_has_gone_meanwhile_is_forgotten() -> None:
    async def story() -> None:
        async with looking() as scene:
            scene.world.delete("second")
            scene.looks.changed()
            await asyncio.sleep(SETTLED)
            assert scene.decided == []

    in_virtual_time(story())


@pytest.mark.parametrize(
    ("how", "looked_at"),
    [
        pytest.param(Answered.UNFIT, True, id="no-room"),
        pytest.param(Answered.QUOTA, True, id="over-quota"),
        pytest.param(Answered.GANG, True, id="no-room-for-its-gang"),
        pytest.param(Answered.PROMISED, False, id="tried-again-anyway"),
        pytest.param(Answered.REFUSED, False, id="senseless"),
        pytest.param(Answered.CHOSEN, False, id="placed"),
    ],
)
def test_only_refusals_that_new_room_can_undo_are_kept_in_mind(how: Answered, *, looked_at: bool) -> None:
    async def story() -> None:
        async with looking() as scene:
            scene.looks.answered(PodUid("uid-second"), how)
            scene.looks.changed()
            await asyncio.sleep(SETTLED)
            assert bool(scene.decided) is looked_at

    in_virtual_time(story())


def test_a_flood_of_refusals_is_remembered_only_in_part() -> None:
    async def story() -> None:
        async with looking() as scene:
            for number in range(second_looks.MOST * 2):
                scene.looks.answered(PodUid(f"uid-{number}"), Answered.UNFIT)
            scene.looks.changed()
            await asyncio.sleep(SETTLED)
            assert scene.decided == ["second"]

    in_virtual_time(story())
