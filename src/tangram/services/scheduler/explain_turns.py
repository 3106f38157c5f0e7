"""Explanations one after another, and never more than half of the scheduler's time for them.

An explanation is worked out in the process that places everybody's pods, and anybody who may read pods of one namespace
may ask for as many as they like. Of a pod with many containers one takes seconds in a large cluster. So they stand in
line, piece by piece in the order in which they were asked for; after each piece there is a rest as long as it took, in
which pods are placed; and the line has an end, for everybody and sooner for each.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, TypeVar

MOST: Final = 64
"""Questions under way."""
MOST_OF_ONE: Final = 32
"""Of one account. A dashboard is one, and asks for all who look at it."""
LONGEST_REST_S: Final = 5.0
_WORTH_A_REST_S: Final = 0.005

_Made = TypeVar("_Made")


class Crowded(Exception):  # noqa: N818 - says what is the case
    """The line is full; `status` says whether by this account alone."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class Turns:
    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._lock = asyncio.Lock()
        self._free_from = float("-inf")
        self._asked: Counter[str] = Counter()

    @contextmanager
    def place_of(self, user: str) -> Generator[None]:
        """A place in the line for one question of that user. Raises `Crowded`."""
        if self._asked[user] >= MOST_OF_ONE:
            raise Crowded(
                429,
                f"{user!r:.200} has asked {MOST_OF_ONE} questions that are still to be answered, which is the most; "
                "wait for some of the answers",
            )
        if self._asked.total() >= MOST:
            raise Crowded(
                503,
                f"{MOST} questions are still to be answered, which is the most; ask again in a moment",
            )
        self._asked[user] += 1
        try:
            yield
        finally:
            self._asked[user] -= 1
            if not self._asked[user]:
                del self._asked[user]

    async def made(self, make: Callable[[], _Made]) -> _Made:
        """What that makes, in its turn."""
        async with self._lock:
            # Filter calls that came meanwhile go first, whether there is a rest or not.
            await asyncio.sleep(max(0.0, self._free_from - self._clock()))
            began = self._clock()
            try:
                return make()
            finally:
                ended = self._clock()
                took = ended - began
                self._free_from = ended + (min(took, LONGEST_REST_S) if took >= _WORTH_A_REST_S else 0.0)
