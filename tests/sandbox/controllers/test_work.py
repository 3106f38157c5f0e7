"""The queue behind every controller: each name once, in turn, and again when it failed."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from builders.virtual_time import virtually
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.sandbox.controllers.work import LONGEST_PAUSE_S, WorkQueue


@asynccontextmanager
async def working(
    look: Callable[[str], Awaitable[None]], pace: float = 0.05
) -> AsyncGenerator[WorkQueue[str]]:
    queue = WorkQueue[str]("a test", look, pace=pace)
    running = asyncio.create_task(queue.run())
    try:
        yield queue
    finally:
        running.cancel()
        await asyncio.wait({running})


@virtually
async def test_a_name_is_looked_at_once_however_often_it_was_added() -> None:
    seen: list[str] = []

    async def look(name: str) -> None:
        seen.append(name)

    async with working(look) as queue:
        for name in "aabba":
            queue.add(name)
        await asyncio.sleep(1)
        assert seen == ["a", "b"]


@virtually
async def test_a_name_is_never_looked_at_twice_at_the_same_time() -> None:
    busy: list[str] = []
    times = 0

    async def look(name: str) -> None:
        nonlocal times
        times += 1
        assert name not in busy
        busy.append(name)
        await asyncio.sleep(1)
        busy.remove(name)

    async with working(look) as queue:
        queue.add("a")
        for _ in range(5):
            await asyncio.sleep(0.15)
            queue.add("a")
        await asyncio.sleep(5)
        # What was added during the first look is one more look.
        assert times == 2


@virtually
async def test_one_that_takes_long_keeps_nobody_else_waiting() -> None:
    seen: list[str] = []

    async def look(name: str) -> None:
        if name == "slow":
            await asyncio.sleep(100)
        seen.append(name)

    async with working(look) as queue:
        queue.add("slow")
        queue.add("fast")
        await asyncio.sleep(1)
        assert seen == ["fast"]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ApiError(409, "Conflict", "changed"), id="a conflict"),
        pytest.param(ApiError(500, "InternalError", "broken"), id="a broken server"),
        pytest.param(ApiUnreachable("nobody there"), id="no server"),
        pytest.param(KeyError("spec"), id="our own fault"),
    ],
)
def test_a_look_that_failed_is_repeated_later_and_later(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    moments: list[float] = []

    async def story() -> None:
        clock = asyncio.get_running_loop().time

        async def look(_name: str) -> None:
            moments.append(clock())
            if len(moments) < 13:
                raise error

        async with working(look, pace=0.0) as queue:
            queue.add("a")
            await asyncio.sleep(300)

    caplog.set_level(logging.CRITICAL)
    virtually(story)()
    pauses = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert len(moments) == 13
    assert pauses == sorted(pauses)
    assert pauses[0] < 0.1
    assert pauses[-1] == pytest.approx(LONGEST_PAUSE_S)


@virtually
async def test_the_earlier_of_two_moments_counts_and_a_name_that_is_gone_has_none() -> None:
    seen: list[tuple[str, float]] = []
    clock = asyncio.get_running_loop().time

    async def look(name: str) -> None:
        seen.append((name, round(clock() - began, 3)))

    async with working(look) as queue:
        began = clock()
        queue.add_after("a", 10)
        queue.add_after("a", 5)
        queue.add_after("a", 20)
        queue.add_after("gone", 5)
        queue.forget("gone")
        await asyncio.sleep(60)
        assert seen == [("a", 5.0)]


@virtually
async def test_begun_again_it_looks_at_what_it_was_looking_at() -> None:
    seen: list[str] = []

    async def look(name: str) -> None:
        await asyncio.sleep(1)
        seen.append(name)

    queue = WorkQueue[str]("a test", look)
    running = asyncio.create_task(queue.run())
    queue.add("a")
    await asyncio.sleep(0.5)
    running.cancel()
    await asyncio.wait({running})
    running = asyncio.create_task(queue.run())
    await asyncio.sleep(5)
    running.cancel()
    await asyncio.wait({running})
    assert seen == ["a"]
