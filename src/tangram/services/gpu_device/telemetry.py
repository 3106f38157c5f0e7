"""What the agent counts about itself."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_QUICK: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Telemetry:
    def __init__(self) -> None:
        self.registry: Final = CollectorRegistry()
        self._calls = Histogram(
            "tangram_agent_call_seconds",
            "Time to answer a call of the kubelet.",
            ("call", "resource"),
            registry=self.registry,
            buckets=_QUICK,
        )
        self._steps = Histogram(
            "tangram_agent_step_seconds",
            "Time of the steps of a container's start.",
            ("step",),
            registry=self.registry,
            buckets=_QUICK,
        )
        self._refusals = Counter(
            "tangram_agent_refusals",
            "Containers that were not given devices, by the code of the refusal.",
            ("resource", "code"),
            registry=self.registry,
        )
        self._actions = Counter(
            "tangram_agent_actions",
            "Things made, resized and removed on this node.",
            ("action",),
            registry=self.registry,
        )
        self._writes = Counter(
            "tangram_agent_api_writes",
            "Writes to the API server, by what was written.",
            ("object",),
            registry=self.registry,
        )
        self._registered = Gauge(
            "tangram_agent_registered",
            "Whether the kubelet knows the resource.",
            ("resource",),
            registry=self.registry,
        )
        self._gaps = Counter(
            "tangram_agent_registrations",
            "Registrations with a kubelet; each after the first is a gap in which a pod may have been refused.",
            ("resource",),
            registry=self.registry,
        )
        self._last_gap = Gauge(
            "tangram_agent_registration_seconds",
            "How long the kubelet did not know the resource, the last time.",
            ("resource",),
            registry=self.registry,
        )
        self._reporter = Gauge(
            "tangram_agent_koordinator_reporter",
            "Who reports this node's cards to Koordinator: 1 for the one who does.",
            ("reporter",),
            registry=self.registry,
        )
        self._seen_registrations: dict[str, int] = {}

    def took(self, call: str, resource: str, seconds: float) -> None:
        self._calls.labels(call, resource).observe(seconds)

    def step_took(self, step: str, seconds: float) -> None:
        self._steps.labels(step).observe(seconds)

    def refused(self, resource: str, code: str) -> None:
        self._refusals.labels(resource, code).inc()

    def did(self, action: str) -> None:
        self._actions.labels(action).inc()

    def wrote(self, thing: str) -> None:
        self._writes.labels(thing).inc()

    def reported_by(self, reporter: str) -> None:
        self._reporter.clear()
        self._reporter.labels(reporter).set(1)

    def registration(self, resource: str, *, registered: bool, count: int, seconds: float) -> None:
        self._registered.labels(resource).set(1 if registered else 0)
        new = count - self._seen_registrations.get(resource, 0)
        if new > 0:
            self._seen_registrations[resource] = count
            self._gaps.labels(resource).inc(new)
            self._last_gap.labels(resource).set(seconds)
