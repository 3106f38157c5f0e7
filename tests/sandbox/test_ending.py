"""Work is given up when the end is asked for, and only then."""

from __future__ import annotations

import asyncio

import pytest

from tangram.sandbox.ending import Stopped, ended_by


async def test_a_block_is_given_up_when_the_event_is_set() -> None:
    event, tidied = asyncio.Event(), asyncio.Event()
    asyncio.get_running_loop().call_soon(event.set)
    with pytest.raises(Stopped):
        await _wait_under(event, tidied)
    assert tidied.is_set()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def _wait_under(event: asyncio.Event, tidied: asyncio.Event) -> None:
    async with ended_by(event):
        try:
            await asyncio.Event().wait()
        finally:
            tidied.set()


async def test_a_block_that_ends_first_is_not_disturbed() -> None:
    event = asyncio.Event()
    async with ended_by(event):
        await asyncio.sleep(0)
    event.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_an_event_that_was_set_before_ends_it_at_its_first_wait() -> None:
    event = asyncio.Event()
    event.set()
    with pytest.raises(Stopped):
        async with ended_by(event):
            await asyncio.sleep(3600)


async def test_somebody_elses_cancellation_stays_one() -> None:
    async def work() -> None:
        async with ended_by(asyncio.Event()):
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_inner_of_two_is_given_up_alone() -> None:
    outer, inner = asyncio.Event(), asyncio.Event()
    inner.set()
    async with ended_by(outer):
        with pytest.raises(Stopped):
            async with ended_by(inner):
                await asyncio.sleep(3600)
        await asyncio.sleep(0)
