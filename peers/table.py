"""The result of every story as a table: story, peer, passed or failed, seconds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pytest


class Row(NamedTuple):
    story: str
    peer: str
    outcome: str
    seconds: float


class Stories:
    """A plugin of pytest that remembers how each test ended; what happens before and after a test counts for it."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        before = self.rows.get(report.nodeid)
        seconds = report.duration + (before.seconds if before else 0.0)
        outcome = "failed" if report.failed or (before and before.outcome == "failed") else report.outcome
        if report.when == "teardown" and before is not None and not report.failed:
            outcome = before.outcome
        self.rows[report.nodeid] = Row(story_of(report.nodeid), peer_of(report.nodeid), outcome, seconds)


def story_of(nodeid: str) -> str:
    """The name of a test as a sentence."""
    name, _, case = nodeid.rpartition("::")[2].partition("[")
    return name.removeprefix("test_").replace("_", " ") + (f" ({case.rstrip(']')})" if case else "")


def peer_of(nodeid: str) -> str:
    """Whose program the story is about, by the file it is in."""
    file = nodeid.partition("::")[0].rpartition("/")[2]
    return "Koordinator" if file.startswith("test_koord") else "HAMi"


def table(rows: Iterable[Row]) -> str:
    """Aligned columns, the longest story decides how wide."""
    listed = list(rows)
    width = max([len("story"), *(len(row.story) for row in listed)])
    lines = [f"{'story':<{width}}  {'peer':<11}  {'result':<7}  seconds"]
    lines += [f"{row.story:<{width}}  {row.peer:<11}  {row.outcome:<7}  {row.seconds:7.1f}" for row in listed]
    return "\n".join(lines)
