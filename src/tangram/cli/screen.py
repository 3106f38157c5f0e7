"""Where text goes: a person's terminal, or something that reads.

On a terminal there are colours and lines are wrapped. Into a pipe or a file goes the same text without either, one
row per line and no blanks at its end, so that it can be searched, compared and kept.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tangram.cli.plain import clean

_NO_WRAP = 100_000


def output_console() -> Console:
    """Standard output; NO_COLOR, a dumb terminal and a pipe turn colours off."""
    return _console(sys.stdout)


def error_console() -> Console:
    """Standard error, likewise."""
    return _console(sys.stderr)


def _console(stream: object) -> Console:
    if isinstance(stream, io.TextIOWrapper):
        # A name that the terminal cannot show is better escaped than fatal.
        stream.reconfigure(errors="backslashreplace")
    stderr = stream is sys.stderr
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console = Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=_NO_WRAP)
    return console


class Screen:
    """Lines and tables on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begun = False

    def line(self, text: str, style: str = "") -> None:
        """One sentence on a line of its own."""
        self._write(Text(clean(text), style=style))

    def gap(self) -> None:
        """An empty line between parts, never at the top."""
        if self._begun:
            self._console.print()

    def table(
        self, headings: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str] = ()
    ) -> None:
        """Columns as wide as their content. A row's style colours all of it."""
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for heading in headings:
            table.add_column(Text(heading), overflow="fold")
        for number, row in enumerate(rows):
            style = styles[number] if styles else ""
            table.add_row(*(Text(clean(cell)) for cell in row), style=style)
        self._write(table)

    def _write(self, content: Text | Table) -> None:
        self._begun = True
        if self._console.is_terminal:
            self._console.print(content)
            return
        with self._console.capture() as captured:
            self._console.print(content, soft_wrap=isinstance(content, Text))
        for line in captured.get().splitlines():
            self._console.file.write(f"{line.rstrip()}\n")
