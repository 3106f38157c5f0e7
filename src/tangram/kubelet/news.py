"""Waiting for the next piece of news, woken by whoever has it and never by a clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NoReturn


class News:
    """Everyone who waits is woken by each announcement. For one event loop only.

    Take the `edition` first, look second, wait third: an announcement made in between then ends the wait at once, so
    that nothing is missed however often the one who looks has to give way to others.
    """

    def __init__(self) -> None:
        self.edition = 0
        self._next: asyncio.Event | None = None

    def announce(self) -> None:
        self.edition += 1
        if self._next is not None:
            self._next.set()
            self._next = None

    async def after(self, edition: int, within: float | None = None) -> None:
        """Return when there is something newer than that edition, or when the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self.edition == edition:
                    self._next = self._next or asyncio.Event()
                    await self._next.wait()

    async def keep_looking(self, look: Callable[[], Awaitable[float]]) -> NoReturn:
        """Look again and again. Each look says for how many seconds it is good unless there is news; 0 for none."""
        while True:
            edition = self.edition
            pause = await look()
            if pause:
                await self.after(edition, pause)
