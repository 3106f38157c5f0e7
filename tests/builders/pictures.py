"""A terminal as a picture: what commands print on a real one, in its colours, as SVG; and what is read in a picture."""

from __future__ import annotations

import asyncio
import html
import io
import os
import pty
import re
import struct
import termios
from collections.abc import Mapping, Sequence
from fcntl import ioctl
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from testbed.consoles import PROMPT

COLUMNS: Final = 96
LINES: Final = 100
_NAME: Final = "sandbox"
_SPAN: Final = re.compile(r'<text class="[^"]*" x="([\d.]+)"[^>]*line-(\d+)\)">([^<]*)</text>')
_ADDRESSES: Final = re.compile(r"<!-- .*? -->\s*|@font-face \{.*?\}\s*", re.DOTALL)
_CHARACTER: Final = 12.2
"""As wide as rich draws it."""


async def on_a_terminal(commands: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str:
    """What commands print where they see a terminal, each below its prompt, with the control codes of its colours."""
    said = ""
    for command in commands:
        said += f"\x1b[1m{PROMPT}{command}\x1b[0m\n{await _printed(command, folder, environment)}"
    return said


async def _printed(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    process = await asyncio.create_subprocess_exec(
        "bash", "--noprofile", "--norc", "-c", command,
        cwd=folder,
        env={"TERM": "xterm-256color", "LANG": "C.UTF-8", "HOME": str(folder), **environment},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    try:
        return (await asyncio.to_thread(_everything, ours)).replace("\r\n", "\n")
    finally:
        os.close(ours)
        await process.wait()


def _everything(terminal: int) -> str:
    heard = b""
    try:
        while chunk := os.read(terminal, 65536):
            heard += chunk
    except OSError:
        pass  # A terminal that nobody writes to any more ends so.
    return heard.decode()


def drawn(said: str, title: str) -> str:
    """The picture of it. It names no font to fetch: whoever looks at it has one of fixed width."""
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(Text.from_ansi(said), soft_wrap=False, end="")
    picture = console.export_svg(title=title, theme=MONOKAI, unique_id=_NAME)
    return "\n".join(line.rstrip() for line in _ADDRESSES.sub("", picture).splitlines()) + "\n"


def words_of(said: str) -> str:
    """What is read in it, without colours."""
    return "".join(f"{line.rstrip()}\n" for line in Text.from_ansi(said).plain.splitlines())


def words_in(picture: str) -> str:
    """What is read in a picture."""
    lines: dict[int, str] = {}
    for x, line, text in _SPAN.findall(picture):
        before = lines.get(int(line), "").ljust(round(float(x) / _CHARACTER))
        lines[int(line)] = before + html.unescape(text).replace("\xa0", " ")
    return "".join(f"{lines.get(number, '').rstrip()}\n" for number in range(max(lines, default=-1) + 1))
