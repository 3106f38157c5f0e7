"""`--watch` and `top` go on until Ctrl-C, in place on a terminal and line after line into a pipe."""

import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from builders.places import Place
from tangram.cli.hardware import watching
from tangram.cli.screen import Screen

COMMAND = Path(sys.executable).with_name("tangram")
HEARING_CTRL_C = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""What a shell puts into the background is deaf to Ctrl-C, and so are all its children; the tests may be there."""


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Ctrl-C during the third pause; the pauses asked for are listed."""
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(watching, "pause", pause)
    return pauses


@pytest.mark.parametrize(
    ("option", "seconds"),
    [
        pytest.param(("--watch",), 2, id="usual"),
        pytest.param(("--watch", "5"), 5, id="bare-number"),
        pytest.param(("--watch", "250ms"), 0.25, id="duration"),
    ],
)
def test_a_pipe_gets_one_answer_below_the_other(
    mixed: Place, interrupted: list[float], option: tuple[str, ...], seconds: float
) -> None:
    answer = mixed.run("devices", *option)
    assert answer.status == 0
    assert interrupted == [seconds] * 3
    assert answer.out.count("CARD  PRODUCT") == 3
    assert answer.err == ""


def test_json_answers_can_be_read_one_after_the_other(mixed: Place, interrupted: list[float]) -> None:
    text = mixed.run("devices", "--watch", "-o", "json").out
    decoder, documents = json.JSONDecoder(), list[object]()
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        documents.append(document)
        text = text.lstrip()[end:]
    assert len(documents) == len(interrupted) == 3


def test_yaml_answers_are_documents_of_one_stream(mixed: Place, interrupted: list[float]) -> None:
    text = mixed.run("devices", "--watch", "-o", "yaml").out
    assert len(list(yaml.safe_load_all(text))) == len(interrupted) == 3


def test_top_draws_again_and_again(mixed: Place, interrupted: list[float]) -> None:
    answer = mixed.run("top", "--interval", "1s")
    assert answer.status == 0
    assert answer.out.count("8 cards, 4 busy, 1 unhealthy") == 3
    assert interrupted == [1, 1, 1]


@pytest.mark.parametrize("arguments", [("devices", "--watch", "100ms"), ("top", "--interval", "100ms")])
def test_a_terminal_is_drawn_over_in_place_and_ctrl_c_ends_well(
    simulated: Callable[[str], Place], arguments: tuple[str, ...]
) -> None:
    place = simulated("{tangram: cards/v1, cards: [{product: C500, count: 2}]}")
    here, there = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "40", "LANG": "C.UTF-8"}
    with subprocess.Popen(
        [sys.executable, "-c", HEARING_CTRL_C, COMMAND, *arguments, "--driver", place.driver],
        stdout=there,
        stderr=there,
        env=environment,
    ) as process:
        os.close(there)
        seen = b""
        while seen.count(b"MXC500") < 6:
            seen += os.read(here, 65536)
        process.send_signal(signal.SIGINT)
        while chunk := _read(here):
            seen += chunk
        assert process.wait(60) == 0
    os.close(here)
    assert b"\x1b[1A" in seen, "the cursor went up to draw over the last frame"
    assert b"Traceback" not in seen


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


def test_in_place_a_frame_replaces_the_last_and_brings_nothing_of_it_along(
    interrupted: list[float],
) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, force_interactive=True, width=80, height=24)
    frames = iter(("first", "second", "third"))

    def draw(screen: Screen) -> int:
        frame = next(frames)
        for line in ("above", "below"):
            screen.line(f"{line} {frame}")
        return 0

    assert watching.watch(console, draw, 1) == 0
    assert len(interrupted) == 3
    assert isinstance(console.file, io.StringIO)
    last = console.file.getvalue().partition("above third")[2]
    assert "below third" in last
    assert "first" not in last
    assert "second" not in last
