"""Whether a pod puts up with a node: taints and tolerations, node selectors and the required part of node affinity."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from tangram.engine import hostrules
from tangram.kube.objects import Object
from tangram.model.nodes import Taint
from tangram.sandbox.controllers.reading import items, labels_of, spec_of
from tangram.wire.placing import read_placing, read_toleration

NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
MEMORY_PRESSURE: Final = "node.kubernetes.io/memory-pressure"
DISK_PRESSURE: Final = "node.kubernetes.io/disk-pressure"
PID_PRESSURE: Final = "node.kubernetes.io/pid-pressure"
NETWORK_UNAVAILABLE: Final = "node.kubernetes.io/network-unavailable"


def taints_of(node: Object) -> list[Object]:
    """All taints of a node."""
    return items(spec_of(node), "taints")


def tolerates(toleration: Object, taint: Object) -> bool:
    """Whether one toleration covers one taint."""
    marked = Taint(taint["key"], taint.get("value") or "", taint.get("effect") or "")
    return hostrules.tolerates(read_toleration(toleration), marked)


def untolerated(node: Object, tolerations: Sequence[Object], effects: Collection[str]) -> list[Object]:
    """Taints with one of these effects that no toleration covers."""
    return [
        taint
        for taint in taints_of(node)
        if taint.get("effect") in effects and not any(tolerates(each, taint) for each in tolerations)
    ]


def wants(spec: Object, node: Object) -> bool:
    """Whether a pod with this spec asks for such a node at all."""
    return hostrules.wants(read_placing(spec), node["metadata"]["name"], labels_of(node))
