"""From the moment the Lease becomes ours to the moment we may decide.

What the last holder bound just before its end must be in our copies first. The API server answers a list from a copy of
its own that is at least as new as the question; our watches are fed from the same copy, so a moment later they have
brought everything that was true then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.services.scheduler.leadership import Leadership
from tangram.services.scheduler.rereading import PODS

SETTLE_S: Final = 1.0

_log = logging.getLogger(__name__)


class Takeover:
    def __init__(self, api: Api, leadership: Leadership, done: Callable[[], None]) -> None:
        self._api = api
        self._leadership = leadership
        self._done = done
        self._gained = asyncio.Event()

    def lease_changed(self, ours: bool) -> None:  # noqa: FBT001 - a callback with one fact
        """Told of every gain and loss of the Lease."""
        _log.info("this scheduler is %s", "active from now on" if ours else "a standby")
        self._leadership.caught_up = False
        if ours:
            self._gained.set()

    async def run(self) -> None:
        while True:
            await self._gained.wait()
            self._gained.clear()
            try:
                await self._api.get(PODS, limit="1")
            except (ApiError, ApiUnreachable) as error:
                _log.warning("what the last holder did cannot be read yet: %s", error)
                await asyncio.sleep(SETTLE_S)
                self._gained.set()
                continue
            await asyncio.sleep(SETTLE_S)
            if not self._gained.is_set():
                self._leadership.caught_up = True
                self._done()
