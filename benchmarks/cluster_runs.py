"""The two things that are timed on a cluster: a burst of pods, and pods that come one at a time."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from cluster_bed import SETTLE_S, Bed, Bound
from cluster_checks import placement_faults
from cluster_manifests import SHAPES, waiting_pod
from cluster_metrics import Histogram, api_writes, writes_per_pod
from cluster_rivals import OURS, Running
from testbed.api import Object, path_of

ALONE_PODS: Final = 50
FAULTS_SHOWN: Final = 5

Bringing = Callable[[Bound], Awaitable[float | None]]
"""Makes pods and waits until they are bound; the median wait in seconds, where each had one of its own."""


@dataclass(frozen=True, slots=True)
class Calls:
    """How long an extender took to answer one verb, by its own clock."""

    count: int
    p50_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True, slots=True)
class Run:
    """One rival, one way of bringing pods."""

    rival: str
    pods: int
    bound: int
    seconds: float
    """From the first create to the last bound pod."""
    filter: Calls
    bind: Calls
    writes: dict[str, float]
    """API writes for each pod by kind, besides events and the pod's own creation."""
    peak_rss_mb: float
    cpu_ms_per_pod: float
    """What the extender's process worked; less at the mercy of a busy machine than any time that passes."""
    wait_ms: float | None = None
    """From create to bound, the median of pods that come one at a time."""
    faults: int = 0
    """Pods and cards that are not as they must be after the run; looked for only where cards are given out."""
    first_faults: list[str] = field(default_factory=list[str])

    @property
    def pods_per_s(self) -> float:
        return self.bound / self.seconds if self.seconds else 0.0

    @property
    def writes_per_pod(self) -> float:
        return sum(self.writes.values())

    def as_json(self) -> Object:
        """For programs, with the figures that follow from others."""
        return {
            "pods": self.pods,
            "bound": self.bound,
            "seconds": round(self.seconds, 4),
            "pods_per_s": round(self.pods_per_s, 2),
            "wait_ms": self.wait_ms,
            "filter": _calls_json(self.filter),
            "bind": _calls_json(self.bind),
            "writes_per_pod": round(self.writes_per_pod, 4),
            "writes": {what: round(each, 4) for what, each in self.writes.items()},
            "peak_rss_mb": round(self.peak_rss_mb, 1),
            "cpu_ms_per_pod": round(self.cpu_ms_per_pod, 3),
            "faults": self.faults,
            "first_faults": self.first_faults,
        }


async def burst(bed: Bed, rival: Running, pods: int) -> Run:
    """So many pods at once."""
    made = [waiting_pod(f"burst-{number}", SHAPES[number % len(SHAPES)]) for number in range(pods)]
    what = f"burst with {rival.name}"

    async def bring(bound: Bound) -> None:
        async with asyncio.TaskGroup() as together:
            creating = together.create_task(bed.create(made, pods, f"pods, {what}"))
            await bound.until(pods, lambda done: bed.progress.count(f"bound, {what}", done, pods))
            creating.cancel()

    return await _measured(bed, rival, pods, bring)


async def alone(bed: Bed, rival: Running, pods: int = ALONE_PODS) -> Run:
    """One pod after the other, each made when the last is bound."""
    what = f"one at a time with {rival.name}"
    bed.progress.say(f"{pods} pods, {what}")

    async def bring(bound: Bound) -> float | None:
        took: list[float] = []
        for number in range(pods):
            begun = time.monotonic()
            await bed.cluster.api.create(waiting_pod(f"alone-{number}", SHAPES[number % len(SHAPES)]))
            if not await bound.until(number + 1):
                break
            took.append(bound.last - begun)
            bed.progress.count(what, number + 1, pods)
        return statistics.median(took) if took else None

    return await _measured(bed, rival, pods, bring)


async def _measured(bed: Bed, rival: Running, pods: int, bring: Bringing) -> Run:
    """Every counter before and after, and the cluster empty again."""
    writes, calls, before = api_writes(await bed.api_metrics()), await rival.latencies(), rival.weight()
    async with bed.watching() as bound:
        begun = time.monotonic()
        wait = await bring(bound)
        await rival.refuse_ended()
    # What is written behind the last binding counts as well.
    await asyncio.sleep(SETTLE_S)
    wrote, called = api_writes(await bed.api_metrics()), await rival.latencies()
    after, placed = rival.weight(), max(1, len(bound.nodes))
    faults: list[str] = []
    if rival.name == OURS:
        faults = placement_faults(await bed.cluster.api.list(path_of("Pod")))
    run = Run(
        rival=rival.name,
        pods=pods,
        bound=len(bound.nodes),
        seconds=max(0.0, bound.last - begun),
        filter=_calls(called.filter.since(calls.filter)),
        bind=_calls(called.bind.since(calls.bind)),
        writes=writes_per_pod(writes, wrote, placed),
        peak_rss_mb=after.peak_rss_mb,
        cpu_ms_per_pod=(after.cpu_s - before.cpu_s) * 1000 / placed,
        wait_ms=_ms(wait),
        faults=len(faults),
        first_faults=faults[:FAULTS_SHOWN],
    )
    await bed.remove_pods()
    return run


def _calls(seen: Histogram) -> Calls:
    return Calls(int(seen.count), _ms(seen.quantile(0.5)), _ms(seen.quantile(0.99)))


def _calls_json(calls: Calls) -> Object:
    return {"count": calls.count, "p50_ms": calls.p50_ms, "p99_ms": calls.p99_ms}


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)
