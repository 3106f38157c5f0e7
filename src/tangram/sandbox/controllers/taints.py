"""Whether a pod puts up with a node: taints and tolerations, node selectors and the required part of node affinity."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.controllers.reading import (
    items,
    labels_of,
    part,
    spec_of,
)
from tangram.sandbox.controllers.selecting import requirement_holds

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
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if (toleration.get("operator") or "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")


def untolerated(node: Object, tolerations: Sequence[Object], effects: Collection[str]) -> list[Object]:
    """Taints with one of these effects that no toleration covers."""
    return [
        taint
        for taint in taints_of(node)
        if taint.get("effect") in effects and not any(tolerates(each, taint) for each in tolerations)
    ]


def wants(spec: Object, node: Object) -> bool:
    """Whether a pod with this spec asks for such a node at all."""
    labels = labels_of(node)
    selector: dict[str, str] = spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        return False
    affinity = part(spec, "affinity", "nodeAffinity")
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_term_holds(term, node) for term in items(required, "nodeSelectorTerms"))


def _term_holds(term: Object, node: Object) -> bool:
    expressions: list[Object] = term.get("matchExpressions") or []
    fields: list[Object] = term.get("matchFields") or []
    if not expressions and not fields:
        return False
    named = {"metadata.name": node["metadata"]["name"]}
    return all(requirement_holds(each, labels_of(node)) for each in expressions) and all(
        requirement_holds(each, named) for each in fields
    )
