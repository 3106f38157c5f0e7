"""A sandbox as people start it: the command in a process of its own, in a folder that looks like a checkout."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
START_S: Final = 120.0
END_S: Final = 60.0


def like_a_checkout(folder: Path, kubectl: Path | None = None) -> Path:
    """The folder with what commands of our documents name; with a `bin` of its own for a chosen kubectl."""
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / ".venv").symlink_to(sys.prefix)
    programs = folder / "bin"
    programs.mkdir()
    if kubectl is not None:
        (programs / "kubectl").symlink_to(kubectl)
    return programs


@asynccontextmanager
async def running(
    command: Sequence[str], folder: Path, *, patience: float = START_S, ends_with: int = 0
) -> AsyncGenerator[list[str]]:
    """A command that starts a sandbox, until the block ends: the lines it has printed when it is ready.

    Then it is interrupted as by Ctrl-C, and must end with that status. Raises `RuntimeError` with its words where it
    does not get that far.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        # A terminal's Ctrl-C reaches every process in it, so there is a group to interrupt.
        start_new_session=True,
    )
    lines: list[str] = []
    try:
        async with asyncio.timeout(patience):
            await _until_ready(process, lines)
        yield lines
    finally:
        status = await _interrupted(process)
    if status != ends_with:
        raise RuntimeError(f"the sandbox ended with status {status}")


async def _until_ready(process: asyncio.subprocess.Process, lines: list[str]) -> None:
    if process.stdout is None:
        raise RuntimeError("it was started without a pipe")
    async for line in process.stdout:
        lines.append(line.decode().rstrip("\n"))
        if lines[-1].startswith("Ctrl-C stops"):
            return
    raise RuntimeError("the sandbox did not start:\n" + "\n".join(lines))


async def _interrupted(process: asyncio.subprocess.Process) -> int:
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGINT)
    try:
        await asyncio.wait_for(process.communicate(), END_S)
    except TimeoutError:
        os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()
    return process.returncode or 0
