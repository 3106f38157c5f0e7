"""Stories told in a sandbox inside a test: what was printed, the commands to look with, and the page that shows it."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from builders.sandboxes import sandbox
from tangram.daemon.running import Supervisor
from tangram.daemon.yaml_text import parse_document
from tangram.sandbox.nodes.described import default_machines, read_machines
from tangram.sandbox.scenarios.all import play
from tangram.sandbox.scenarios.clearing import clear
from tangram.sandbox.scenarios.stage import Scenario
from tangram.sandbox.starting import Options, Sandbox

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "scenarios.md"
COMMAND_S: Final = 60.0
_SECONDS: Final = re.compile(r"\b\d+\.\d s\b")
_BLOCK: Final = "```console\n$ tangram sandbox --scenario {name}\n"


@asynccontextmanager
async def box_for(cluster: str, folder: Path, *, real: bool = False) -> AsyncGenerator[Sandbox]:
    """A sandbox with these machines, or the usual ones."""
    machines = read_machines(parse_document(cluster)) if cluster else default_machines()
    supervisor = Supervisor()
    async with sandbox(
        Options(folder=folder, machines=machines, real=real), supervisor, lambda _step: None
    ) as box:
        yield box
        supervisor.stop()
        await supervisor.until_stopped()


@asynccontextmanager
async def told(scenario: Scenario, box: Sandbox) -> AsyncGenerator[tuple[list[str], list[str]]]:
    """The story's lines as people see them, and its commands; its pods are there until the block ends."""
    lines: list[str] = []
    commands: list[str] = []

    def look(command: str) -> None:
        commands.append(command)
        lines.append(f"    $ {command}".replace(str(box.folder.path), ".sandbox"))

    try:
        await play(scenario, box, tell=lambda line: lines.append(f"  {line}".rstrip()), look=look)
        yield lines, commands
    finally:
        await clear(scenario.namespaces, box.api)


def settled(lines: Sequence[str]) -> list[str]:
    """A story without what differs from one time to the next: how long something took."""
    return [_SECONDS.sub("N s", line) for line in lines]


def on_page(name: str) -> list[str]:
    """The story as the page shows it."""
    text = PAGE.read_text("utf-8")
    start = _BLOCK.format(name=name)
    assert start in text, f"docs/scenarios.md does not tell {name}"
    return text.partition(start)[2].partition("```")[0].splitlines()


def write_on_page(name: str, lines: Sequence[str]) -> None:
    before, start, rest = PAGE.read_text("utf-8").partition(_BLOCK.format(name=name))
    assert start, f"docs/scenarios.md does not tell {name}"
    _, fence, after = rest.partition("```")
    PAGE.write_text(before + start + "".join(f"{line}\n" for line in lines) + fence + after, "utf-8")


async def failures_of(commands: Sequence[str], box: Sandbox, kubectl: Path | None) -> list[str]:
    """What went wrong when these were typed into a shell: nothing, hopefully."""
    tangram = Path(sys.executable).with_name("tangram")
    programs = {"tangram": tangram, "kubectl": kubectl}
    at_once = asyncio.Semaphore(2)

    async def typed(command: str) -> str:
        program, *words = command.split()
        path = programs[program]
        if path is None:
            return ""
        async with at_once:
            process = await asyncio.create_subprocess_exec(
                str(path),
                *words,
                env={
                    **os.environ,
                    "KUBECONFIG": str(box.folder.kubeconfig),
                    "KUBECACHEDIR": str(box.folder.path / "cache"),
                },
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            async with asyncio.timeout(COMMAND_S):
                output, _ = await process.communicate()
        # A pod that waits is an answer, too.
        legal = (0, 1) if words[0] == "explain" else (0,)
        good = process.returncode in legal and output.strip() and b"No resources found" not in output
        return "" if good else f"{command}: status {process.returncode}\n{output.decode(errors='replace')}"

    return [failure for failure in await asyncio.gather(*map(typed, commands)) if failure]
