"""No probe keeps the doctor waiting, and what stops one is told."""

import threading
from pathlib import Path

import pytest

from builders.hanging import LONG, Fifo
from tangram.drivers.doctor.examining import Examination, Probe
from tangram.drivers.doctor.findings import Findings, Outcome, ok
from tangram.drivers.doctor.machine import Machine


def good(_: Machine) -> Findings:
    yield ok("good", "all is well")


def test_a_probe_that_hangs_names_the_file_and_keeps_what_it_found(tmp_path: Path) -> None:
    slow = Fifo(tmp_path / "slow")
    reached = threading.Event()

    def hangs(machine: Machine) -> Findings:
        yield ok("first", "seen before the hang")
        machine.place("/slow")
        reached.set()
        machine.text("/slow")

    waits = 0

    def wait(done: threading.Event, seconds: float) -> bool:
        """Time is up for the first probe when it has come to where it hangs, and not before; never for the second."""
        nonlocal waits
        waits += 1
        return not reached.wait(LONG) if waits == 1 else done.wait(seconds)

    probes = [Probe("bad", hangs), Probe("good", good)]
    found = Examination(probes, Machine(tmp_path), limit=LONG, wait=wait).findings()
    assert [(finding.check, finding.outcome) for finding in found] == [
        ("first", Outcome.OK),
        ("bad", Outcome.FAIL),
        ("good", Outcome.OK),
    ]
    assert found[1].why == "stuck: /slow has not answered within 1m"
    slow.release()


def test_a_limit_is_in_seconds_of_the_wall_clock(tmp_path: Path) -> None:
    slow = Fifo(tmp_path / "slow")

    def hangs(machine: Machine) -> Findings:
        machine.text("/slow")
        yield ok("late", "read after all")

    (found,) = Examination([Probe("bad", hangs)], Machine(tmp_path), limit=0.1).findings()
    assert (found.check, found.outcome) == ("bad", Outcome.FAIL)
    assert "has not answered within 100ms" in found.why
    slow.release()


@pytest.mark.parametrize(
    ("error", "outcome", "words"),
    [
        pytest.param(PermissionError(), Outcome.SKIP, "may not be read by this user", id="no-rights"),
        pytest.param(OSError(5, "Input/output error"), Outcome.WARN, "Input/output error", id="broken-file"),
    ],
)
def test_an_error_while_looking_is_a_finding(
    tmp_path: Path, error: OSError, outcome: Outcome, words: str
) -> None:
    def fails(machine: Machine) -> Findings:
        machine.place("/sys/class/odd")
        yield ok("before", "seen")
        raise error

    found = Examination([Probe("odd", fails)], Machine(tmp_path), limit=LONG).findings()
    assert [finding.outcome for finding in found] == [Outcome.OK, outcome]
    assert words in found[1].why
    assert "/sys/class/odd" in found[1].why


def test_probes_run_side_by_side(tmp_path: Path) -> None:
    meeting = threading.Barrier(2, timeout=LONG)

    def meets(_: Machine) -> Findings:
        meeting.wait()
        yield ok("met", "both were running at once")

    found = Examination([Probe("one", meets), Probe("two", meets)], Machine(tmp_path), limit=LONG).findings()
    assert [finding.check for finding in found] == ["met", "met"]
