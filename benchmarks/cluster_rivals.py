"""Who is measured: the programs that stand behind kube-scheduler's extender address, one set at a time.

All use the same address, so kube-scheduler keeps its process, its caches and its configuration while they take turns.
They run inside the box and end with it.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cluster_nominator
from cluster_bed import EXTENDER, Bed
from cluster_metrics import BIND_SECONDS, FILTER_SECONDS, Histogram, histogram
from cluster_processes import Weight, weigh
from testbed.errors import BedError

BENCHMARKS: Final = Path(__file__).resolve().parent
PYTHON: Final = sys.executable
TANGRAM: Final = Path(sys.executable).with_name("tangram")
START_LIMIT_S: Final = 120.0
LOOK_EVERY_S: Final = 0.05

NOTHING, NOMINATING, OURS = "nothing", "nominating", "tangram"
NAMES: Final = (NOTHING, NOMINATING, OURS)

# Where `tangram scheduler` serves what is not for kube-scheduler: over TLS, to whoever shows a token.
OUTSIDE: Final = "127.0.0.1:9447"
SCHEDULER_COMMAND: Final = (
    "scheduler", "--kubeconfig", "{kubeconfig}", "--extender-address", EXTENDER, "--https-address", OUTSIDE,
    "--lease", "none", "--log-dir", "", "--log-format", "text",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rival:
    """Its programs, the extender first, and where it tells what it counted."""

    name: str
    programs: Mapping[str, Sequence[str | Path]]
    metrics: str
    needs_token: bool = False


def rival(name: str, kubeconfig: Path, nodes: int) -> Rival:
    """The programs of that name, for a cluster of so many nodes."""
    if name == OURS:
        words = [word.format(kubeconfig=kubeconfig) for word in SCHEDULER_COMMAND]
        return Rival(name, {OURS: [TANGRAM, *words]}, f"https://{OUTSIDE}/metrics", needs_token=True)
    common = ["--kubeconfig", kubeconfig]
    programs: dict[str, Sequence[str | Path]] = {
        NOTHING: [PYTHON, BENCHMARKS / "cluster_nothing.py", *common, "--address", EXTENDER]
    }
    if name == NOMINATING:
        words = [PYTHON, BENCHMARKS / "cluster_nominator.py", *common, "--nodes", str(nodes)]
        programs[NOMINATING] = words
    return Rival(name, programs, f"http://{EXTENDER}/metrics")


@dataclass(frozen=True, slots=True)
class Latencies:
    filter: Histogram
    bind: Histogram


class Running:
    """A rival at work."""

    def __init__(self, bed: Bed, which: Rival, token: str) -> None:
        self._bed = bed
        self._rival = which
        self._token = token
        self._pids: dict[str, int] = {}
        self.name = which.name
        self.begun = 0.0
        """When its extender was started."""

    async def start(self) -> None:
        self.begun = time.monotonic()
        for name, command in self._rival.programs.items():
            self._pids[name] = await self._bed.cluster.box.start(name, command)

    async def stop(self) -> None:
        for name in self._pids:
            await self._bed.cluster.box.stop(name)

    async def until_ready(self) -> float:
        """Seconds from its start until it is ready for calls."""
        last = self.begun + START_LIMIT_S
        while not await self._is_ready():
            await self.refuse_ended()
            if time.monotonic() > last:
                raise BedError(f"{self.name} was not ready within {START_LIMIT_S:g} s: {self._last_words()}")
            await asyncio.sleep(LOOK_EVERY_S)
        return time.monotonic() - self.begun

    async def refuse_ended(self) -> None:
        """A program that has ended by itself is an error, told with its last words."""
        known = {program["name"]: program["status"] for program in await self._bed.cluster.box.programs()}
        for name in self._pids:
            if known.get(name) is not None:
                raise BedError(f"{name} ended by itself with status {known[name]}: {self._last_words()}")

    async def latencies(self) -> Latencies:
        """How long its calls took so far; empty where it does not tell, which misses the bars on them."""
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        status, text = await self._bed.fetch(self._rival.metrics, headers=headers)
        if status != 200:
            self._bed.progress.say(f"{self.name} does not tell what it counted ({status}): {text[:200]}")
            return Latencies(Histogram(()), Histogram(()))
        return Latencies(histogram(text, FILTER_SECONDS), histogram(text, BIND_SECONDS))

    def weight(self) -> Weight:
        """Of its extender, with all processes that started."""
        return weigh(self._bed.cluster.box.init, next(iter(self._pids.values())))

    async def _is_ready(self) -> bool:
        status, _ = await self._bed.fetch(f"http://{EXTENDER}/readyz")
        nominates = NOMINATING not in self._pids or cluster_nominator.READY in self._log(NOMINATING)
        return status == 200 and nominates

    def _log(self, name: str) -> str:
        return self._bed.cluster.box.log(name)

    def _last_words(self) -> str:
        lines = [line for name in self._pids for line in self._log(name).strip().splitlines()[-4:]]
        return " | ".join(lines)[-800:] or "it printed nothing"


@asynccontextmanager
async def running(bed: Bed, name: str, token: str) -> AsyncGenerator[Running]:
    """A rival that was started, and is gone afterwards."""
    which = rival(name, bed.cluster.box.folder.admin_kubeconfig, bed.nodes)
    at_work = Running(bed, which, token if which.needs_token else "")
    try:
        await at_work.start()
        yield at_work
    finally:
        await at_work.stop()
