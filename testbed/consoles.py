"""Documents that show a terminal: their commands typed again into a shell, and what comes out held against the page.

In a block of a page that is called `console`, lines that begin with `$ ` are typed, and everything below such a line is
what was printed, errors included. All blocks of a page are one session in one shell, as for a reader who starts at the
top. Named rules say what may differ from run to run, and nothing else may.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

PROMPT: Final = "$ "
PATIENCE_S: Final = 90.0
_BLOCK: Final = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
_END: Final = b"\x01"
"""No command here prints it."""


class Step(NamedTuple):
    command: str
    shown: str


class Printed(NamedTuple):
    text: str
    status: int


class Rule(NamedTuple):
    """Something that may be otherwise every time."""

    name: str
    pattern: re.Pattern[str]
    instead: str


def _rule(name: str, pattern: str, instead: str) -> Rule:
    return Rule(name, re.compile(pattern, re.MULTILINE), instead)


RULES: Final = (
    _rule("age: a cell of a table that says how long ago", r"(?<=  )(?:\d+[dhms]){1,2}(?=  |$)", "AGE"),
    _rule("name that a controller made", r"\b(?<=-)[a-z0-9]{8,10}-[a-z0-9]{5}\b", "MADE"),
    _rule("name of a slice, made of its pod's uid", r"\btangram-[0-9a-f]{22}\b", "SLICE"),
    _rule(
        "number of a slice: the lowest that was free at that moment",
        r"(?<=slice )\d+(?=:)|(?<=#)\d+(?=;)",
        "N",
    ),
    _rule("kubectl 1.34 and later say where they delete", r"(?<= deleted) from \S+ namespace$", ""),
    _rule("columns: as wide as their widest cell", r" {2,}", "  "),
)


def normal(text: str) -> str:
    """The text with everything said by rules in its place."""
    for rule in RULES:
        text = rule.pattern.sub(rule.instead, text)
    return text


def blocks(page: str) -> list[str]:
    """What stands in the page's console blocks."""
    return _BLOCK.findall(page)


def steps(block: str) -> list[Step]:
    """The commands of a block, each with what is shown below it."""
    found: list[Step] = []
    for line in block.splitlines(keepends=True):
        if line.startswith(PROMPT):
            found.append(Step(line.removeprefix(PROMPT).removesuffix("\n"), ""))
        else:
            if not found:
                raise ValueError(f"a console block begins with a command, not with {line!r}")
            found[-1] = found[-1]._replace(shown=found[-1].shown + line)
    return found


def with_blocks(page: str, replace: Callable[[str], str]) -> str:
    """The page with every console block changed."""
    return _BLOCK.sub(lambda block: replace(block[0]), page)


class Shell:
    """One bash. What is typed sees the variables and the folder that earlier lines left."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def type(self, command: str) -> Printed:
        """Everything that was printed, on either stream. Raises `TimeoutError` for what does not come back."""
        typed, heard = self._process.stdin, self._process.stdout
        if typed is None or heard is None:
            raise RuntimeError("the shell was started without pipes")
        typed.write(f"{{ {command}\n}} </dev/null 2>&1; printf '\\001%s\\001' $?\n".encode())
        await typed.drain()
        try:
            async with asyncio.timeout(PATIENCE_S):
                text, status = [(await heard.readuntil(_END)).removesuffix(_END) for _ in range(2)]
        except TimeoutError:
            raise TimeoutError(f"{command!r} did not come back within {PATIENCE_S:g} s") from None
        return Printed(text.decode(), int(status))


@asynccontextmanager
async def shell(
    folder: Path, environment: Mapping[str, str], command: Sequence[str] = ("bash", "--noprofile", "--norc")
) -> AsyncGenerator[Shell]:
    """A bash there, with these variables besides a few of ours, until the block ends; `command` starts it."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={"HOME": str(folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**20,
    )  # fmt: skip
    try:
        yield Shell(process)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 5)
        except TimeoutError:
            process.kill()
            await process.wait()


async def played(shell: Shell, block: Sequence[Step]) -> list[Step]:
    """The same commands with what they print now."""
    return [Step(step.command, (await shell.type(step.command)).text) for step in block]


def differing(shown: Sequence[Step], printed: Sequence[Step]) -> list[tuple[str, str, str]]:
    """Commands that print something else than the page shows, with both texts."""
    return [
        (old.command, normal(old.shown), normal(new.shown))
        for old, new in zip(shown, printed, strict=True)
        if normal(old.shown) != normal(new.shown)
    ]


def written(shown: Sequence[Step], printed: Sequence[Step]) -> str:
    """A block of what was printed; where only rules tell it from what was shown, of that."""
    return "".join(
        f"{PROMPT}{new.command}\n{old.shown if normal(old.shown) == normal(new.shown) else new.shown}"
        for old, new in zip(shown, printed, strict=True)
    )
