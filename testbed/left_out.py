"""What a test run left out, reported at its end: how many tests, for what reason, and which package brings them.

A skipped test is easily taken for a passed one. A person reads one line for each reason; in CI (the variable `CI` is
set) a run that left anything out fails, so that a missing program cannot hide the tests that need it.
"""

import os
from collections import Counter
from collections.abc import Mapping
from typing import Final

import pytest

_REASONS: Final = pytest.StashKey[Counter[str]]()
_PREFIX: Final = "Skipped: "


def lacking(what: str, package: str) -> str:
    """The reason for leaving a test out because the machine lacks a program."""
    return f"there is no {what} on this machine (on Debian, apt-get install {package})"


def in_ci(environment: Mapping[str, str]) -> bool:
    """Whether a test that is left out is a failure."""
    return environment.get("CI", "").lower() not in {"", "0", "false"}


def sentences(reasons: Mapping[str, int]) -> list[str]:
    """One for each reason, the most frequent first."""
    return [
        f"{number:,} {'test was' if number == 1 else 'tests were'} left out: {reason}"
        for reason, number in sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    ]


def pytest_configure(config: pytest.Config) -> None:
    """A run begins with nothing left out."""
    config.stash[_REASONS] = Counter()


class _Reports:
    """Counts skips in the process that the workers report to."""

    def __init__(self, reasons: Counter[str]) -> None:
        self._reasons = reasons

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._count(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._count(report)

    def _count(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        self._reasons[reason.removeprefix(_PREFIX)] += 1


def pytest_sessionstart(session: pytest.Session) -> None:
    """Reports of xdist's workers arrive at the process that has no `workerinput`; the workers count nothing."""
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(_Reports(session.config.stash[_REASONS]))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a run that left tests out has failed."""
    if session.config.stash[_REASONS] and in_ci(os.environ) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The last thing that a person reads before the counts."""
    reasons = config.stash[_REASONS]
    if not reasons:
        return
    terminalreporter.section("left out")
    for sentence in sentences(reasons):
        terminalreporter.line(sentence)
    if in_ci(os.environ):
        terminalreporter.line("CI is set, and a test that is left out is a failure there.")
