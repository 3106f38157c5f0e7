"""The life of a daemon: tasks with names, an end when it is asked for, and an end when a task dies.

A task nobody awaits dies in silence, and a daemon that looks alive without the task that matters is worse than one
that was restarted. So every task is one of two kinds. A vital one that ends, for whatever reason, ends the process, and
Kubernetes starts it anew with a clean state. A lasting one is begun again, after a pause that grows.

SIGTERM and SIGINT ask for the end: first the service may put its things in order, for a limited time, then all tasks
are cancelled. A second signal skips the rest of the first step.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Final

from tangram.daemon.memory import keep_small

DONE: Final = 0
FAILED: Final = 1

DRAIN_S: Final = 10.0
CANCEL_S: Final = 5.0
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 30.0
LONG_ENOUGH_S: Final = 60.0
"""A lasting task that ran for so long was well; its next failure is a first one."""

_log = logging.getLogger(__name__)

Drain = Callable[[], Awaitable[None]]


class Supervisor:
    """Made by `run_service`, or by a test inside a running loop."""

    def __init__(self) -> None:
        self.stopping: Final = asyncio.Event()
        """Set once the end is asked for. Services watch it, tests set it."""
        self.hurry: Final = asyncio.Event()
        """Set once the end is asked for again."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._deaths: list[str] = []
        self._cancelling = False

    def vital(self, name: str, task: Coroutine[None, None, None]) -> None:
        """Begin a task whose end is the end of the process."""
        self._begin(name, task).add_done_callback(self._ended)

    def lasting(self, name: str, begin: Callable[[], Coroutine[None, None, None]]) -> None:
        """Begin a task that is begun again whenever it ends."""
        self._begin(name, self._lasting(name, begin))

    def unhealthy(self) -> list[str]:
        """Why the process should be restarted, for `/healthz`."""
        return list(self._deaths)

    def stop(self) -> None:
        """Ask for the end; asked again, without further ado."""
        (self.hurry if self.stopping.is_set() else self.stopping).set()

    async def until_stopped(self, drain: Drain | None = None, *, limit: float = DRAIN_S) -> int:
        """Wait for the end, put things in order, cancel what runs. The exit status of the process."""
        await self.stopping.wait()
        if drain is not None:
            await self._drain(drain, limit)
        await self._cancel()
        return FAILED if self._deaths else DONE

    def _begin(self, name: str, task: Coroutine[None, None, None]) -> asyncio.Task[None]:
        self._tasks[name] = asyncio.create_task(task, name=name)
        return self._tasks[name]

    def _ended(self, task: asyncio.Task[None]) -> None:
        if self._cancelling:
            return
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None and self.stopping.is_set():
            # Put in order, as was asked.
            return
        if error is None:
            self._die(f"{task.get_name()} ended, though it should run for ever")
        else:
            self._die(f"{task.get_name()} failed: {type(error).__name__}: {error}", error)

    def _die(self, sentence: str, error: BaseException | None = None) -> None:
        _log.error("%s", sentence, exc_info=error)
        self._deaths.append(sentence)
        self.stopping.set()

    async def _lasting(self, name: str, begin: Callable[[], Coroutine[None, None, None]]) -> None:
        pause = FIRST_PAUSE_S
        clock = asyncio.get_running_loop().time
        while True:
            begun = clock()
            try:
                await begin()
                _log.warning("%s ended and is begun again", name)
            except Exception:  # noqa: BLE001 - whatever it was, the task is wanted
                _log.exception("%s failed and is begun again", name)
            if clock() - begun > LONG_ENOUGH_S:
                pause = FIRST_PAUSE_S
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def _drain(self, drain: Drain, limit: float) -> None:
        draining = asyncio.ensure_future(drain())
        hurry = asyncio.create_task(self.hurry.wait())
        await asyncio.wait({draining, hurry}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        if not draining.done():
            _log.warning("the orderly end was cut short after %g s at most", limit)
            draining.cancel()
            await asyncio.wait({draining}, timeout=CANCEL_S)
        elif not draining.cancelled() and (error := draining.exception()) is not None:
            self._die(f"the orderly end failed: {type(error).__name__}: {error}", error)

    async def _cancel(self) -> None:
        self._cancelling = True
        tasks = [task for task in self._tasks.values() if not task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            ended, left = await asyncio.wait(tasks, timeout=CANCEL_S)
            for task in ended:
                if not task.cancelled() and (error := task.exception()) is not None:
                    _log.warning("%s failed while ending", task.get_name(), exc_info=error)
            for task in left:
                _log.warning("%s does not end and is left behind", task.get_name())


def run_service(serve: Callable[[Supervisor], Coroutine[None, None, int]]) -> int:
    """Run a service until a signal or a death ends it. It begins its tasks and awaits `until_stopped`.

    What `serve` raises itself, before or after, is the caller's to word.
    """
    keep_small()
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(_with_signals(loop, serve))
    finally:
        # `asyncio.run` would wait for tasks that refuse to end; those were named, and end with the process.
        with suppress(RuntimeError):
            loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _with_signals(
    loop: asyncio.AbstractEventLoop, serve: Callable[[Supervisor], Coroutine[None, None, int]]
) -> int:
    supervisor = Supervisor()
    signals = (signal.SIGTERM, signal.SIGINT)
    for number in signals:
        loop.add_signal_handler(number, _asked_to_end, supervisor, number)
    try:
        return await serve(supervisor)
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _asked_to_end(supervisor: Supervisor, number: signal.Signals) -> None:
    _log.info("%s: ending", number.name, extra={"signal": number.name})
    supervisor.stop()
