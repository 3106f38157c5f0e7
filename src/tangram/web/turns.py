"""How many questions of one person are with the scheduler at a time.

The scheduler answers a dashboard as one account, and places everybody's pods besides. So whoever looks gets a few of
the dashboard's questions and never all of them: more of one person's wait for each other, and beyond that are refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from tangram.web.known import NotKnown

AT_ONCE: Final = 4
MOST_OF_ONE: Final = 32
"""Those that wait among them."""


class _Line:
    def __init__(self) -> None:
        self.asked = 0
        self.turn = asyncio.Semaphore(AT_ONCE)


class Turns:
    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    def __len__(self) -> int:
        """How many people have questions under way."""
        return len(self._lines)

    @asynccontextmanager
    async def of(self, person: str) -> AsyncGenerator[None]:
        """One question of that person. Raises `NotKnown` when there are too many."""
        line = self._lines.setdefault(person, _Line())
        if line.asked >= MOST_OF_ONE:
            raise NotKnown(
                "too-many-asked",
                f"{MOST_OF_ONE} questions of yours are still to be answered, which is the most; wait for some of them.",
                429,
            )
        line.asked += 1
        try:
            async with line.turn:
                yield
        finally:
            line.asked -= 1
            if not line.asked:
                del self._lines[person]
