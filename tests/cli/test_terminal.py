"""A terminal gets colours, wrapping and progress; a pipe gets the same words and nothing else."""

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from builders.commands import run
from tangram.cli.patience import Patience

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
COMMAND = Path(sys.executable).with_name("tangram")
ARGUMENTS = ("explain", "-f", str(EXAMPLES / "pod.yaml"), "--cluster", str(EXAMPLES / "cluster.yaml"))
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def on_a_terminal(**environment: str) -> str:
    """What a person at a terminal of 80 columns would see."""
    here, there = pty.openpty()
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    try:
        with subprocess.Popen(
            [COMMAND, *ARGUMENTS],
            stdout=there,
            stderr=there,
            env={**kept, "TERM": "xterm-256color", "COLUMNS": "80", **environment},
        ) as process:
            os.close(there)
            seen = b""
            while chunk := _read(here):
                seen += chunk
            assert process.wait(60) == 0
    finally:
        os.close(here)
    return seen.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        # The other end of a terminal closes with an error instead of an end of file.
        return b""


def test_a_pipe_gets_no_colours_and_no_blanks_at_line_ends() -> None:
    answer = run(*ARGUMENTS)
    assert answer.status == 0
    assert ANSI.search(answer.out) is None
    assert re.search(r" +$", answer.out, re.MULTILINE) is None


def test_a_real_pipe_gets_none_either() -> None:
    answer = subprocess.run([COMMAND, *ARGUMENTS], capture_output=True, check=True, text=True, timeout=60)
    assert answer.stdout == run(*ARGUMENTS).out
    assert answer.stderr == ""


def test_a_terminal_gets_colours() -> None:
    assert ANSI.search(on_a_terminal()) is not None


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_person_can_turn_colours_off(environment: dict[str, str]) -> None:
    """Bold is no colour, and NO_COLOR does not speak of it."""
    codes = set(ANSI.findall(on_a_terminal(**environment)))
    assert codes <= {"\x1b[1m", "\x1b[0m", "\x1b[2m", "\x1b[1;2m"}


def test_a_terminal_and_a_pipe_get_the_same_words() -> None:
    seen = ANSI.sub("", on_a_terminal())
    assert seen.split() == run(*ARGUMENTS).out.split()


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def shown(*, terminal: bool, seconds: float) -> str:
    """What a loop that takes that long shows."""
    clock, seen = Clock(), io.StringIO()
    console = Console(file=seen, force_terminal=terminal, width=80)
    with Patience(console, clock=clock) as patience:
        on_progress = patience.watching("reading pods")
        for done in range(5):
            clock.now = seconds * done / 4
            on_progress(done, 4)
    return seen.getvalue()


def test_nothing_is_shown_of_what_ends_soon() -> None:
    assert shown(terminal=True, seconds=1.9) == ""


def test_progress_is_shown_of_what_takes_long() -> None:
    assert "reading pods" in shown(terminal=True, seconds=10)


def test_progress_is_never_shown_to_a_pipe() -> None:
    assert shown(terminal=False, seconds=10) == ""
