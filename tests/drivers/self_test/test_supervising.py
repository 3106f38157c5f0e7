"""The end of a self-test that outlives the other one: processes that die, hang, or talk nonsense.

The other end is a script here: it tells what it is told to, and dies as it is told to.
"""

import sys
from pathlib import Path

import pytest

from builders.self_tests import FAILED, OK
from tangram.drivers.errors import Kind
from tangram.drivers.self_test.reading import CHECKS
from tangram.drivers.self_test.records import SelfTestReport, SelfTestRequest
from tangram.drivers.self_test.supervising import NothingToTestError, SelfTestSupervisor

SCRIPT = """
import json, os, sys
request = json.loads(sys.stdin.readline())
with open(sys.argv[1], "a") as file:
    file.write(json.dumps(request) + "\\n")

def tell(**event):
    print(json.dumps(event), flush=True)

def row(check, result="ok"):
    tell(type="row", check=check, result=result, why="seen", cards=[], todo="")

tell(type="began", check="open")
if "nothing" in sys.argv[2:]:
    tell(type="nothing", kind="no-driver", sentence="no card is here")
    sys.exit()
tell(type="opened", driver="scripted", cards=[])
if request["clean"]:
    tell(type="began", check="clean")
    row("clean", "failed" if "unclean" in sys.argv[2:] else "ok")
else:
    for check in request["checks"] if request["checks"] is not None else CHECKS:
        tell(type="began", check=check)
        tell(type="step", what="a question", done=1, total=2)
        if f"die-{check}" in sys.argv[2:]:
            sys.stderr.write("terminate called\\n"); sys.stderr.flush()
            os.kill(os.getpid(), 11)
        if f"hang-{check}" in sys.argv[2:]:
            sys.stdin.read()
        if f"babble-{check}" in sys.argv[2:]:
            print("not a line of ours", flush=True)
        row(check)
    if request["slices"]:
        tell(type="began", check="slice-create")
        if "die-amid-slices" in sys.argv[2:]:
            os.kill(os.getpid(), 9)
        row("slice-create")
        tell(type="began", check="restored")
        row("restored")
tell(type="finished", stopped=False)
""".replace("CHECKS:", f"{list(CHECKS)!r}:")


class Scripted:
    def __init__(self, folder: Path, *words: str, **request: object) -> None:
        self._asked = folder / "asked"
        self.progress: list[tuple[str, int, int]] = []
        wanted = SelfTestRequest(**{"driver": "scripted", "limit": 60.0, **request})  # pyright: ignore[reportArgumentType] - a test names its fields
        self._supervisor = SelfTestSupervisor(
            wanted,
            lambda what, done, total: self.progress.append((what, done, total)),
            (sys.executable, "-c", SCRIPT, str(self._asked), *words),
        )

    def run(self) -> SelfTestReport:
        return self._supervisor.run()

    @property
    def processes(self) -> int:
        return len(self._asked.read_text().splitlines())


def test_what_a_process_tells_is_the_report(tmp_path: Path) -> None:
    scripted = Scripted(tmp_path)
    report = scripted.run()
    assert [row.check for row in report.checks] == list(CHECKS)
    assert (report.driver, report.failed, scripted.processes) == ("scripted", False, 1)
    assert ("figures: a question", 1, 2) in scripted.progress


@pytest.mark.parametrize("check", ["links", "reopen"])
def test_a_process_that_dies_fails_its_check_and_another_makes_the_rest(check: str, tmp_path: Path) -> None:
    scripted = Scripted(tmp_path, f"die-{check}", slices=True)
    report = scripted.run()
    assert [row.check for row in report.checks if row.check in CHECKS] == list(CHECKS)
    (dead,) = [row for row in report.checks if row.result is FAILED]
    assert dead.check == check
    assert "SIGSEGV" in dead.why
    assert "terminate called" in dead.why
    assert report.checks[-1].check == "restored"
    assert scripted.processes == 2


def test_a_process_that_dies_with_slices_is_followed_by_one_that_cleans(tmp_path: Path) -> None:
    scripted = Scripted(tmp_path, "die-amid-slices", slices=True)
    report = scripted.run()
    assert [(row.check, row.result) for row in report.checks[-2:]] == [
        ("slice-create", FAILED),
        ("clean", OK),
    ]
    assert scripted.processes == 2


def test_a_cleaning_that_fails_is_told(tmp_path: Path) -> None:
    report = Scripted(tmp_path, "die-amid-slices", "unclean", slices=True).run()
    assert (report.checks[-1].check, report.checks[-1].result) == ("clean", FAILED)


def test_a_process_that_hangs_is_ended_and_its_check_has_failed(tmp_path: Path) -> None:
    """By the real clock, the only one there is between two processes."""
    scripted = Scripted(tmp_path, "hang-links", limit=0.5)
    report = scripted.run()
    assert [row.check for row in report.checks if row.result is FAILED] == ["links"]
    assert [row.check for row in report.checks] == list(CHECKS)


def test_a_process_that_writes_nonsense_is_one_that_died(tmp_path: Path) -> None:
    report = Scripted(tmp_path, "babble-links").run()
    assert [row.check for row in report.checks if row.result is FAILED] == ["links"]


def test_nothing_to_test_is_raised(tmp_path: Path) -> None:
    with pytest.raises(NothingToTestError) as nothing:
        Scripted(tmp_path, "nothing").run()
    assert nothing.value.kind is Kind.NO_DRIVER


def test_a_program_that_cannot_be_started_at_all_is_a_failure() -> None:
    report = SelfTestSupervisor(
        SelfTestRequest(driver="scripted"), command=(sys.executable, "-c", "raise SystemExit(3)")
    ).run()
    assert [(row.check, row.result) for row in report.checks] == [("open", FAILED)]
