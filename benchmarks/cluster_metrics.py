"""What the cluster benchmark reads from other programs' metrics: how long calls took, and who wrote how often.

Counters only ever grow, so a figure is always the difference of two readings. Writes are counted where they all come
by, at the API server: what a program says of itself may leave something out.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

FILTER_SECONDS: Final = "tangram_scheduler_filter_seconds"
BIND_SECONDS: Final = "tangram_scheduler_bind_seconds"
"""The do-nothing extender counts under the same names."""

_REQUESTS: Final = "apiserver_request_total{"
_WRITING: Final = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"})
_NOT_COUNTED: Final = frozenset(
    {
        # The bars leave them out.
        "events",
        # One every few seconds, however many pods there are.
        "leases",
        # Questions in the shape of a POST; nothing is stored.
        "tokenreviews",
        "subjectaccessreviews",
        "selfsubjectaccessreviews",
        "selfsubjectreviews",
    }
)
_OWN: Final = frozenset({"POST pods", "DELETECOLLECTION pods"})
"""The benchmark's: it alone makes and removes pods."""
_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many calls took at most so many seconds: (bound, calls up to it), in order, the last bound being infinite."""

    steps: tuple[tuple[float, int], ...]

    @property
    def count(self) -> int:
        return self.steps[-1][1] if self.steps else 0

    def since(self, earlier: Histogram) -> Histogram:
        """The calls that an earlier reading did not have."""
        before = dict(earlier.steps)
        return Histogram(tuple((bound, calls - before.get(bound, 0)) for bound, calls in self.steps))

    def quantile(self, part: float) -> float | None:
        """Seconds within which that part of the calls was answered; None without calls.

        Inside a step, calls are taken to lie evenly; one beyond the last finite bound is told as that bound.
        """
        wanted = part * self.count
        if not self.count:
            return None
        low, below = 0.0, 0
        for bound, calls in self.steps:
            if calls >= wanted and calls > below:
                return low if math.isinf(bound) else low + (bound - low) * (wanted - below) / (calls - below)
            low, below = bound, calls
        return low


def histogram(text: str, name: str) -> Histogram:
    """The histogram of that name, all its labels taken together; empty when there is none."""
    found: Counter[float] = Counter()
    for line in text.splitlines():
        if line.startswith(f"{name}_bucket{{"):
            labels, value = _sample(line)
            found[float(labels["le"])] += int(float(value))
    return Histogram(tuple(sorted(found.items())))


def api_writes(text: str) -> Counter[str]:
    """Requests to the API server that write, by 'VERB resource/subresource', failed ones included."""
    found: Counter[str] = Counter()
    for line in text.splitlines():
        if not line.startswith(_REQUESTS):
            continue
        labels, value = _sample(line)
        resource, part = labels.get("resource", ""), labels.get("subresource", "")
        if labels.get("verb") in _WRITING and resource and resource not in _NOT_COUNTED:
            found[f"{labels['verb']} {resource}" + (f"/{part}" if part else "")] += int(float(value))
    return found


def writes_per_pod(before: Counter[str], after: Counter[str], pods: int) -> dict[str, float]:
    """What placing a pod cost in writes between two readings, without what the benchmark itself did."""
    return {
        what: (after[what] - before[what]) / pods
        for what in sorted(after)
        if after[what] > before[what] and what not in _OWN
    }


def _sample(line: str) -> tuple[dict[str, str], str]:
    labels, _, value = line.rpartition("} ")
    return dict(_LABEL.findall(labels)), value.split(maxsplit=1)[0]
