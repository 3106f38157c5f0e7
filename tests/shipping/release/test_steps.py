"""The commands of a release as real processes: whose modules they run, and that none outlives the release."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.checkouts import checkout, git, write
from shipping.charts.packing import charts_of
from shipping.image.project import REVISION_SETTING, ROOT, read_project
from shipping.release.__main__ import main
from shipping.release.errors import ReleaseError
from shipping.release.statements import version_said
from shipping.release.steps import CHARTS, Step, run_step, steps_of

PATIENT = """
import pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[-1]).parent.with_name("began").write_text(str(child.pid))
child.wait()
"""
RELEASING = """
import pathlib, sys
from shipping.release.__main__ import main
sys.exit(main(["--output", sys.argv[1]], root=pathlib.Path(sys.argv[2])))
"""


def test_a_step_runs_the_modules_of_the_exported_sources(tmp_path: Path) -> None:
    write(tmp_path, "src/tangram/__init__.py", "WHERE = 'exported'\n")
    write(tmp_path, "shipping/__init__.py", "")
    write(
        tmp_path,
        "shipping/probe.py",
        "import os, pathlib, sys, tangram\n"
        "told = f'{tangram.WHERE} {os.environ[\"SOURCE_DATE_EPOCH\"]}'\n"
        "pathlib.Path(sys.argv[1], 'told').write_text(told)\n",
    )
    run_step(Step("probe", "shipping.probe", (str(tmp_path),)), tmp_path, {"SOURCE_DATE_EPOCH": "17"})
    assert (tmp_path / "told").read_text() == "exported 17"


def test_a_step_that_fails_is_named(tmp_path: Path) -> None:
    write(tmp_path, "failing.py", "raise SystemExit(3)\n")
    with pytest.raises(ReleaseError, match="its charts failed, as said above"):
        run_step(Step("charts", "failing", ()), tmp_path, {})


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "kill"])
def test_stopping_a_release_ends_everything_it_has_started_and_leaves_no_part(
    tmp_path: Path, ending: signal.Signals
) -> None:
    root = checkout(tmp_path / "project", "1.2.3", "## [1.2.3] - 2026-01-31")
    # The modules of the sources come first, and the first step of a release is hatchling's.
    write(root, "hatchling.py", PATIENT)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--amend", "--no-edit")
    git(root, "tag", "v1.2.3")
    with subprocess.Popen(
        [sys.executable, "-c", RELEASING, str(tmp_path / "releases"), str(root)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        began = tmp_path / "began"
        until(lambda: began.is_file() and began.read_text() != "")
        running.send_signal(ending)
        _, complaint = running.communicate(timeout=30)

    assert running.returncode == 130
    assert complaint == "Stopped. No part of the release is left; what was fetched is kept.\n"
    assert [path.name for path in (tmp_path / "releases").iterdir()] == [".lock"]
    grandchild = int(began.read_text())
    until(lambda: not alive(grandchild))


def until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether it runs; one that has ended and waits for its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_the_image_is_told_the_commit_that_its_sources_are_a_copy_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = checkout(tmp_path / "project", "1.2.3", "## [1.2.3] - 2026-01-31")
    write(root, "src/tangram/changed.py", "")
    monkeypatch.setenv(REVISION_SETTING, "c0ffee")
    assert read_project(root).revision == "c0ffee"
    monkeypatch.delenv(REVISION_SETTING)
    assert read_project(root).revision == f"{git(root, 'rev-parse', 'HEAD')}-changed"


def test_the_charts_of_a_release_are_all_that_people_install() -> None:
    found = charts_of(ROOT, version_said(ROOT).text)
    assert sorted(chart.name for _, chart in found if chart.installable) == list(CHARTS)


def test_every_command_of_a_release_is_there(tmp_path: Path) -> None:
    for step in steps_of(tmp_path, refresh=True):
        if step.module.startswith("shipping."):
            assert (ROOT / step.module.replace(".", "/") / "__main__.py").is_file(), step.module


def test_the_command_says_in_a_sentence_why_there_is_no_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = checkout(tmp_path / "project", "1.2.3", "## [1.2.3] - unreleased")
    assert main([], root=root) == 1
    assert capsys.readouterr().err.startswith("The commit ")
    (tmp_path / "file").write_text("")
    assert main(["--output", str(tmp_path / "file"), "--snapshot"], root=root) == 1
    assert capsys.readouterr().err.startswith("The release could not be made: ")
