"""The README read from the top by somebody with a sandbox and a second shell."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

from builders.pictures import on_a_terminal
from builders.sandbox_runs import ROOT, START_S, running
from testbed.consoles import Printed, Step, blocks, differing, played, shell, steps

README: Final = ROOT / "README.md"
PICTURE: Final = ROOT / "docs" / "pictures" / "sandbox.svg"
PICTURED: Final = ("tangram status",)
PICTURED_AFTER: Final = "tangram explain four"
"""The command after which the picture was taken."""


class Reading(NamedTuple):
    shown: list[list[Step]]
    """The blocks of the page."""
    printed: list[list[Step]]
    """The same commands with what they printed."""
    pictured: str
    """What the commands of the picture printed on a terminal, with its control codes."""
    tried: list[tuple[str, Printed]]
    """What the sandbox itself said to try, and what came of it."""

    def differing(self) -> list[tuple[str, str, str]]:
        """Commands that print something else than the page says, with both."""
        return [
            each
            for before, after in zip(self.shown, self.printed, strict=True)
            for each in differing(before, after)
        ]

    def refused(self) -> list[tuple[str, Printed]]:
        """What the sandbox said to try and should not have."""
        return [(line, printed) for line, printed in self.tried if printed.status != 0]


async def read_through(folder: Path, path: str, welcome: Sequence[str]) -> Reading:
    """Type every command of the README in a shell there, with this PATH, beside the sandbox that said this welcome."""
    shown = [steps(block) for block in blocks(README.read_text("utf-8"))]
    printed: list[list[Step]] = []
    pictured = ""
    async with shell(folder, {"PATH": path}) as terminal:
        tried = [(line, await terminal.type(line)) for line in to_try(welcome)]
        # The page is read by somebody who did not do that.
        await terminal.type("kubectl delete pods --all; unset KUBECONFIG")
        for block in shown:
            printed.append(await played(terminal, block))
            if block[-1].command == PICTURED_AFTER:
                there = {name: (await terminal.type(f"printenv {name}")).text.strip() for name in _CARRIED}
                pictured = await on_a_terminal(PICTURED, folder, there)
    return Reading(shown, printed, pictured, tried)


_CARRIED: Final = ("PATH", "KUBECONFIG")


def to_try(welcome: Sequence[str]) -> list[str]:
    """The commands that a sandbox names when it is ready."""
    start = next(number for number, line in enumerate(welcome) if line.startswith("Ready after"))
    return [line.strip() for line in welcome[start:] if re.match(r"  \S", line)]


@asynccontextmanager
async def read_beside(
    command: Sequence[str], folder: Path, path: str, *, patience: float = START_S, ends_with: int = 0
) -> AsyncGenerator[Reading]:
    """A sandbox by this command in that folder, and the README read beside it."""
    async with running(command, folder, patience=patience, ends_with=ends_with) as welcome:
        yield await read_through(folder, path, welcome)
