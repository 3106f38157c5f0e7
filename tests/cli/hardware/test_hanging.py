"""A vendor library that never answers: the commands answer all the same, in time, and name the call."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from builders import mtml_twin, mxsml_twin
from builders.places import Place

LIMIT = ("--timeout", "600ms")
ANSWERED_WITHIN = 5.0
"""Seconds. Generous, because the point is that it is not for ever."""


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "never"
    os.mkfifo(path)
    yield path
    # Whoever still waits is let go, so that no thread outlives its test.
    while (writer := _open_for_writing(path)) is not None:
        os.close(writer)
        time.sleep(0.01)


def _open_for_writing(path: Path) -> int | None:
    try:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


@pytest.mark.parametrize("command", ["devices", "doctor"])
@pytest.mark.parametrize(
    "call", ["mxSmlInit", "mxSmlGetDeviceInfo", "mxSmlGetMemoryInfo", "mxSmlGetSgpuCount"]
)
def test_a_metax_call_that_hangs_is_named(
    metax_twin: Callable[..., Place], fifo: Path, call: str, command: str
) -> None:
    place = metax_twin(mxsml_twin.c500(2).plus("block", call=call, fifo=str(fifo)))
    began = time.monotonic()
    answer = place.run(command, *LIMIT)
    assert time.monotonic() - began < ANSWERED_WITHIN
    assert answer.status == 1
    assert call in answer.out
    assert "stuck" in answer.out


@pytest.mark.parametrize("command", ["devices", "doctor"])
@pytest.mark.parametrize("call", ["mtmlLibraryInit", "mtmlDeviceGetUUID", "mtmlGpuGetUtilization"])
def test_a_moore_threads_call_that_hangs_is_named(
    mthreads_twin: Callable[..., Place], tmp_path: Path, call: str, command: str
) -> None:
    release = tmp_path / "release"
    place = mthreads_twin(mtml_twin.eight_s4000().having(f"block {call} {release}"))
    try:
        began = time.monotonic()
        answer = place.run(command, *LIMIT)
        assert time.monotonic() - began < ANSWERED_WITHIN
    finally:
        release.touch()
    assert answer.status == 1
    assert call in answer.out
    assert "stuck" in answer.out


def test_cards_read_before_the_hang_are_shown(metax_twin: Callable[..., Place], fifo: Path) -> None:
    place = metax_twin(
        mxsml_twin.c500(2).plus("block", call="mxSmlGetTemperatureInfo", device=1, fifo=str(fifo))
    )
    answer = place.run("devices", *LIMIT)
    rows = answer.out.splitlines()
    assert rows[1].startswith("0     MXC500")
    assert "0.8/64 GiB" in rows[1]
    assert rows[2].startswith("1     MXC500")
    assert "N/A/64 GiB" in rows[2]


def test_a_simulated_card_that_hangs_is_named_too(simulated: Callable[[str], Place]) -> None:
    place = simulated(
        "{tangram: cards/v1, stuck_after: 100ms, cards: [{product: C500, count: 2}], "
        "faults: [{card: 1, fault: hang}]}"
    )
    answer = place.run("devices", "--timeout", "5s")
    assert answer.status == 1
    assert "stuck" in answer.out
