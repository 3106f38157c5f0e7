"""The console blocks of an example's page: their commands run in a shell, and what they print held against the page.

What no two runs have in common (ages, addresses, random parts of names) counts as equal. With TANGRAM_REFRESH=1 a page
is given the new output of the commands that printed something else; the diff is then the review.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tour.records import EXAMPLES, Example

REFRESH: Final = os.environ.get("TANGRAM_REFRESH") == "1"
PATIENCE_S: Final = 60.0

_BLOCK: Final = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
_COMMAND: Final = re.compile(r"^\$ (?P<line>.+)\n(?P<shown>(?:(?!\$ ).*\n)*)", re.MULTILINE)
_RANDOM: Final = "[bcdfghjklmnpqrstvwxz2456789]"
_DIFFERS: Final = (
    (re.compile(r"tangram-[0-9a-f]{22}"), "tangram-*"),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "10.*"),
    (re.compile(r"\b(?:\d+m)?\d+s\b"), "*s"),
    (re.compile(r"\bslice \d+:"), "slice *:"),
    (re.compile(r"#\d+;"), "#*;"),
    (re.compile(rf"(?:-{_RANDOM}{{8,10}})?-{_RANDOM}{{5}}\b"), "-*"),
    # Releases of kubectl differ in this.
    (re.compile(r" from \S+ namespace$", re.MULTILINE), ""),
    # The width of a column is that of its longest cell.
    (re.compile(r" +"), " "),
)


def environment(folder: Path, kubeconfig: Path, kubectl: Path) -> dict[str, str]:
    """A shell's variables in which `kubectl` is that program and `tangram` the one of this Python."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for name, program in (("kubectl", kubectl), ("tangram", Path(sys.executable).with_name("tangram"))):
        (programs / name).unlink(missing_ok=True)
        (programs / name).symlink_to(program)
    return {
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "KUBECONFIG": str(kubeconfig),
        "KUBECACHEDIR": str(folder / f"{kubectl.name}.cache"),
        "LANG": "C.UTF-8",
    }


def page_of(example: Example) -> Path:
    return example.folder / "README.md"


async def played(page: str, variables: Mapping[str, str]) -> str:
    """The page with what its commands print now; as it was where that is the same."""
    made: list[str] = []
    at = 0
    for block in _BLOCK.finditer(page):
        for command in _COMMAND.finditer(page, block.start(), block.end()):
            printed = await _output(command["line"], variables)
            if _masked(printed) != _masked(command["shown"]):
                made += [page[at : command.start("shown")], printed]
                at = command.end()
    return "".join((*made, page[at:]))


def commands_of(page: str) -> list[str]:
    return [
        command["line"]
        for block in _BLOCK.finditer(page)
        for command in _COMMAND.finditer(page, block.start(), block.end())
    ]


async def _output(line: str, variables: Mapping[str, str]) -> str:
    shell = await asyncio.create_subprocess_shell(
        line,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=EXAMPLES.parent,
        env=dict(variables),
    )
    try:
        output, _ = await asyncio.wait_for(shell.communicate(), PATIENCE_S)
    except TimeoutError:
        shell.kill()
        await shell.wait()
        raise
    return output.decode(errors="replace")


def _masked(text: str) -> str:
    for differs, same in _DIFFERS:
        text = differs.sub(same, text)
    return text
