"""The same answer again and again: in place on a terminal, one below the other into a pipe.

Ctrl-C is how a person says "enough", so it ends the command as if it had been asked for once.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable

from rich.console import Console
from rich.live import Live
from rich.text import Text

from tangram.cli.screen import Screen

pause = time.sleep


def watch(console: Console, draw: Callable[[Screen], int], seconds: float) -> int:
    """Draw until interrupted; the exit status is that of the last drawing."""
    return (_in_place if console.is_terminal else _appended)(console, draw, seconds)


def _in_place(console: Console, draw: Callable[[Screen], int], seconds: float) -> int:
    status = 0
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        try:
            while True:
                sheet = _sheet(console)
                status = draw(Screen(sheet))
                live.update(Text.from_ansi(sheet.export_text(styles=True).rstrip("\n")), refresh=True)
                pause(seconds)
        except KeyboardInterrupt:
            return status


def _sheet(console: Console) -> Console:
    """A console like the person's to draw the next frame on. On theirs, each line would bring the last frame along."""
    return Console(
        file=io.StringIO(),
        record=True,
        force_terminal=True,
        width=console.width,
        height=console.height,
        no_color=console.no_color,
        highlight=False,
        markup=False,
        emoji=False,
    )


def _appended(console: Console, draw: Callable[[Screen], int], seconds: float) -> int:
    status = 0
    screen = Screen(console)
    try:
        while True:
            screen.gap()
            status = draw(screen)
            sys.stdout.flush()
            pause(seconds)
    except KeyboardInterrupt:
        return status
