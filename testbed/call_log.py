"""The calls a scripted plugin has seen, in order, and waiting for more of them."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable
from typing import TypeVar, get_args

from testbed.changes import Changes
from testbed.errors import BedError
from testbed.plugin_records import Call, Ending, MethodName, Outcome, Preference

_Found = TypeVar("_Found")

# Over all plugins of the process: two resources' calls can be put in order, and a CDI name made of it is never reused.
_orders = itertools.count(1)


class CallLog:
    """Remembers everything; forgets nothing, not even over a plugin's crash."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._calls: list[Call] = []
        self._endings: list[Ending] = []
        self._changes = Changes()

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(self._calls)

    @property
    def endings(self) -> tuple[Ending, ...]:
        return tuple(self._endings)

    def begin(
        self,
        method: MethodName,
        *,
        ids: tuple[tuple[str, ...], ...] = (),
        preferences: tuple[Preference, ...] = (),
    ) -> Call:
        call = Call(next(_orders), time.monotonic(), method, ids, preferences)
        self._calls.append(call)
        self._changes.announce()
        return call

    def end(self, call: Call, outcome: Outcome, sentence: str = "") -> None:
        self._endings.append(Ending(call, time.monotonic(), outcome, sentence))
        self._changes.announce()

    async def calls_of(self, method: MethodName, count: int, within: float) -> tuple[Call, ...]:
        """The first calls of this method, once there are so many. Raises `BedError` when they do not come."""
        return await self._wait(
            lambda: tuple(call for call in self._calls if call.method == method), method, count, within
        )

    async def endings_of(self, method: MethodName, count: int, within: float) -> tuple[Ending, ...]:
        """The first endings of calls of this method, once there are so many."""
        return await self._wait(
            lambda: tuple(ending for ending in self._endings if ending.call.method == method),
            method,
            count,
            within,
        )

    async def _wait(
        self, found: Callable[[], tuple[_Found, ...]], method: MethodName, count: int, within: float
    ) -> tuple[_Found, ...]:
        if method not in get_args(MethodName):
            raise BedError(
                f"a device plugin has no method {method!r}: it has {', '.join(get_args(MethodName))}"
            )
        if not await self._changes.until(lambda: len(found()) >= count, within=within):
            raise BedError(
                f"within {within:g} s the plugin of {self._owner} saw {len(found())} of {count} awaited "
                f"{method}; its calls so far: {self._summary()}"
            )
        return found()[:count]

    def _summary(self) -> str:
        counted = Counter(call.method for call in self._calls)
        return ", ".join(f"{method} {number}" for method, number in counted.items()) or "none"
