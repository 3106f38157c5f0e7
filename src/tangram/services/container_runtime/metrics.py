"""What container-runtime counts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.changes = Counter(
            "tangram_container_runtime_changes",
            "Changes of the container runtime's configuration that were made and read by it.",
            registry=self.registry,
        )
        self.failures = Counter(
            "tangram_container_runtime_failures",
            "Looks at the host after which runtime metax was not as it should be.",
            registry=self.registry,
        )
        self.patches = Counter(
            "tangram_container_runtime_patches",
            "Patches of the node that were written.",
            registry=self.registry,
        )
        self.patches_failed = Counter(
            "tangram_container_runtime_patches_failed",
            "Patches that the API server refused or did not answer.",
            registry=self.registry,
        )
        self.ready = Gauge(
            "tangram_container_runtime_ready", "1 while runtime metax is registered.", registry=self.registry
        )
