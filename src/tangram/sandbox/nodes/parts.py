"""One of our services as part of this process: started, stopped in good order, killed, and started again.

A service that dies is begun anew after a moment, as Kubernetes would do with its pod.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Final

from tangram.daemon.running import DRAIN_S, Drain, Supervisor

PAUSE_S: Final = 1.0

_log = logging.getLogger("tangram.sandbox")

Serve = Callable[[Supervisor], Coroutine[None, None, int]]


class _Killable(Supervisor):
    """A supervisor that can end everything in the middle of what it does."""

    def __init__(self) -> None:
        super().__init__()
        self.killed = False

    async def until_stopped(self, drain: Drain | None = None, *, limit: float = DRAIN_S) -> int:
        await self.stopping.wait()
        return await super().until_stopped(None if self.killed else drain, limit=limit)


class Part:
    def __init__(self, name: str, serve: Serve) -> None:
        self._name = name
        self._serve = serve
        self._supervisor: _Killable | None = None
        self._task: asyncio.Task[None] | None = None
        self._wanted = False

    @property
    def running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        if not self.running:
            self._wanted = True
            self._task = asyncio.create_task(self._run(), name=self._name)

    async def stop(self) -> None:
        """End it in good order."""
        await self._end(killed=False)

    async def kill(self) -> None:
        """End it at once: nobody is told, nothing is put in order."""
        await self._end(killed=True)

    async def _end(self, *, killed: bool) -> None:
        self._wanted = False
        task, self._task = self._task, None
        if task is None:
            return
        if self._supervisor is None:
            task.cancel()
        else:
            self._supervisor.killed = killed
            self._supervisor.stop()
        await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        while self._wanted:
            self._supervisor = _Killable()
            try:
                await self._serve(self._supervisor)
            except Exception:  # noqa: BLE001 - whatever it was, the service is wanted
                _log.exception("%s failed and is begun again", self._name)
            finally:
                self._supervisor = None
            if self._wanted:
                await asyncio.sleep(PAUSE_S)
