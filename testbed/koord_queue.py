"""The pods that koord-scheduler has yet to place: to be tried now, after a while, or once something has changed."""

import asyncio

from testbed.changes import Changes
from testbed.koord_state import Key


class WaitingPods:
    """`next` hands them out, first come first served."""

    def __init__(self, backoff: tuple[float, float]) -> None:
        self._first, self._most = backoff
        self._due: dict[Key, float] = {}
        self._stuck: dict[Key, str] = {}
        self._attempts: dict[Key, int] = {}
        self._changes = Changes()

    @property
    def stuck(self) -> dict[Key, str]:
        """Pods that fitted nowhere when they were last tried, and why."""
        return dict(self._stuck)

    def add(self, key: Key) -> None:
        if key not in self._stuck:
            self._due.setdefault(key, 0.0)
        self._changes.announce()

    def drop(self, key: Key) -> None:
        """Bound, ended or gone."""
        for book in (self._due, self._stuck, self._attempts):
            book.pop(key, None)

    def try_later(self, key: Key) -> None:
        """Its bind failed."""
        self._due[key] = self._later(key)
        self._changes.announce()

    def fits_nowhere(self, key: Key, why: str) -> None:
        self._stuck[key] = why

    def something_changed(self) -> None:
        """Whoever fitted nowhere is tried again."""
        for key in list(self._stuck):
            del self._stuck[key]
            self._due[key] = self._later(key)
        self._changes.announce()

    async def next(self) -> Key:
        loop = asyncio.get_running_loop()
        while True:
            first = min(self._due, key=lambda each: self._due[each], default=None)
            if first is not None and self._due[first] <= loop.time():
                del self._due[first]
                self._attempts[first] = self._attempts.get(first, 0) + 1
                return first
            pause = None if first is None else self._due[first] - loop.time()
            known = dict(self._due)
            await self._changes.until(lambda known=known: self._due != known, within=pause)

    def _later(self, key: Key) -> float:
        tried = max(self._attempts.get(key, 1), 1)
        return asyncio.get_running_loop().time() + min(self._first * 2 ** (tried - 1), self._most)
