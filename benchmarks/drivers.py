"""What reading cards costs: a whole snapshot, a health pass, and what the node-side code weighs before it starts.

The cards are those of the C twin of MetaX's library that the tests use, compiled here with gcc, so the figures are the
cost of our side of the wall: a real library adds what its own reads cost. A snapshot is what
`tangram devices` and gpu-label read: cards, links, health, figures and slices.

Each measurement is taken in several windows. Neighbours on the machine can only add to a time, so the budgets are held
against the quietest window; `p99_of_all_ms` is over everything. `spin` is a fixed piece of pure arithmetic: where even
its two percentiles are far apart, the machine was busy and only the medians mean anything.
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
MS_PER_CARD = 1.0
"""Of a snapshot. Cards are asked one after the other, in a thread of their own."""

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


class Figure(NamedTuple):
    name: str
    p50_ms: float
    p99_ms: float
    """Of the quietest window."""
    p99_of_all_ms: float
    at_most_ms: float | None = None

    @property
    def met(self) -> bool:
        return self.at_most_ms is None or self.p99_ms <= self.at_most_ms


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
    figures = [figure for cards in (8, 16) for figure in _over_the_twin(cards, chosen.rounds)]
    figures.append(_timed("spin", _spin, chosen.rounds))
    weight = _weight()
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
            budget = "" if figure.at_most_ms is None else f"   at most {figure.at_most_ms:g} ms"
            print(
                f"{figure.name:<24} p50 {figure.p50_ms:6.3f} ms   p99 {figure.p99_ms:6.3f} ms{budget}"
                f"   (of all {figure.p99_of_all_ms:.3f} ms)"
            )
        print(
            f"node-side import         {weight.import_seconds:.3f} s, {weight.resident_mib:.0f} MiB resident"
        )
        print("all budgets met" if met else "NOT all budgets met")
    return 0 if met else 1


def _over_the_twin(cards: int, rounds: int) -> list[Figure]:
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
                    at_most_ms=MS_PER_CARD * cards,
                ),
                _timed(f"health_{cards}", driver.health, rounds, at_most_ms=1.0),
            ]
        finally:
            driver.close()


def _timed(name: str, work: Callable[[], object], rounds: int, *, at_most_ms: float | None = None) -> Figure:
    for _ in range(10):
        work()
    windows = [[_once(work) for _ in range(rounds)] for _ in range(WINDOWS)]
    everything = [each for window in windows for each in window]
    quietest = min(_p99(window) for window in windows)
    return Figure(name, statistics.median(everything), quietest, _p99(everything), at_most_ms)


def _once(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1000


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
