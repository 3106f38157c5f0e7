"""`tangram sandbox` as a process that tests start, interrupt and kill."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from builders.waiting import LIMIT_S

COMMAND: Final = Path(sys.executable).with_name("tangram")
READY: Final = "Ctrl-C stops"


class Ended(NamedTuple):
    status: int
    out: str
    err: str
    seconds: float


class Process:
    """Lines it printed are in `lines`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.lines: list[str] = []

    @property
    def pid(self) -> int:
        return self._process.pid

    async def until(self, beginning: str) -> None:
        """Until it has printed a line that begins so, blanks aside. Raises `AssertionError` with what it said else."""
        if self._process.stdout is None:
            raise RuntimeError("it was started without a pipe")
        async with asyncio.timeout(LIMIT_S):
            while line := (await self._process.stdout.readline()).decode():
                self.lines.append(line.rstrip("\n"))
                if line.strip().startswith(beginning):
                    return
        _, errors = await self._process.communicate()
        raise AssertionError("".join(self.lines) + errors.decode())

    async def end(self, *signals: signal.Signals) -> Ended:
        """Send these, a moment apart, and wait for its end."""
        began = asyncio.get_running_loop().time()
        for number in signals:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)
            await asyncio.sleep(0.02)
        async with asyncio.timeout(LIMIT_S):
            out, err = await self._process.communicate()
        seconds = asyncio.get_running_loop().time() - began
        text = "\n".join([*self.lines, out.decode()])
        return Ended(self._process.returncode or 0, text, err.decode(), seconds)


@asynccontextmanager
async def sandbox_process(
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
) -> AsyncGenerator[Process]:
    """The command in that folder, with words `before` it; killed at the end of the block if it still runs."""
    process = await asyncio.create_subprocess_exec(
        *before, COMMAND, "sandbox", *arguments,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | (environment or {}),
        # Signals of a terminal reach all of its processes; those of a test only this one.
        start_new_session=True,
    )  # fmt: skip
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
