"""Work that is given up when the end is asked for: what starts, what tells a story, and what takes long to end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Stopped(Exception):  # noqa: N818 - says what is the case
    """The end was asked for before it was done."""


@asynccontextmanager
async def ended_by(event: asyncio.Event) -> AsyncGenerator[None]:
    """Give the block up as soon as the event is set. Raises `Stopped` then."""
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("only a task can be given up")
    watching = asyncio.create_task(_cancel(task, event), name="the end of what is under way")
    try:
        yield
    except asyncio.CancelledError:
        if event.is_set() and task.uncancel() <= 0:
            raise Stopped from None
        raise
    finally:
        watching.cancel()


async def _cancel(task: asyncio.Task[object], event: asyncio.Event) -> None:
    await event.wait()
    task.cancel()
