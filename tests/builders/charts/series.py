"""Every series that the daemons really tell, with its labels: asked of their own registries, and not of a list.

What a target's labels add is what our monitors say: every scrape has `job`, `instance`, `namespace`, `pod` and
`container`, and that of a part that runs on nodes has `node`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from builders.charts.promql import Series
from builders.clusters import metax_node, mthreads_node
from builders.requests import request, run, slice_ask
from builders.starts import inventory, metax, uuid
from tangram.engine.demand import Demand
from tangram.engine.ledger import Ledger
from tangram.engine.room import Room, room_of
from tangram.model.devices import Figures, Slice
from tangram.services.gpu_aware.metrics import Metrics as AwareMetrics
from tangram.services.gpu_device.card_metrics import CardMetrics
from tangram.services.gpu_device.card_readings import Reading
from tangram.services.gpu_device.metric_scene import Scene
from tangram.services.gpu_device.telemetry import Telemetry as AgentTelemetry
from tangram.services.gpu_label.metrics import Metrics as LabelMetrics
from tangram.services.scheduler.metrics_of_hami import QuotaFigure, hami_lines
from tangram.services.scheduler.telemetry import Figures as SchedulerFigures
from tangram.services.scheduler.telemetry import Telemetry as SchedulerTelemetry
from tangram.units.ids import CardUuid
from tangram.units.memory import from_gib
from tangram.wire.gpu_aware_weights import Weights

OF_A_TARGET: Final = frozenset({"job", "instance", "namespace", "pod", "container", "endpoint"})
OF_A_NODE: Final = OF_A_TARGET | {"node"}


def all_series() -> Series:
    """As Prometheus keeps them."""
    found: dict[str, frozenset[str]] = {}
    for name, labels in _told(_scheduler()):
        found[name] = found.get(name, frozenset()) | labels | OF_A_TARGET
    for page in (_agent(), generate_latest(LabelMetrics().registry), _aware()):
        for name, labels in _told(page):
            if not name.startswith("hami_"):
                found[name] = found.get(name, frozenset()) | labels | OF_A_NODE
    return found


def _told(page: bytes) -> Iterator[tuple[str, frozenset[str]]]:
    for family in text_string_to_metric_families(page.decode()):
        for sample in family.samples:
            yield sample.name, frozenset(sample.labels)


def _scheduler() -> bytes:
    ledger = Ledger()
    ledger.put_node(metax_node("m", 2))
    ledger.put_node(mthreads_node("t", 1))
    run(ledger, request("slice", slice_ask(memory=from_gib(16), cores=60)))
    telemetry = SchedulerTelemetry(CollectorRegistry())
    room = Room()
    for room in room_of(ledger, Demand()):  # noqa: B007 - only the last one is whole
        pass
    telemetry.observe(lambda: SchedulerFigures(pending={"CardInsufficientMemory": 1}, room=room))
    quotas = [QuotaFigure("team", "limits.metax-tech.com/vmemory", 16, 64)]
    return generate_latest(telemetry.registry) + b"".join(hami_lines(ledger, quotas))


def _agent() -> bytes:
    telemetry = AgentTelemetry()
    telemetry.took("Allocate", "metax-tech.com/sgpu", 0.01)
    telemetry.step_took("slice", 0.01)
    telemetry.refused("metax-tech.com/sgpu", "no-room")
    telemetry.did("slice-made")
    telemetry.wrote("node")
    telemetry.reported_by("tangram")
    telemetry.registration("metax-tech.com/sgpu", registered=True, count=1, seconds=0.1)
    card = CardUuid(uuid(0))
    figures = Figures(
        utilisation_percent=37.5, memory_used=from_gib(16), memory_total=from_gib(64), temperature_celsius=51.0,
        power_watts=120.5, clocks_mhz={"XCORE": 1600}, ecc_uncorrected=0,
    )  # fmt: skip
    part = Slice(
        card=card, id=3, memory=from_gib(4), cores=25, name="a", minor=7, memory_used=from_gib(1),
        utilisation_percent=12.0,
    )  # fmt: skip
    scene = Scene(
        inventory=inventory(metax(0)), usage={}, holdings=(), pods=(), grants=(),
        readings={card: Reading(figures=figures, slices=(part,), at=0.0)},
    )  # fmt: skip
    telemetry.registry.register(CardMetrics(lambda: scene, age=lambda _reading: 1.0))
    return generate_latest(telemetry.registry)


def _aware() -> bytes:
    metrics = AwareMetrics()
    metrics.calls.labels("filter", "judged").inc()
    metrics.nodes.labels("published").inc()
    metrics.weights_are(Weights())
    return generate_latest(metrics.registry)
