"""A queue of things to look at, by name: each name once, never twice at the same time, again later when it failed.

A controller that is told of a change does not act on the change; it notes whose affair it was, and looks at the whole
of that affair when its turn comes. So nothing depends on the order in which news arrive, a hundred changes of one
Deployment are one look at it, and a look that failed is repeated, each time after a longer pause. Nothing is looked at
by the clock unless somebody asked for that moment.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

from tangram.kube.errors import CONFLICT, ApiError, ApiUnreachable

FIRST_PAUSE_S: Final = 0.05
LONGEST_PAUSE_S: Final = 30.0
PACE_S: Final = 0.05
"""Between two looks at the same thing: what changes meanwhile is seen by the second one."""
AT_ONCE: Final = 8

_log = logging.getLogger(__name__)

Name = TypeVar("Name", bound=Hashable)


class WorkQueue(Generic[Name]):
    """`add` from anywhere in the loop; `run` until cancelled."""

    def __init__(self, title: str, look: Callable[[Name], Awaitable[None]], *, pace: float = PACE_S) -> None:
        self._title = title
        self._look = look
        self._pace = pace
        self._ready: dict[Name, None] = {}
        self._busy: set[Name] = set()
        self._failures: dict[Name, int] = {}
        self._timers: dict[Name, asyncio.TimerHandle] = {}
        self._some = asyncio.Event()

    def add(self, name: Name) -> None:
        """Look at it soon; while it is being looked at, once more afterwards."""
        self._ready[name] = None
        self._some.set()

    def add_after(self, name: Name, seconds: float) -> None:
        """Look at it then, or at the moment already noted if that is earlier."""
        loop = asyncio.get_running_loop()
        timer = self._timers.get(name)
        if timer is not None and timer.when() <= loop.time() + seconds:
            return
        if timer is not None:
            timer.cancel()
        self._timers[name] = loop.call_later(max(seconds, 0.0), self._due, name)

    def forget(self, name: Name) -> None:
        """It is gone: nothing that was noted for later has a meaning any more."""
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
        self._failures.pop(name, None)

    async def run(self) -> None:
        room = asyncio.Semaphore(AT_ONCE)
        try:
            async with asyncio.TaskGroup() as looks:
                while True:
                    await self._some.wait()
                    await room.acquire()
                    name = next((each for each in self._ready if each not in self._busy), None)
                    if name is None:
                        room.release()
                        self._some.clear()
                        continue
                    del self._ready[name]
                    self._busy.add(name)
                    looks.create_task(self._one(name, room))
        finally:
            # Begun again, it looks once more at what it was looking at.
            self._ready |= dict.fromkeys(self._busy)
            self._busy.clear()
            self._some.set()

    async def _one(self, name: Name, room: asyncio.Semaphore) -> None:
        try:
            await self._look(name)
        except ApiError as error:
            if error.status != CONFLICT:
                _log.warning("%s: %s: %s", self._title, name, error)
            self._again(name)
        except ApiUnreachable as error:
            _log.warning("%s: %s: %s", self._title, name, error)
            self._again(name)
        except Exception:  # noqa: BLE001 - whatever one object does to its controller, the others go on
            _log.exception("%s: %s could not be looked at", self._title, name)
            self._again(name)
        else:
            self._failures.pop(name, None)
        finally:
            room.release()
        await asyncio.sleep(self._pace)
        self._busy.discard(name)
        if name in self._ready:
            self._some.set()

    def _again(self, name: Name) -> None:
        failed = self._failures.get(name, 0)
        self._failures[name] = failed + 1
        self.add_after(name, min(FIRST_PAUSE_S * 2 ** min(failed, 16), LONGEST_PAUSE_S))

    def _due(self, name: Name) -> None:
        self._timers.pop(name, None)
        self.add(name)
