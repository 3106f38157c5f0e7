"""What reading cards costs: a whole snapshot, a health pass, and what the node-side code weighs before it starts.

The cards are those of the C twin of MetaX's library that the tests use, compiled here with gcc. The twin reads files,
which takes most of the time and says nothing about a real library's reads. So each measurement is split: `library` is
the processor time inside the library's functions, `ours` that of the whole process without it. It is processor time,
because a busy neighbour makes everything wait and makes little of it work more. The split reads a clock twice for each
call; what that costs is measured first and taken off. A snapshot is what `tangram devices` and gpu-label read: cards,
links, health, figures and slices.

Each measurement is taken in several windows. Neighbours on the machine can only add to a time, so the budgets, which
are for the median of `ours`, are held against the quietest window; `whole` is the time on the wall, over all windows.
`spin` is a fixed piece of pure arithmetic: where even its two percentiles are far apart, the machine was busy.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tangram.drivers.mxsml.library import Library
from tangram.drivers.snapshot import Reader

if TYPE_CHECKING:
    from types import ModuleType

    from tangram.drivers.mxsml.driver import MxsmlDriver

REPOSITORY = Path(__file__).resolve().parent.parent

NODE_SIDE = (
    "tangram.drivers.opening",
    "tangram.drivers.inventory",
    "tangram.drivers.snapshot",
    "tangram.drivers.mxsml.driver",
)
"""What an agent on a MetaX node loads to know its cards."""

WINDOWS = 7
SNAPSHOT_MS = 5.0
"""Of our side, for 8 cards and for 16. Cards are asked one after the other, in a thread of their own."""
HEALTH_MS = 1.0
_CALIBRATION = 10_000

_WEIGHING = """
import time
begin = time.perf_counter()
import importlib, sys
for name in sys.argv[1].split(","):
    importlib.import_module(name)
spent = time.perf_counter() - begin
resident = next(line for line in open("/proc/self/status") if line.startswith("VmRSS"))
print(spent, int(resident.split()[1]) / 1024)
"""


class Spent(NamedTuple):
    """Milliseconds of one measurement."""

    whole: float
    """On the wall."""
    library: float
    ours: float


class Figure(NamedTuple):
    name: str
    ours_p50_ms: float
    ours_p99_ms: float
    library_p50_ms: float
    """These three of the quietest window."""
    whole_p50_ms: float
    whole_p99_ms: float
    """Over all windows."""
    calls: float
    """Of the library's functions."""
    at_most_ms: float | None = None

    @property
    def met(self) -> bool:
        return self.at_most_ms is None or self.ours_p50_ms <= self.at_most_ms


class Inside:
    """Processor time inside the library's functions, how many of them were called, and what measuring one costs."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls = 0
        self.cost = self._cost()

    def measure(self, library: type[Library]) -> None:
        """Measure every function that is bound from now on."""
        measured, bind = self._measured, library._resolve  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the one place of binding

        def bound(self: Library, name: str) -> Callable[..., int] | None:
            function = bind(self, name)
            self.functions[name] = None if function is None else measured(function)
            return self.functions[name]

        library._resolve = bound  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - as above

    def _measured(self, function: Callable[..., int]) -> Callable[..., int]:
        clock = time.thread_time

        def measured(*arguments: object) -> int:
            begin = clock()
            code = function(*arguments)
            self.seconds += clock() - begin
            self.calls += 1
            return code

        return measured

    def _cost(self) -> float:
        """Seconds that the measuring of one call adds to what is counted as ours: the least of several tries."""

        def nothing() -> int:
            return 0

        def spent(function: Callable[..., int]) -> float:
            begin, inside = time.thread_time(), self.seconds
            for _ in range(_CALIBRATION):
                function()
            return time.thread_time() - begin - (self.seconds - inside)

        measured = self._measured(nothing)
        return max(0.0, min(spent(measured) for _ in range(WINDOWS)) / _CALIBRATION)


class Weight(NamedTuple):
    import_seconds: float
    resident_mib: float
    at_most_seconds: float = 0.3
    at_most_mib: float = 60.0

    @property
    def met(self) -> bool:
        return self.import_seconds <= self.at_most_seconds and self.resident_mib <= self.at_most_mib


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and answer whether every budget was met."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    reader.add_argument("--rounds", type=int, default=200, help="measurements per window")
    chosen = reader.parse_args(arguments)
    weight = _weight()
    inside = Inside()
    inside.measure(Library)
    figures = [figure for cards in (8, 16) for figure in _over_the_twin(cards, chosen.rounds, inside)]
    figures.append(_timed("spin", _spin, chosen.rounds, inside))
    met = weight.met and all(figure.met for figure in figures)
    if chosen.json:
        listed = [figure._asdict() | {"met": figure.met} for figure in figures]
        print(
            json.dumps(
                {"figures": listed, "weight": weight._asdict() | {"met": weight.met}, "met": met}, indent=2
            )
        )
    else:
        for figure in figures:
            budget = "" if figure.at_most_ms is None else f"   ours at most {figure.at_most_ms:g} ms"
            print(
                f"{figure.name:<12} ours p50 {figure.ours_p50_ms:7.3f} ms, p99 {figure.ours_p99_ms:7.3f} ms"
                f"   library p50 {figure.library_p50_ms:7.3f} ms in {figure.calls:.0f} calls"
                f"   whole p50 {figure.whole_p50_ms:7.3f} ms, p99 {figure.whole_p99_ms:7.3f} ms{budget}"
            )
        print(
            f"node-side import         {weight.import_seconds:.3f} s, {weight.resident_mib:.0f} MiB resident"
        )
        print("all budgets met" if met else "NOT all budgets met")
    return 0 if met else 1


def _over_the_twin(cards: int, rounds: int, inside: Inside) -> list[Figure]:
    twins = _twins()
    with tempfile.TemporaryDirectory(prefix="tangram-bench-") as root:
        twin = twins.Twin(Path(root), twins.c500(cards, group=cards // 2).rule("fixed"))
        driver: MxsmlDriver = twin.driver()
        reader = Reader(lambda _: driver)
        try:
            return [
                _timed(
                    f"snapshot_{cards}",
                    lambda: reader.read(links=True),
                    rounds,
                    inside,
                    at_most_ms=SNAPSHOT_MS,
                ),
                _timed(f"health_{cards}", driver.health, rounds, inside, at_most_ms=HEALTH_MS),
            ]
        finally:
            driver.close()


def _timed(
    name: str, work: Callable[[], object], rounds: int, inside: Inside, *, at_most_ms: float | None = None
) -> Figure:
    for _ in range(10):
        work()
    before = inside.calls
    windows = [[_once(work, inside) for _ in range(rounds)] for _ in range(WINDOWS)]
    calls = (inside.calls - before) / (rounds * WINDOWS)
    whole = [each.whole for window in windows for each in window]
    quietest = min(windows, key=lambda window: statistics.median(each.ours for each in window))
    ours = [each.ours for each in quietest]
    return Figure(
        name,
        statistics.median(ours),
        _p99(ours),
        statistics.median(each.library for each in quietest),
        statistics.median(whole),
        _p99(whole),
        calls,
        at_most_ms,
    )


def _once(work: Callable[[], object], inside: Inside) -> Spent:
    seconds, calls = inside.seconds, inside.calls
    begin, busy_before = time.perf_counter(), time.process_time()
    work()
    busy, whole = time.process_time() - busy_before, time.perf_counter() - begin
    library, measuring = inside.seconds - seconds, (inside.calls - calls) * inside.cost
    return Spent(whole * 1000, library * 1000, (busy - library - measuring) * 1000)


def _p99(spent: Sequence[float]) -> float:
    return sorted(spent)[min(len(spent) - 1, int(len(spent) * 0.99))]


def _spin() -> None:
    sum(range(100_000))


def _weight() -> Weight:
    runs: list[tuple[float, float]] = []
    for _ in range(7):
        printed = subprocess.run(
            [sys.executable, "-c", _WEIGHING, ",".join(NODE_SIDE)], check=True, capture_output=True, text=True
        ).stdout.split()
        runs.append((float(printed[0]), float(printed[1])))
    return Weight(statistics.median(run[0] for run in runs), max(run[1] for run in runs))


def _twins() -> ModuleType:
    # The twin belongs to the tests, which are no package of ours. They have a folder `shipping` too: ours comes first.
    sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]
    return importlib.import_module("builders.mxsml_twin")


if __name__ == "__main__":
    sys.exit(main())
