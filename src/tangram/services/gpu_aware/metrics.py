"""What gpu-aware counts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tangram.wire.gpu_aware_weights import LOSS, SCORE, Weights

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""kube-scheduler gives up on an extender after five seconds."""


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.seconds = {
            verb: Histogram(
                f"tangram_gpu_aware_{verb}_seconds",
                f"How long calls of {verb} took, from their body to their answer.",
                buckets=_SECONDS,
                registry=self.registry,
            )
            for verb in ("filter", "prioritize")
        }
        self.calls = Counter(
            "tangram_gpu_aware_calls",
            "Calls by verb and outcome: judged (the pod asks for whole cards), passed (it does not), refused.",
            ("verb", "outcome"),
            registry=self.registry,
        )
        self.nodes = Counter(
            "tangram_gpu_aware_nodes",
            "Nodes weighed, by where their topology is known from: published, computed, unknown.",
            ("topology",),
            registry=self.registry,
        )
        self.weight = Gauge(
            "tangram_gpu_aware_weight", "The weights in force.", ("weight",), registry=self.registry
        )
        self.weights_changed = Counter(
            "tangram_gpu_aware_weights_changed",
            "How often other weights came into force.",
            registry=self.registry,
        )
        self.weights_refused = Gauge(
            "tangram_gpu_aware_weights_refused",
            "1 while what is written as weights cannot be used, and the last good ones stay in force.",
            registry=self.registry,
        )

    def weights_are(self, weights: Weights) -> None:
        self.weight.labels(SCORE).set(float(weights.score))
        self.weight.labels(LOSS).set(float(weights.loss))
