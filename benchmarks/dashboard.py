"""How soon the dashboard shows five thousand nodes, how soon a change, and what twenty viewers cost its process.

    python benchmarks/dashboard.py            a table, with the bars
    python benchmarks/dashboard.py --json     the same for programs

A real scheduler and a real dashboard, each in a process of its own, over an API server that holds 5,000 nodes with
eight cards each and 20,000 pods on them. One viewer is a real Chromium; where there is none, what needs one is left
out. Ends with status 1 when a bar is missed. Takes about four minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from cluster_manifests import node_name
from cluster_progress import Progress
from dashboard_bed import Bed, BenchError, Program, open_bed
from dashboard_browser import Load, browsing, chromium, load, page_memory, signed_in, until_live, update
from dashboard_changes import Changes, changing
from dashboard_viewers import PAGES, Viewer, looking, people

LOADS: Final = 5
UPDATES: Final = 20
CHANGES_A_SECOND: Final = 20.0
WAITING_A_SECOND: Final = 1.0
SETTLE_S: Final = 5.0
MIB_PER_MB: Final = 1e6 / 2**20
FIRST_NODE: Final = 5
"""The first one whose cards are changed on the screen."""


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    seen: float
    limit: float
    unit: str

    @property
    def ok(self) -> bool:
        return self.seen <= self.limit


@dataclass(frozen=True, slots=True)
class Cost:
    """Of the dashboard's process over some time."""

    seconds: float
    cpu_percent: float
    memory_mb: float
    events: int
    megabytes: float
    fetches: int
    node_changes: int = 0
    waiting_changes: int = 0


@dataclass(frozen=True, slots=True)
class Scene:
    """What is measured, and who looks."""

    bed: Bed
    dashboard: Program
    viewers: Sequence[Viewer]


class Words(argparse.Namespace):
    """The command line as it was written."""

    nodes: int
    pods: int
    waiting: int
    viewers: int
    seconds: float
    json: bool
    no_browser: bool


async def measure(asked: Words, progress: Progress) -> tuple[dict[str, object], list[Bar]]:
    """Figures for programs, and the bars."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_bed(Path(folder), asked.nodes, asked.pods, asked.waiting, progress) as (
            bed,
            dashboard,
        ):
            read = dashboard.memory_mib() / MIB_PER_MB
            program = "" if asked.no_browser else chromium()
            persons = await people(bed, asked.viewers - bool(program))
            progress.say(f"{len(persons)} viewers sign in and open {len(PAGES) + 1} pages each")
            async with looking(bed, persons) as viewers:
                scene = Scene(bed, dashboard, viewers)
                if program:
                    seen, bars = await with_browser(program, asked, scene, progress)
                else:
                    progress.say(
                        "there is no chromium here: paints, updates and the page's memory are left out"
                    )
                    seen, bars = await without_browser(asked, scene, progress)
                faults = [fault for viewer in viewers for fault in viewer.faults]
            if faults:
                raise BenchError(f"{len(faults)} times something was refused, first: {faults[0]}")
            return {"memory_after_reading_mb": round(read, 1), **seen}, bars


async def with_browser(
    program: str, asked: Words, scene: Scene, progress: Progress
) -> tuple[dict[str, object], list[Bar]]:
    """Everything."""
    bed = scene.bed
    token = await bed.person("in-a-browser", "cluster-admin")
    async with browsing(program) as browser:
        progress.say(f"opening the cluster page {LOADS} times, with nothing in the browser's cache")
        loads: list[Load] = []
        for _ in range(LOADS):
            context = await signed_in(browser, bed, token)
            page, seen = await load(context, bed)
            loads.append(seen)
            await context.close()
        context = await signed_in(browser, bed, token)
        page, _ = await load(context, bed)
        await until_live(page)
        idle = await cost(scene, asked.seconds, progress, "nothing happens")
        updates: list[float] = []

        async def look() -> None:
            for number in range(UPDATES):
                at = FIRST_NODE + number % 10
                updates.append(await update(page, bed, at, node_name(at), 3 if number < 10 else None))
                await asyncio.sleep(asked.seconds / UPDATES / 2)

        async with changing(
            bed, asked.nodes, a_second=CHANGES_A_SECOND, waiting_a_second=WAITING_A_SECOND
        ) as changes:
            looks = asyncio.create_task(look())
            busy = await cost(scene, asked.seconds, progress, "the cluster changes", changes)
            await looks
        await asyncio.sleep(SETTLE_S)
        weight = await page_memory(browser, page)
        await context.close()
    figures: dict[str, object] = {
        "first_paint_s": _spread([each.paint_s for each in loads]),
        "tiles_s": _spread([each.tiles_s for each in loads]),
        "update_s": _spread(updates),
        "page": {
            "js_heap_mb": round(weight.heap_mib / MIB_PER_MB, 1),
            "renderer_own_mb": round(weight.own_mib / MIB_PER_MB, 1),
            "renderer_resident_mb": round(weight.resident_mib / MIB_PER_MB, 1),
        },
        **server_figures(idle, busy),
    }
    bars = [
        Bar("first paint, median", statistics.median(each.paint_s for each in loads), 1.0, "s"),
        Bar("all tiles in place, median", statistics.median(each.tiles_s for each in loads), 1.0, "s"),
        Bar("an update is on the page, median", statistics.median(updates), 1.0, "s"),
        Bar("an update is on the page, worst", max(updates), 1.0, "s"),
        Bar("page memory, whole renderer", weight.resident_mib / MIB_PER_MB, 200.0, "MB"),
        *server_bars(idle, busy),
    ]
    return figures, bars


async def without_browser(
    asked: Words, scene: Scene, progress: Progress
) -> tuple[dict[str, object], list[Bar]]:
    """The server's part."""
    idle = await cost(scene, asked.seconds, progress, "nothing happens")
    async with changing(
        scene.bed, asked.nodes, a_second=CHANGES_A_SECOND, waiting_a_second=WAITING_A_SECOND
    ) as changes:
        busy = await cost(scene, asked.seconds, progress, "the cluster changes", changes)
    return server_figures(idle, busy), server_bars(idle, busy)


def server_figures(idle: Cost, busy: Cost) -> dict[str, object]:
    """For programs."""

    def rounded(seen: Cost) -> dict[str, float]:
        return {key: round(value, 2) for key, value in asdict(seen).items()}

    return {"idle": rounded(idle), "busy": rounded(busy)}


def server_bars(idle: Cost, busy: Cost) -> list[Bar]:
    """Those on the dashboard's own process."""
    return [
        Bar("server memory", max(idle.memory_mb, busy.memory_mb), 150.0, "MB"),
        Bar("server, of a core, nothing happens", idle.cpu_percent, 5.0, "%"),
        Bar("server, of a core, busy cluster", busy.cpu_percent, 5.0, "%"),
    ]


async def cost(
    scene: Scene, seconds: float, progress: Progress, what: str, changes: Changes | None = None
) -> Cost:
    """What the process works while so many listen."""
    dashboard, viewers = scene.dashboard, scene.viewers
    await asyncio.sleep(SETTLE_S)
    progress.say(f"{seconds:g} s in which {what}")

    def counted() -> tuple[int, ...]:
        return (
            sum(viewer.events for viewer in viewers),
            sum(viewer.bytes for viewer in viewers),
            sum(viewer.fetches for viewer in viewers),
            changes.nodes if changes else 0,
            changes.waiting if changes else 0,
        )

    before, cpu, at = counted(), dashboard.cpu_seconds(), time.monotonic()
    await asyncio.sleep(seconds)
    passed, worked = time.monotonic() - at, dashboard.cpu_seconds() - cpu
    events, size, fetches, nodes, waiting = (now - then for now, then in zip(counted(), before, strict=True))
    return Cost(
        seconds=passed,
        cpu_percent=100 * worked / passed,
        memory_mb=dashboard.memory_mib() / MIB_PER_MB,
        events=events,
        megabytes=size / 1e6,
        fetches=fetches,
        node_changes=nodes,
        waiting_changes=waiting,
    )


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(seconds), 3),
        "worst": round(max(seconds), 3),
        "count": len(seconds),
    }


def table(figures: dict[str, object], bars: Sequence[Bar]) -> str:
    """For people."""
    lines = [f"{'':<38}{'seen':>9}{'bar':>8}"]
    lines += [
        f"{bar.name:<38}{bar.seen:>9.2f}{bar.limit:>8g} {bar.unit:<3}{'' if bar.ok else ' MISSED'}"
        for bar in bars
    ]
    lines += ["", *(f"{name}: {json.dumps(value)}" for name, value in figures.items())]
    return "\n".join(lines)


def read_command_line(words: Sequence[str]) -> Words:
    """What was asked; what cannot be is refused in a sentence, with status 2."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=5000, help="nodes of eight cards")
    parser.add_argument("--pods", type=int, default=20_000, help="pods on their cards")
    parser.add_argument("--waiting", type=int, default=300, help="pods that wait")
    parser.add_argument("--viewers", type=int, default=20, help="people who look, the browser among them")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long its work is watched, each time")
    parser.add_argument("--no-browser", action="store_true", help="leave Chromium out")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(words, Words())
    if not 100 <= asked.nodes <= 20_000 or not 1 <= asked.pods <= 4 * asked.nodes:
        parser.error(
            f"--nodes is {asked.nodes} and --pods {asked.pods}: write 100 to 20000 nodes and at most four pods for each"
        )
    if not 1 <= asked.viewers <= 100 or not 0 <= asked.waiting <= 2000 or not 1 <= asked.seconds <= 3600:
        parser.error(
            f"--viewers is {asked.viewers}, --waiting {asked.waiting} and --seconds {asked.seconds:g}: write 1 to 100 "
            "viewers, at most 2000 pods and 1 to 3600 seconds"
        )
    return asked


def main() -> None:
    """Measure, print, and fail when a bar is missed."""
    asked = read_command_line(sys.argv[1:])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    before = os.getloadavg()[0]
    try:
        figures, bars = asyncio.run(measure(asked, Progress()))
    except BenchError as error:
        sys.exit(f"dashboard: {error}")
    except KeyboardInterrupt:
        print("dashboard: stopped; nothing was left running", file=sys.stderr)
        sys.exit(130)
    load_average = [round(before, 2), round(os.getloadavg()[0], 2)]
    told: dict[str, object] = {"nodes": asked.nodes, "pods": asked.pods, "viewers": asked.viewers}
    figures = {**told, "load_average": load_average, **figures}
    if asked.json:
        print(json.dumps({**figures, "bars": [{**asdict(bar), "ok": bar.ok} for bar in bars]}, indent=2))
    else:
        print(table(figures, bars))
    sys.exit(int(any(not bar.ok for bar in bars)))


if __name__ == "__main__":
    main()
