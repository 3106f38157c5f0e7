"""A vendor library that never answers: the commands answer all the same, in time, and name the call."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from builders import mtml_twin, mxsml_twin
from builders.hanging import LONG, Fifo, Gate, all_threads_home, time_is_up_while
from builders.places import Place

COMMAND = Path(sys.executable).with_name("tangram")


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Fifo]:
    fifo = Fifo(tmp_path / "never")
    with all_threads_home("mxsml-calls"):
        yield fifo
        # Whoever still waits is let go, so that no thread outlives its test.
        while fifo.hangs():
            fifo.release()


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    gate = Gate(tmp_path / "release")
    with all_threads_home("mtml-calls"):
        yield gate
        gate.release()


@pytest.mark.parametrize("command", ["devices", "doctor"])
@pytest.mark.parametrize(
    "call", ["mxSmlInitWithFlags", "mxSmlGetDeviceInfo", "mxSmlGetMemoryInfo", "mxSmlGetSgpuCount"]
)
def test_a_metax_call_that_hangs_is_named(
    metax_twin: Callable[..., Place], fifo: Fifo, call: str, command: str
) -> None:
    place = metax_twin(mxsml_twin.c500(2).rule("block", call=call, fifo=str(fifo.path)))
    with time_is_up_while(fifo.hangs) as waits:
        answer = place.run(command)
    assert max(waits) < LONG, "the driver gives up before the command does, as it knows the name"
    assert answer.status == 1
    assert call in answer.out
    assert "stuck" in answer.out


@pytest.mark.parametrize("command", ["devices", "doctor"])
@pytest.mark.parametrize("call", ["mtmlLibraryInit", "mtmlDeviceGetUUID", "mtmlGpuGetUtilization"])
def test_a_moore_threads_call_that_hangs_is_named(
    mthreads_twin: Callable[..., Place], gate: Gate, call: str, command: str
) -> None:
    place = mthreads_twin(mtml_twin.eight_s4000().having(f"block {call} {gate.path}"))
    with time_is_up_while(gate.hangs) as waits:
        answer = place.run(command)
    assert max(waits) < LONG, "the driver gives up before the command does, as it knows the name"
    assert answer.status == 1
    assert call in answer.out
    assert "stuck" in answer.out


@pytest.mark.parametrize("command", ["devices", "doctor"])
def test_a_command_answers_within_its_timeout_by_the_wall_clock(
    mthreads_twin: Callable[..., Place], gate: Gate, command: str
) -> None:
    """How far it came in that time is this machine's affair; that it says so and ends is ours.

    In a process of its own, which must end although a thread of it does not.
    """
    place = mthreads_twin(mtml_twin.eight_s4000().having(f"block mtmlLibraryInit {gate.path}"))
    answer = subprocess.run(
        [COMMAND, command, "--timeout", "600ms", "--driver", place.driver, "--root", place.root],
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=2 * LONG,
    )
    assert answer.returncode == 1
    assert "stuck" in answer.stdout


def test_cards_read_before_the_hang_are_shown(metax_twin: Callable[..., Place], fifo: Fifo) -> None:
    place = metax_twin(
        mxsml_twin.c500(2).rule("block", call="mxSmlGetBoardPowerLimit", device=1, fifo=str(fifo.path))
    )
    with time_is_up_while(fifo.hangs):
        answer = place.run("devices")
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
    answer = place.run("devices")
    assert answer.status == 1
    assert "stuck" in answer.out
