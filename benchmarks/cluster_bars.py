"""What the figures of the cluster benchmark are held against, and how both are shown.

Rates of a busy machine say little, so the bars on speed are ratios of rates from one run. An aim is shown beside the
bars and fails nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cluster_memory import Memory
from cluster_rivals import NAMES, NOMINATING, NOTHING, OURS
from cluster_runs import Run

RATIO_BARS: Final = ((15_000, 5.0), (5_000, 3.0), (1_000, 1.1))
"""From so many nodes on, our rate is at least so many times the do-nothing extender's."""
FILTER_BARS_MS: Final = ((1_000, 10.0), (5_000, 40.0))
"""Up to so many nodes, 99 % of filter calls take at most so long."""
AIM_OF_NOMINATING: Final = 0.85
BURST_WRITES: Final = 2.0
ALONE_WRITES: Final = 1.0
MEMORY_BAR_MB: Final = 300.0
FIRST_ANSWER_BAR_S: Final = 10.0

Figure = Callable[[Run], str]


@dataclass(frozen=True, slots=True)
class Bar:
    what: str
    bar: str
    seen: str
    ok: bool
    aim: bool = False

    @property
    def missed(self) -> bool:
        return not self.ok and not self.aim

    @property
    def verdict(self) -> str:
        if self.ok:
            return "ok"
        return "below the aim" if self.aim else "MISSED"


def run_bars(nodes: int, bursts: Mapping[str, Run], singles: Mapping[str, Run]) -> list[Bar]:
    """Every bar that these runs can be held against."""
    bars = [
        Bar(f"pods bound, {way}, {run.rival}", str(run.pods), str(run.bound), run.bound == run.pods)
        for way, runs in (("burst", bursts), ("alone", singles))
        for run in runs.values()
    ]
    bars += _rate_bars(nodes, bursts)
    if OURS in bursts:
        ours = bursts[OURS]
        bars += _filter_bars(nodes, ours)
        bars.append(_at_most("API writes per pod in a burst", ours.writes_per_pod, BURST_WRITES))
        bars.append(Bar("pods and cards as they must be", "all", f"{ours.faults} faults", ours.faults == 0))
    if OURS in singles:
        ours = singles[OURS]
        bars.append(_at_most("API writes per pod alone", ours.writes_per_pod, ALONE_WRITES))
        bars.append(Bar("the same, alone", "all", f"{ours.faults} faults", ours.faults == 0))
    return bars


def memory_bars(seen: Memory) -> list[Bar]:
    """The bars of a cold start over a full cluster."""
    return [
        _at_most("peak memory, MB", seen.peak_rss_mb, MEMORY_BAR_MB),
        _at_most("first right answer, s", seen.first_answer_s, FIRST_ANSWER_BAR_S),
        Bar("wrong answers", "0", str(seen.wrong_answers), seen.wrong_answers == 0),
    ]


def bar_lines(bars: Iterable[Bar]) -> list[str]:
    """The table of bars, one line each."""
    rows = [("", "bar", "seen", ""), *((bar.what, bar.bar, bar.seen, bar.verdict) for bar in bars)]
    return _table(rows)


def run_lines(bursts: Mapping[str, Run], singles: Mapping[str, Run]) -> list[str]:
    """The figures of every rival, side by side."""
    present = [name for name in NAMES if name in bursts or name in singles]
    rows: list[tuple[str, ...]] = [("", *present)]

    def row(what: str, runs: Mapping[str, Run], figure: Figure) -> None:
        if runs:
            rows.append((what, *(figure(runs[name]) if name in runs else "-" for name in present)))

    row("burst: pods/s", bursts, lambda run: f"{run.pods_per_s:.1f}")
    row("burst: filter p50 / p99 ms", bursts, lambda run: _pair(run.filter.p50_ms, run.filter.p99_ms))
    row("burst: bind p50 / p99 ms", bursts, lambda run: _pair(run.bind.p50_ms, run.bind.p99_ms))
    row("burst: API writes per pod", bursts, lambda run: f"{run.writes_per_pod:.2f}")
    row("burst: extender's CPU per pod, ms", bursts, lambda run: f"{run.cpu_ms_per_pod:.2f}")
    row("alone: create to bound, ms", singles, lambda run: _number(run.wait_ms))
    row("alone: filter p50 / p99 ms", singles, lambda run: _pair(run.filter.p50_ms, run.filter.p99_ms))
    row("alone: API writes per pod", singles, lambda run: f"{run.writes_per_pod:.2f}")
    row("peak memory, MB", bursts or singles, lambda run: f"{run.peak_rss_mb:.0f}")
    return _table(rows)


def _rate_bars(nodes: int, bursts: Mapping[str, Run]) -> list[Bar]:
    if OURS not in bursts:
        return []
    ours, bars = bursts[OURS].pods_per_s, list[Bar]()
    bar = next((bar for least, bar in RATIO_BARS if nodes >= least), None)
    if bar is not None and NOTHING in bursts:
        bars.append(_at_least("rate against a do-nothing extender", ours, bursts[NOTHING].pods_per_s, bar))
    if NOMINATING in bursts:
        rate = bursts[NOMINATING].pods_per_s
        bars.append(_at_least("the same with nominations", ours, rate, AIM_OF_NOMINATING, aim=True))
    return bars


def _filter_bars(nodes: int, ours: Run) -> list[Bar]:
    bar = next((bar for most, bar in FILTER_BARS_MS if nodes <= most), None)
    if bar is None:
        return []
    if ours.filter.p99_ms is None:
        return [Bar("filter p99, ms", f"<= {bar:g}", "not told", ok=False)]
    return [_at_most("filter p99, ms", ours.filter.p99_ms, bar)]


def _at_most(what: str, seen: float, bar: float) -> Bar:
    return Bar(what, f"<= {bar:g}", f"{seen:.2f}", seen <= bar)


def _at_least(what: str, seen: float, other: float, bar: float, *, aim: bool = False) -> Bar:
    ratio = seen / other if other else 0.0
    return Bar(what, f">= {bar:g} x", f"{ratio:.2f} x", ratio >= bar, aim)


def _number(seen: float | None) -> str:
    return "-" if seen is None else f"{seen:.1f}"


def _pair(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{low:.2f} / {high:.2f}"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for first, *others in rows:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return lines
