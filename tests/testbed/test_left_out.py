"""A run that left tests out says so at its end, and fails in CI."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.left_out import in_ci, lacking, sentences

ROOT = Path(__file__).resolve().parents[2]
SUITE = f"""
import pytest

@pytest.mark.parametrize("number", range(3))
def test_needs_a_compiler(number):
    pytest.skip({lacking("gcc", "g++")!r})

def test_needs_nothing():
    pass
"""


def ran(folder: Path, ci: str, *words: str, suite: str = SUITE) -> subprocess.CompletedProcess[str]:
    (folder / "test_some.py").write_text(suite, "utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "testbed.left_out",
            "-p",
            "no:cacheprovider",
            *words,
            ".",
        ],
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
        env={**environment, "CI": ci, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=["one process", "workers"])
def test_a_person_reads_how_many_and_which_package_brings_them(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    answer = ran(tmp_path, "", *words)
    assert answer.returncode == 0
    assert (
        "3 tests were left out: there is no gcc on this machine (on Debian, apt-get install g++)"
        in answer.stdout
    )
    assert "1 passed, 3 skipped" in answer.stdout


def test_in_ci_it_is_a_failure(tmp_path: Path) -> None:
    answer = ran(tmp_path, "true")
    assert answer.returncode == pytest.ExitCode.TESTS_FAILED
    assert "3 tests were left out" in answer.stdout


def test_in_ci_a_whole_module_that_is_left_out_is_a_failure(tmp_path: Path) -> None:
    module = "import pytest\npytest.skip('there is no such thing', allow_module_level=True)\n"
    (tmp_path / "test_other.py").write_text("def test_passes(): pass\n", "utf-8")
    answer = ran(tmp_path, "true", suite=module)
    assert answer.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 test was left out: there is no such thing" in answer.stdout


def test_a_run_that_left_nothing_out_says_nothing(tmp_path: Path) -> None:
    answer = ran(tmp_path, "true", "--deselect", "test_some.py::test_needs_a_compiler")
    assert answer.returncode == 0
    assert "left out" not in answer.stdout


@pytest.mark.parametrize(
    ("value", "expected"),
    [("true", True), ("1", True), ("yes", True), ("", False), ("false", False), ("0", False)],
)
def test_ci_is_what_ci_systems_set(value: str, expected: bool) -> None:  # noqa: FBT001 - a table
    assert in_ci({"CI": value}) is expected
    assert in_ci({}) is False


def test_the_most_frequent_reason_comes_first() -> None:
    assert sentences({"b": 1, "a": 1, "c": 1_010}) == [
        "1,010 tests were left out: c",
        "1 test was left out: a",
        "1 test was left out: b",
    ]
