"""What the labeller counts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.patches = Counter(
            "tangram_gpu_label_patches",
            "Patches of the node's labels that were written.",
            registry=self.registry,
        )
        self.patches_failed = Counter(
            "tangram_gpu_label_patches_failed",
            "Patches that the API server refused or did not answer.",
            registry=self.registry,
        )
        self.reads = Counter(
            "tangram_gpu_label_reads", "Readings of the driver and the PCI bus.", registry=self.registry
        )
        self.reads_failed = Counter(
            "tangram_gpu_label_reads_failed", "Readings that hung or failed.", registry=self.registry
        )
        self.read_seconds = Gauge(
            "tangram_gpu_label_last_read_seconds", "How long the last reading took.", registry=self.registry
        )
        self.labels = Gauge(
            "tangram_gpu_label_labels",
            "Labels of ours that the node should carry now.",
            registry=self.registry,
        )
