"""One replay at a time, only while somebody looks, and at most one in ten minutes.

The result stays with its time until the next one. A replay that fails or takes too long is told in a sentence, and is
not tried again before its time either: what failed once would keep a core busy for nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from tangram.web.replay.asking import Scope
from tangram.web.replay.shape import Answer, Question

EVERY_S: Final = 600.0
LIMIT_S: Final = 120.0
LARGEST: Final = 4_000_000
COMMAND: Final = (sys.executable, "-P", "-m", "tangram.web.replay.working")
"""`-P`: of our own modules, whatever lies in the folder that somebody started us in."""

_log = logging.getLogger(__name__)


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """What came out of one."""

    at: float
    """When it was begun, which is when its state of the cluster was true."""
    scope: Scope
    answer: Answer | None = None
    trouble: str = ""
    """Why there is no answer; empty where there is one."""


class Replays:
    def __init__(self, command: Sequence[str] = COMMAND, limit_s: float = LIMIT_S) -> None:
        self._command = command
        self._limit_s = limit_s
        self._task: asyncio.Task[None] | None = None
        self._tried = 0.0
        self.latest: Replay | None = None
        self.version = 0
        """Grows whenever `latest` or `working` is another."""

    @property
    def working(self) -> bool:
        return self._task is not None and not self._task.done()

    def look(self, make: Callable[[], tuple[Question, Scope]], now: float) -> None:
        """Somebody looks: begin one if it is time. `make` is called in a thread and must only read."""
        if self.working or (self._tried and now - self._tried < EVERY_S):
            return
        self._tried = now
        self.version += 1
        self._task = asyncio.get_running_loop().create_task(self._run(make, now), name="replay")

    async def close(self) -> None:
        """End what is under way."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self, make: Callable[[], tuple[Question, Scope]], now: float) -> None:
        scope = Scope(nodes=0, of_nodes=0, cards=0, pods=0)
        try:
            question, scope = await asyncio.to_thread(make)
            answer = await self._asked(msgspec.json.encode(question)) if question.nodes else None
            self.latest = Replay(at=now, scope=scope, answer=answer)
        except TimeoutError:
            self._fail(now, scope, f"it took longer than {self._limit_s:g} s")
        except (OSError, ValueError, RuntimeError, msgspec.MsgspecError) as error:
            self._fail(now, scope, f"{error}"[:300] or type(error).__name__)
        finally:
            self.version += 1

    def _fail(self, now: float, scope: Scope, why: str) -> None:
        _log.warning("the replay of the cluster's pods failed: %s", why, extra={"error": why})
        self.latest = Replay(at=now, scope=scope, trouble=why)

    async def _asked(self, question: bytes) -> Answer:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # One core is what it may take; the mathematics library would take all of them.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        try:
            async with asyncio.timeout(self._limit_s):
                said, complaint = await process.communicate(question)
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            last = complaint.decode(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
            raise RuntimeError(f"its process ended with {process.returncode}: {last[0]}")
        if len(said) > LARGEST:
            raise RuntimeError(f"its answer has {len(said)} bytes, and at most {LARGEST} are read")
        return msgspec.json.decode(said, type=Answer)
