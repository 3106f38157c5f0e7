"""A self-test in the test's own process: a request in, rows by check out, and the tree of the kernel's files beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from builders.hanging import LONG
from builders.mxsml_twin import Twin
from tangram.drivers.self_test.conducting import SelfTestRun
from tangram.drivers.self_test.records import (
    Began,
    CheckResult,
    CheckRow,
    Finished,
    NothingToTest,
    SelfTestEvent,
    SelfTestRequest,
)

OK, FAILED, NOT_AVAILABLE = CheckResult.OK, CheckResult.FAILED, CheckResult.NOT_AVAILABLE
LIFE = ("qos", "slice-create", "slice-refusals", "slice-resize", "slice-two", "slice-many", "slice-remove")
QUICK = 3
"""Openings, where a test is about something else."""

Hook = Callable[[], object]


class Told:
    """Everything that one run told."""

    def __init__(self, events: Sequence[SelfTestEvent]) -> None:
        self.events = events
        self.rows = [event for event in events if isinstance(event, CheckRow)]

    def of(self, check: str) -> list[CheckRow]:
        return [row for row in self.rows if row.check == check]

    def result(self, check: str) -> CheckResult:
        """Of a check with one row."""
        (row,) = self.of(check)
        return row.result

    @property
    def failed(self) -> set[str]:
        assert self.nothing is None
        return {row.check for row in self.rows if row.result is FAILED}

    @property
    def nothing(self) -> NothingToTest | None:
        return next((event for event in self.events if isinstance(event, NothingToTest)), None)

    @property
    def stopped(self) -> bool:
        return any(isinstance(event, Finished) and event.stopped for event in self.events)


def self_test(
    driver: str,
    root: Path,
    *,
    at: Mapping[str, Hook] | None = None,
    stop_at: str = "",
    **more: object,
) -> Told:
    """Run it; `at` names what happens when a check begins, and `stop_at` the check at which the person stops it."""
    events: list[SelfTestEvent] = []
    happening = dict(at or {})
    stopping = False

    def tell(event: SelfTestEvent) -> None:
        nonlocal stopping
        events.append(event)
        if isinstance(event, Began):
            stopping = stopping or event.check == stop_at
            hook = happening.pop(event.check, None)
            if hook is not None:
                hook()

    # A driver's own limit is half of it.
    usual: dict[str, object] = {"driver": driver, "root": str(root), "limit": 2 * LONG, "reopens": QUICK}
    request = SelfTestRequest(**{**usual, **more})  # pyright: ignore[reportArgumentType] - a test names its fields
    SelfTestRun(request, tell, lambda: stopping).run()
    return Told(events)


def self_test_of(twin: Twin, **more: object) -> Told:
    """Over the twin of MetaX's library."""
    return self_test(f"mxsml:{twin.library}", twin.root, **more)  # pyright: ignore[reportArgumentType] - the same


def tree_of(sysfs: Path) -> dict[str, bytes | str]:
    """Every file and link, for a comparison byte for byte."""
    found: dict[str, bytes | str] = {}
    for path in sorted(sysfs.rglob("*")):
        name = str(path.relative_to(sysfs))
        found[name] = (
            str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        )
    return found
