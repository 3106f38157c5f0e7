"""Waiting for something to become true, woken by who changes it and never by a clock; ending a task for certain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Changes:
    """Everyone who waits here is woken by each announcement and looks again. For one event loop only."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def announce(self) -> None:
        self._next.set()
        self._next = asyncio.Event()

    async def until(self, holds: Callable[[], bool], *, within: float | None = None) -> bool:
        """Whether it came to hold in time. There is no await between the look and the wait, so no change is missed."""
        try:
            async with asyncio.timeout(within):
                while not holds():
                    await self._next.wait()
        except TimeoutError:
            return False
        return True


async def cut_off(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end. Raises what it died of, if it was not this."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error
