"""What the driver manager counts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.ready = Gauge(
            "tangram_driver_manager_ready",
            "1 while a verified driver runs and the node may offer its cards.",
            registry=self.registry,
        )
        self.steps = Counter(
            "tangram_driver_manager_steps",
            "Steps that were taken, by their kind and how they ended.",
            ("step", "outcome"),
            registry=self.registry,
        )
        self.failed_looks = Counter(
            "tangram_driver_manager_failed_looks",
            "Looks at the machine or writes to the API server that failed.",
            registry=self.registry,
        )
