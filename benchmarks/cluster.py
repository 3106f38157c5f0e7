"""How many pods a second a real kube-scheduler places with our extender, against one that decides nothing.

    python benchmarks/cluster.py --nodes 1000 --pods 2000            a table, with the bars
    python benchmarks/cluster.py --nodes 5000 --pods 2000 --json     the same for programs
    python benchmarks/cluster.py --nodes 1000 --only nothing --burst
    python benchmarks/cluster.py --memory                            5,000 nodes, 50,000 pods: memory and cold start

On one cluster, one after the other: a do-nothing extender, the same with nominations written ahead, and
`tangram scheduler`. Each places a burst of pods, and then some that come one at a time. Ends with status 1 when a bar
is missed. Needs root and a built test bed (`make testbed`).
"""

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import aiohttp

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from cluster_bars import Bar, bar_lines, memory_bars, run_bars, run_lines  # noqa: E402 - they need the line above
from cluster_bed import Bed  # noqa: E402 - the same
from cluster_manifests import SURE_PER_NODE  # noqa: E402 - the same
from cluster_memory import measure_memory  # noqa: E402 - the same
from cluster_progress import Progress  # noqa: E402 - the same
from cluster_rivals import NAMES, NOTHING, OURS, running  # noqa: E402 - the same
from cluster_runs import ALONE_PODS, Run, alone, burst  # noqa: E402 - the same
from testbed.api import ApiRefused, Object  # noqa: E402 - the same
from testbed.errors import BedError  # noqa: E402 - the same

MOST_NODES, MOST_PODS = 20_000, 100_000
WARM_UP_PODS = 200
TOLD = (BedError, ApiRefused, aiohttp.ClientError)
"""What a machine or a cluster can do to a run; a sentence is enough."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The command line, completed."""

    nodes: int
    pods: int
    rivals: Sequence[str]
    bursts: bool
    singles: bool
    memory: bool
    json: bool


class Words(argparse.Namespace):
    """The command line as it was written."""

    nodes: int | None
    pods: int | None
    only: str | None
    burst: bool
    alone: bool
    memory: bool
    json: bool


async def measure_runs(asked: Asked, progress: Progress) -> tuple[Object, list[str], list[Bar]]:
    """Every rival on one cluster: figures for programs, lines for people, and the bars."""
    bursts: dict[str, Run] = {}
    singles: dict[str, Run] = {}
    broken: list[Bar] = []
    async with Bed.open(asked.nodes, progress) as bed:
        token = await bed.make_reader()
        if asked.bursts:
            # The first burst of a scheduler's life is like no other; it is not counted.
            async with running(bed, NOTHING, token) as rival:
                await rival.until_ready()
                progress.say("a first burst that is not counted")
                await burst(bed, rival, min(asked.pods, WARM_UP_PODS))
        for name in asked.rivals:
            try:
                async with running(bed, name, token) as rival:
                    await rival.until_ready()
                    if asked.bursts:
                        bursts[name] = await burst(bed, rival, asked.pods)
                    if asked.singles:
                        singles[name] = await alone(bed, rival)
            except (*TOLD, BaseExceptionGroup) as error:
                # What the others did was measured all the same.
                broken.append(Bar(f"{name} works", "to the end", reason(error), ok=False))
                progress.say(f"{name} did not come to its end: {reason(error)}")
                await bed.remove_pods()
    figures = {
        "burst": {name: run.as_json() for name, run in bursts.items()},
        "alone": {name: run.as_json() for name, run in singles.items()},
    }
    return figures, run_lines(bursts, singles), [*run_bars(asked.nodes, bursts, singles), *broken]


async def measure_cold_start(asked: Asked, progress: Progress) -> tuple[Object, list[str], list[Bar]]:
    """A full cluster and a scheduler that has just been started."""
    async with Bed.open(asked.nodes, progress) as bed:
        seen = await measure_memory(bed, OURS, asked.pods, await bed.make_reader())
    told = (
        f"ready after {seen.ready_s:.1f} s, first right answer after {seen.first_answer_s:.1f} s, "
        f"of which the process worked {seen.first_answer_cpu_s:.1f} s"
    )
    return {"memory": seen.as_json()}, [told], memory_bars(seen)


def read_command_line(words: Sequence[str]) -> Asked:
    """What was asked; what cannot be is refused in a sentence, with status 2."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, help="nodes of eight cards (1000; with --memory 5000)")
    parser.add_argument("--pods", type=int, help="pods of a burst (2000; with --memory 50000, already bound)")
    parser.add_argument("--only", choices=NAMES, help="measure one of the three")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--burst", action="store_true", help="leave out the pods that come one at a time")
    ways.add_argument("--alone", action="store_true", help="leave out the burst")
    ways.add_argument("--memory", action="store_true", help="measure memory and cold start instead")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(words, Words())
    usual_nodes, usual_pods = (5_000, 50_000) if asked.memory else (1_000, 2_000)
    nodes = usual_nodes if asked.nodes is None else asked.nodes
    pods = usual_pods if asked.pods is None else asked.pods
    if not 1 <= nodes <= MOST_NODES or not 1 <= pods <= MOST_PODS:
        parser.error(
            f"--nodes is {nodes} and --pods {pods}: write 1 to {MOST_NODES} nodes and 1 to {MOST_PODS} pods"
        )
    if max(pods, ALONE_PODS) > nodes * SURE_PER_NODE:
        parser.error(
            f"{nodes} nodes are sure to hold {nodes * SURE_PER_NODE} pods: write more --nodes or fewer --pods"
        )
    if asked.memory and asked.only:
        parser.error("--memory measures tangram alone: leave out --only")
    return Asked(
        nodes=nodes,
        pods=pods,
        rivals=[asked.only] if asked.only else NAMES,
        bursts=not asked.alone,
        singles=not asked.burst,
        memory=asked.memory,
        json=asked.json,
    )


def reason(error: BaseException) -> str:
    """The sentence of the first error that has one for people; raises one that has none."""
    if isinstance(error, TOLD):
        return str(error) or type(error).__name__
    if isinstance(error, BaseExceptionGroup):
        for each in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            return reason(each)
    raise error


def main() -> None:
    """Measure, print, and fail when a bar is missed."""
    asked = read_command_line(sys.argv[1:])
    # Asked to end from outside, it tidies up as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    measure = measure_cold_start if asked.memory else measure_runs
    before = os.getloadavg()[0]
    try:
        figures, lines, bars = asyncio.run(measure(asked, Progress()))
    except (*TOLD, BaseExceptionGroup) as error:
        sys.exit(f"cluster: {reason(error)}")
    except KeyboardInterrupt:
        print("cluster: stopped; nothing was left running", file=sys.stderr)
        sys.exit(130)
    load = [round(before, 2), round(os.getloadavg()[0], 2)]
    if asked.json:
        told = {"nodes": asked.nodes, "pods": asked.pods, "load_average": load, **figures}
        print(json.dumps({**told, "bars": [asdict(bar) for bar in bars]}, indent=2))
    else:
        print(f"{asked.nodes} nodes, {asked.pods} pods, load average {load[0]} before and {load[1]} after")
        print("\n".join([*lines, "", *bar_lines(bars)]))
    if any(bar.missed for bar in bars):
        sys.exit(1)


if __name__ == "__main__":
    main()
