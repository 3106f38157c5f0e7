"""What a pod's manifest says about its place in the queue: who must wait for what before it can be placed.

Placement itself is `wire.pods`. This is for the one who decides ahead of kube-scheduler and must know which pods
kube-scheduler will ask about next, and which of them it may refuse for reasons that only it can see.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from tangram.units.ids import Namespace, NodeName
from tangram.wire import loose

_GANG_NAMES: Final = (
    "gang.scheduling.koordinator.sh/name",
    "pod-group.scheduling.sigs.k8s.io/name",
    "scheduling.x-k8s.io/pod-group",
)
_GANG_SIZES: Final = (
    "gang.scheduling.koordinator.sh/min-available",
    "pod-group.scheduling.sigs.k8s.io/min-available",
)
_LARGEST_GANG: Final = 10_000


class Gang(msgspec.Struct, frozen=True):
    """Pods that are of use only together."""

    namespace: Namespace
    name: str
    at_least: int
    """So many must run for any to be of use; 0 where nobody said, and then as many as are there."""


class Queueing(msgspec.Struct, frozen=True, kw_only=True):
    nominated: NodeName | None = None
    gated: bool = False
    """kube-scheduler does not look at it before its gates are gone."""
    parked: bool = False
    """kube-scheduler found no node and waits for something to change."""
    others_decide: bool = False
    """Other pods, volumes or ports have a say in where it can go, which only kube-scheduler knows."""
    gang: Gang | None = None
    preempts: bool = True
    """May have others evicted for it."""


def read_queueing(manifest: Mapping[str, object]) -> Queueing:
    """Never raises: what cannot be read is not there."""
    spec, status = loose.members(manifest.get("spec")), loose.members(manifest.get("status"))
    return Queueing(
        nominated=NodeName(loose.text(status.get("nominatedNodeName"))) or None,
        gated=bool(loose.elements(spec.get("schedulingGates"))),
        parked=_is_parked(status),
        others_decide=_others_decide(spec),
        gang=read_gang(manifest),
        preempts=spec.get("preemptionPolicy") != "Never",
    )


def read_gang(manifest: Mapping[str, object]) -> Gang | None:
    """Which gang the pod belongs to, whether or not it still waits."""
    metadata = loose.members(manifest.get("metadata"))
    labels, annotations = loose.members(metadata.get("labels")), loose.members(metadata.get("annotations"))
    name = _first(labels, annotations, _GANG_NAMES)
    if not name:
        return None
    size = _first(labels, annotations, _GANG_SIZES)
    at_least = int(size) if size.isascii() and size.isdigit() and len(size) <= 5 else 0
    namespace = Namespace(loose.text(metadata.get("namespace")) or "default")
    return Gang(namespace, name, min(at_least, _LARGEST_GANG))


def _first(labels: Mapping[str, object], annotations: Mapping[str, object], keys: tuple[str, ...]) -> str:
    for key in keys:
        found = loose.text(annotations.get(key)) or loose.text(labels.get(key))
        if found:
            return found
    return ""


def _is_parked(status: Mapping[str, object]) -> bool:
    conditions = (loose.members(each) for each in loose.elements(status.get("conditions")))
    return any(
        each.get("type") == "PodScheduled" and each.get("reason") == "Unschedulable" for each in conditions
    )


def _others_decide(spec: Mapping[str, object]) -> bool:
    affinity = loose.members(spec.get("affinity"))
    if any(
        loose.elements(
            loose.members(affinity.get(kind)).get("requiredDuringSchedulingIgnoredDuringExecution")
        )
        for kind in ("podAffinity", "podAntiAffinity")
    ):
        return True
    spreads = (loose.members(each) for each in loose.elements(spec.get("topologySpreadConstraints")))
    if any(each.get("whenUnsatisfiable") != "ScheduleAnyway" for each in spreads):
        return True
    volumes = (loose.members(each) for each in loose.elements(spec.get("volumes")))
    if any("persistentVolumeClaim" in each or "ephemeral" in each for each in volumes):
        return True
    if loose.elements(spec.get("resourceClaims")):
        return True
    containers = (loose.members(each) for each in loose.elements(spec.get("containers")))
    ports = (
        loose.members(port) for container in containers for port in loose.elements(container.get("ports"))
    )
    return any(loose.integer(port.get("hostPort")) for port in ports)
