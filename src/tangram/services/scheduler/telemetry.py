"""What the scheduler counts about itself.

Every label here comes from a closed set, whatever pods and people write: no series can be made from outside. Times
have fine steps from a fifth of a millisecond on, because a slow filter call is slow for every pod behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, Literal, get_args

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from tangram import __version__
from tangram.engine.room import Room

STEPS_S: Final = (
    0.0002, 0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.0075,
    0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.1, 0.2, 0.5, 1, 2, 5,
)  # fmt: skip

Written = Literal["binding", "nomination", "eviction", "lock"]
"""What was written to the API server for a pod; events are not counted."""
Evicted = Literal["done", "budget", "gone", "failed"]
Ended = Literal["bound", "expired", "replaced", "released"]
Reload = Literal["taken", "refused"]


class Outcome(StrEnum):
    """How a call ended, for each of kube-scheduler's verbs and the webhook alike."""

    DONE = "done"
    """A node was chosen, a pod bound, victims named, a pod admitted."""
    PASSED = "passed"
    """None of our business, and left as it came."""
    REFUSED = "refused"
    """No node fits, the pod is not admitted, nobody may be evicted."""
    RETRY = "retry"
    """To be asked again soon: what is missing is promised to somebody, or not known for sure."""
    INVALID = "invalid"
    """The call could not be read."""
    FAILED = "failed"
    """Something went wrong on our side or at the API server."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What is the case now, asked for at every scrape."""

    reservations: int = 0
    waiting: int = 0
    nominations: int = 0
    leader: bool = False
    stale_seconds: float = 0.0
    """How long the oldest of the caches has not followed the API server."""
    configuration_troubles: int = 0
    pending: Mapping[str, int] = {}
    """Waiting pods by the reason word of their last verdict."""
    room: Room | None = None


class Telemetry:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry: Final = registry
        self._filters = _Verb(registry, "filter", "Time to answer a filter call.")
        self._binds = _Verb(registry, "bind", "Time to answer a bind call, the Binding itself included.")
        self._preempts = _Verb(registry, "preempt", "Time to answer a preempt call.")
        self._reviews = _Verb(registry, "review", "Time to answer an admission review.")
        self._writes = _counter(
            registry,
            "api_writes",
            "Writes to the API server for pods, events apart.",
            "object",
            get_args(Written),
        )
        self._evictions = _counter(
            registry, "evictions", "Pods evicted to make room for others.", "outcome", get_args(Evicted)
        )
        self._promises = _counter(
            registry, "promises", "Reservations, by how they ended.", "end", get_args(Ended)
        )
        self._reloads = _counter(
            registry, "config_reloads", "Changes of a configuration file.", "outcome", get_args(Reload)
        )

    def filtered(self, seconds: float, outcome: Outcome) -> None:
        self._filters.took(seconds, outcome)

    def bound(self, seconds: float, outcome: Outcome) -> None:
        self._binds.took(seconds, outcome)

    def preempted(self, seconds: float, outcome: Outcome) -> None:
        self._preempts.took(seconds, outcome)

    def reviewed(self, seconds: float, outcome: Outcome) -> None:
        self._reviews.took(seconds, outcome)

    def wrote(self, thing: Written, times: int = 1) -> None:
        self._writes.labels(thing).inc(times)

    def evicted(self, outcome: Evicted) -> None:
        self._evictions.labels(outcome).inc()

    def promise_ended(self, end: Ended, times: int = 1) -> None:
        self._promises.labels(end).inc(times)

    def reloaded(self, outcome: Reload) -> None:
        self._reloads.labels(outcome).inc()

    def observe(self, figures: Callable[[], Figures]) -> None:
        """Show these figures from now on."""
        self.registry.register(_State(figures))


class _Verb:
    def __init__(self, registry: CollectorRegistry, verb: str, sentence: str) -> None:
        self._seconds = Histogram(
            f"tangram_scheduler_{verb}_seconds", sentence, registry=registry, buckets=STEPS_S
        )
        self._outcomes = _counter(
            registry, f"{verb}s", f"Calls of {verb}, by how they ended.", "outcome", tuple(Outcome)
        )

    def took(self, seconds: float, outcome: Outcome) -> None:
        self._seconds.observe(seconds)
        self._outcomes.labels(outcome.value).inc()


class _State(Collector):
    def __init__(self, figures: Callable[[], Figures]) -> None:
        self._figures = figures

    def describe(self) -> Iterable[Metric]:
        """Nothing: asking the figures before anything runs would be too early."""
        return ()

    def collect(self) -> Iterator[Metric]:
        now = self._figures()
        yield InfoMetricFamily("tangram_build", "What runs here.", {"version": __version__})
        for name, sentence, value in (
            ("reservations", "Pods that are promised cards and not bound yet.", now.reservations),
            ("waiting_pods", "Pods of ours without a node.", now.waiting),
            ("nominations", "Waiting pods for which a node was decided ahead.", now.nominations),
            ("leader", "1 while this process may bind.", now.leader),
            (
                "cache_stale_seconds",
                "How long the caches have not followed the API server.",
                now.stale_seconds,
            ),
            (
                "config_refused",
                "Configuration files that are refused as they are now.",
                now.configuration_troubles,
            ),
        ):
            yield GaugeMetricFamily(f"tangram_scheduler_{name}", sentence, value=value)
        pending = _family("pending_pods", "Waiting pods by the reason that stopped the last try.", "reason")
        for reason, count in now.pending.items():
            pending.add_metric((reason,), count)
        yield pending
        if now.room is not None:
            yield from _room(now.room)


def _room(room: Room) -> Iterator[Metric]:
    cards = _family("cards", "Cards that take pods.", "vendor")
    idle = _family("idle_cards", "Cards' worth that nobody holds.", "vendor")
    remainders = _family("remainder_cards", "Cards' worth idle on cards that are held in part.", "vendor")
    fragmented = _family(
        "fragmented_cards",
        "Cards' worth idle that is of no use to the pods of the recent past that use such cards.",
        "vendor",
    )
    for vendor, its in room.by_vendor.items():
        if its.cards:
            cards.add_metric((vendor.value,), its.cards)
            idle.add_metric((vendor.value,), its.idle)
            remainders.add_metric((vendor.value,), its.remainders)
            fragmented.add_metric((vendor.value,), its.fragmented)
    yield from (cards, idle, remainders, fragmented)


def _family(name: str, sentence: str, label: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"tangram_scheduler_{name}", sentence, labels=(label,))


def _counter(
    registry: CollectorRegistry, name: str, sentence: str, label: str, values: Sequence[str]
) -> Counter:
    made = Counter(f"tangram_scheduler_{name}", sentence, (label,), registry=registry)
    for value in values:
        # A rate over a series that appears with its first event misses that event.
        made.labels(value)
    return made
