"""One person's questions wait for each other, and nobody else waits for them."""

from __future__ import annotations

import asyncio

import pytest

from builders.waiting import until
from tangram.web import turns as module
from tangram.web.known import NotKnown
from tangram.web.turns import AT_ONCE, Turns


async def test_a_few_questions_of_one_person_are_asked_at_a_time_and_nobody_elses_wait() -> None:
    turns, under_way, most, ended = Turns(), 0, 0, asyncio.Event()

    async def ask(person: str) -> None:
        nonlocal under_way, most
        async with turns.of(person):
            under_way += 1
            most = max(most, under_way)
            await ended.wait()
            under_way -= 1

    asked = [asyncio.create_task(ask("ann")) for _ in range(3 * AT_ONCE)]
    await until(lambda: under_way == AT_ONCE)
    other = asyncio.create_task(ask("bob"))
    await until(lambda: under_way == AT_ONCE + 1)
    ended.set()
    await asyncio.gather(*asked, other)
    assert most == AT_ONCE + 1
    assert len(turns) == 0


async def test_whoever_asks_far_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OF_ONE", 1)
    turns = Turns()
    async with turns.of("ann"):
        with pytest.raises(NotKnown, match="which is the most") as refused:
            async with turns.of("ann"):
                pass
        async with turns.of("bob"):
            pass
    assert refused.value.status == 429
    async with turns.of("ann"):
        pass


async def test_a_question_that_is_given_up_leaves_no_trace() -> None:
    turns = Turns()

    async def ask() -> None:
        async with turns.of("ann"):
            await asyncio.Event().wait()

    asked = [asyncio.create_task(ask()) for _ in range(2 * AT_ONCE)]
    await until(lambda: len(turns) == 1)
    for task in asked:
        task.cancel()
    await asyncio.gather(*asked, return_exceptions=True)
    assert len(turns) == 0
