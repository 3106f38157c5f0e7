"""No probe keeps the doctor waiting, and what stops one is told."""

import os
import threading
import time
from pathlib import Path

import pytest

from tangram.drivers.doctor.examining import Examination, Probe
from tangram.drivers.doctor.findings import Findings, Outcome, ok
from tangram.drivers.doctor.machine import Machine


def good(_: Machine) -> Findings:
    yield ok("good", "all is well")


def test_a_probe_that_hangs_names_the_file_and_keeps_what_it_found(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "slow")

    def hangs(machine: Machine) -> Findings:
        yield ok("first", "seen before the hang")
        machine.text("/slow")

    began = time.monotonic()
    found = Examination([Probe("bad", hangs), Probe("good", good)], Machine(tmp_path), limit=0.2).findings()
    assert time.monotonic() - began < 2
    assert [(finding.check, finding.outcome) for finding in found] == [
        ("first", Outcome.OK),
        ("bad", Outcome.FAIL),
        ("good", Outcome.OK),
    ]
    assert found[1].why == "stuck: /slow has not answered within 200ms"
    # Lets the thread go, so that nothing is left behind.
    os.close(os.open(tmp_path / "slow", os.O_WRONLY))


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

    found = Examination([Probe("odd", fails)], Machine(tmp_path), limit=5).findings()
    assert [finding.outcome for finding in found] == [Outcome.OK, outcome]
    assert words in found[1].why
    assert "/sys/class/odd" in found[1].why


def test_probes_run_side_by_side(tmp_path: Path) -> None:
    meeting = threading.Barrier(2, timeout=10)

    def meets(_: Machine) -> Findings:
        meeting.wait()
        yield ok("met", "both were running at once")

    found = Examination([Probe("one", meets), Probe("two", meets)], Machine(tmp_path), limit=10).findings()
    assert [finding.check for finding in found] == ["met", "met"]
