"""What `tangram simulate` answers, as data and for people. `docs/simulate.md` promises the data's shape."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Final

import msgspec

from tangram.cli.screen import Screen
from tangram.engine.simulate import ReplayResult
from tangram.reports.words import plural

VERSION: Final = "simulate/v1"
_STEP = 10
"""Whole percents of arrived demand between two rows of the table."""


class Mean(msgspec.Struct, frozen=True, kw_only=True):
    """The mean over all seeds."""

    pods_placed: float
    unallocated_percent: float
    unallocated_percent_at: dict[int, float]
    """Only where every seed has a figure."""


class SimulateReport(msgspec.Struct, frozen=True, kw_only=True):
    tangram: str = VERSION
    policy: str
    nodes: int
    cards: int
    pods: int
    """In the input; a replay adds clones until its demand is reached."""
    mean: Mean
    runs: list[ReplayResult]


def report_of(runs: Sequence[ReplayResult], pods: int) -> SimulateReport:
    """The runs of one policy, and their mean."""
    shared = set[int].intersection(*(set(run.unallocated_percent_at) for run in runs))
    return SimulateReport(
        policy=runs[0].policy,
        nodes=runs[0].nodes,
        cards=runs[0].cards,
        pods=pods,
        mean=Mean(
            pods_placed=_mean([run.pods_placed for run in runs]),
            unallocated_percent=_mean([run.unallocated_percent for run in runs]),
            unallocated_percent_at={
                percent: _mean([run.unallocated_percent_at[percent] for run in runs])
                for percent in sorted(shared)
            },
        ),
        runs=list(runs),
    )


def show_report(screen: Screen, report: SimulateReport) -> None:
    """One sentence, the runs if there are several, and how room shrinks while demand grows."""
    unallocated = f"{report.mean.unallocated_percent:.2f} % of {plural(report.cards, 'card')} unallocated"
    if len(report.runs) == 1:
        run = report.runs[0]
        placed = f"{run.pods_placed:,} of {plural(run.pods_arrived, 'pod')} placed on {plural(report.nodes, 'node')}"
        screen.line(f"{report.policy}, seed {run.seed}: {placed}, {unallocated}.", style="bold")
    else:
        screen.line(f"{report.policy}, mean of {len(report.runs)} seeds: {unallocated}.", style="bold")
        screen.gap()
        screen.table(
            ("SEED", "ARRIVED", "PLACED", "UNALLOCATED"),
            [
                (
                    str(run.seed),
                    f"{run.pods_arrived:,}",
                    f"{run.pods_placed:,}",
                    f"{run.unallocated_percent:.2f} %",
                )
                for run in report.runs
            ],
        )
    rows = _milestones(report.mean.unallocated_percent_at)
    if rows:
        screen.gap()
        screen.table(("DEMAND ARRIVED", "UNALLOCATED"), rows)


def _milestones(figures: dict[int, float]) -> list[tuple[str, str]]:
    """Every tenth percent, and the last: the nearest figure at or below each."""
    last = max(figures, default=0)
    wanted = dict.fromkeys([*range(_STEP, last + 1, _STEP), last])
    found = [max((each for each in figures if each <= percent), default=None) for percent in wanted]
    return [
        (f"{percent} %", f"{figures[percent]:.2f} %")
        for percent in dict.fromkeys(found)
        if percent is not None
    ]


def _mean(figures: Sequence[float]) -> float:
    return round(fmean(figures), 4)
