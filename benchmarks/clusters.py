"""How long a cluster of the test bed takes to be usable, what it costs, and what is left after many of them.

    python benchmarks/clusters.py                     one node: seconds to a running pod, and to the end
    python benchmarks/clusters.py --cycles 20         the same, twenty times in a row, counting what leaks
    python benchmarks/clusters.py --nodes 3 --kwok 500 --cycles 1

Budgets: 15 s to a running pod with one node; 6 GiB with three nodes and 500 kwok nodes; nothing left behind.
Needs root and a built test bed (`make testbed`).
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from testbed import cgroups  # noqa: E402 - found by the line above: the test bed is not installed
from testbed.cluster import Cluster  # noqa: E402 - the same
from testbed.errors import BedError  # noqa: E402 - the same
from testbed.manifests import is_running, pod, tolerates_kwok  # noqa: E402 - the same
from testbed.options import Options  # noqa: E402 - the same

START_BUDGET_S = 15.0
MEMORY_BUDGET_MIB = 6 * 1024


@dataclass(frozen=True, slots=True)
class Cycle:
    usable_s: float
    pod_running_s: float
    end_s: float
    own_memory_mib: float
    """Anonymous and shared memory of all processes."""
    peak_memory_mib: float
    """The most the kernel ever charged to the cluster, page cache included (0 where it does not say)."""


@dataclass(frozen=True, slots=True)
class Traces:
    open_files: int
    mounts: int
    cgroups: int
    links: int
    namespaces: int
    processes: int


def traces() -> Traces:
    """Everything of the machine that a cluster could leave behind, counted."""
    processes = [path for path in Path("/proc").iterdir() if path.name.isdigit()]
    namespaces: set[str] = set()
    for process in processes:
        try:
            namespaces |= {str(link.readlink()) for link in (process / "ns").iterdir()}
        except OSError:
            continue
    trees = [tree.mounted_at for tree in cgroups.hierarchies()]
    return Traces(
        open_files=len(list(Path("/proc/self/fd").iterdir())),
        mounts=len(Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()),
        cgroups=sum(1 for tree in trees for _ in os.walk(tree)),
        links=len(list(Path("/sys/class/net").iterdir())),
        namespaces=len(namespaces),
        processes=len([process for process in processes if not _is_kernel_thread(process)]),
    )


def _is_kernel_thread(process: Path) -> bool:
    try:
        return not (process / "cmdline").read_bytes()
    except OSError:
        return True


async def cycle(options: Options, hold: float) -> Cycle:
    """One cluster from nothing to nothing."""
    began = time.monotonic()
    async with Cluster.open(options) as cluster:
        usable = time.monotonic() - began
        await cluster.api.create(pod("first", tolerations=[] if options.nodes else tolerates_kwok()))
        await cluster.until_pod("first", is_running)
        running = time.monotonic() - began
        await asyncio.sleep(hold)
        name = cluster.box.folder.name
        own, peak = cgroups.memory(name) / 2**20, _peak(name) / 2**20
        ending = time.monotonic()
    return Cycle(usable, running, time.monotonic() - ending, own, peak)


def _peak(name: str) -> int:
    for branch in cgroups.branches(name):
        for file in ("memory.max_usage_in_bytes", "memory.peak"):
            if (branch / file).exists():
                return int((branch / file).read_text(encoding="ascii"))
    return 0


async def measure(options: Options, cycles: int, hold: float) -> tuple[list[Cycle], Traces, Traces]:
    """The cycles, and what could be counted before the first and after the last."""
    # The first cluster of a process opens what the process keeps: event loop, thread pool, caches.
    await cycle(options, 0)
    before = traces()
    done = [await cycle(options, hold) for _ in range(cycles)]
    return done, before, traces()


def main() -> int:
    """Measure, print, and judge against the budgets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--kwok", type=int, default=0)
    parser.add_argument("--cycles", type=int, default=3)
    parser.add_argument(
        "--hold", type=float, default=0.0, help="seconds to keep each cluster before measuring its memory"
    )
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    try:
        done, before, after = asyncio.run(
            measure(Options(nodes=asked.nodes, kwok_nodes=asked.kwok), asked.cycles, asked.hold)
        )
    except BedError as error:
        print(f"benchmarks/clusters.py: {error}", file=sys.stderr)
        return 1
    starts = [one.pod_running_s for one in done]
    grown = {name: value - asdict(before)[name] for name, value in asdict(after).items()}
    faults = [
        f"{amount} more {name} than before"
        for name, amount in grown.items()
        if amount > 0 and name != "processes"
    ]
    if asked.nodes == 1 and not asked.kwok and statistics.median(starts) > START_BUDGET_S:
        faults.append(f"a pod ran after {statistics.median(starts):.1f} s, budget {START_BUDGET_S:g} s")
    if max(one.peak_memory_mib for one in done) > MEMORY_BUDGET_MIB:
        faults.append(f"over the memory budget of {MEMORY_BUDGET_MIB} MiB")
    if asked.json:
        print(json.dumps({"cycles": [asdict(one) for one in done], "left_behind": grown, "faults": faults}))
    else:
        for one in done:
            print(
                f"usable {one.usable_s:5.1f} s   pod running {one.pod_running_s:5.1f} s   end {one.end_s:4.1f} s   "
                f"own memory {one.own_memory_mib:6.0f} MiB   peak with cache {one.peak_memory_mib:6.0f} MiB"
            )
        print(
            f"{len(done)} clusters: pod running median {statistics.median(starts):.1f} s, slowest {max(starts):.1f} s"
        )
        print("left behind: " + ", ".join(f"{name} {amount:+d}" for name, amount in grown.items()))
        for fault in faults:
            print(f"FAULT: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
