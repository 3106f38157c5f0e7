"""The class of a pod, by which the kubelet chooses whom to evict first."""

from __future__ import annotations

from collections.abc import Iterator

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.rules.looking import quantities, record, records
from tangram.units.quantity import Quantity

COUNTED = ("cpu", "memory")


def qos_class(pod: Object) -> str:
    """Guaranteed, Burstable or BestEffort. Only cores and memory count, cards do not."""
    parts = list(_resources(pod["spec"]))
    requests = [_positive(part, "requests") for part in parts]
    limits = [_positive(part, "limits") for part in parts]
    if not any(requests) and not any(limits):
        return "BestEffort"
    if all(set(each) == set(COUNTED) for each in limits) and _sums(requests) == _sums(limits):
        return "Guaranteed"
    return "Burstable"


def _resources(spec: Object) -> Iterator[Object]:
    whole = record(spec, "resources")
    if whole:
        yield whole
        return
    for name in ("containers", "initContainers"):
        for container in records(spec, name):
            yield record(container, "resources")


def _positive(part: Object, name: str) -> dict[str, Quantity]:
    return {
        key: amount for key, amount in quantities(part, name).items() if key in COUNTED and amount.sign > 0
    }


def _sums(parts: list[dict[str, Quantity]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            totals[name] = totals.get(name, 0) + amount.nanos
    return totals
