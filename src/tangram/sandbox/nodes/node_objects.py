"""The Node object that a kubelet registers and keeps: labels, taints, addresses, amounts, conditions. Pure."""

from __future__ import annotations

import datetime as dt
import platform
from collections.abc import Mapping
from typing import Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.nodes.described import MachineDescription
from tangram.units.ids import NodeName
from tangram.wire import hami
from tangram.wire.koordinator.device import Device
from tangram.wire.timestamps import to_microsecond, to_second

KUBELET_VERSION: Final = "v1.36.3"
RUNTIME_VERSION: Final = "containerd://2.3.7"
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
NODES: Final = "/api/v1/nodes"
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_HEALTHY: Final = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
}


class Offered(msgspec.Struct, frozen=True):
    """What a node has of each extended resource, and how much of it can be given."""

    capacity: dict[str, int] = {}
    allocatable: dict[str, int] = {}


class Said(msgspec.Struct, frozen=True):
    """What the agents of a node would say about it."""

    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}
    offered: Offered = Offered()
    reported: dict[str, str] = {}
    """Amounts in Koordinator's words, which no kubelet keeps."""
    device: Device | None = None


def node_object(description: MachineDescription, said: Said, *, port: int, now: dt.datetime) -> Object:
    """The whole object, as it is created."""
    status = status_of(description, said.offered, port=port, now=now, since=now)
    for side in ("capacity", "allocatable"):
        status[side] |= said.reported
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": description.node,
            "labels": {**own_labels(description), **said.labels},
            "annotations": {**own_annotations(description), **said.annotations},
        },
        "spec": _spec(description),
        "status": status,
    }


def own_labels(description: MachineDescription) -> dict[str, str]:
    """The labels that a kubelet gives its node, and those of the cluster file."""
    architecture = _architecture()
    return {
        "kubernetes.io/hostname": str(description.node),
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": architecture,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": architecture,
        **description.labels,
    }


def own_annotations(description: MachineDescription) -> dict[str, str]:
    """What the cluster file says of single cards."""
    if not description.cordoned:
        return {}
    return {hami.CORDONED_CARDS: ",".join(description.cordoned)}


def status_of(
    description: MachineDescription, offered: Offered, *, port: int, now: dt.datetime, since: dt.datetime
) -> Object:
    """The status; `since` is when its kubelet became ready."""
    return {
        "capacity": _amounts(description, offered.capacity),
        "allocatable": _amounts(description, offered.allocatable),
        "conditions": [
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "lastHeartbeatTime": to_second(now),
                "lastTransitionTime": to_second(since),
            }
            for kind, (status, reason, message) in _HEALTHY.items()
        ],
        # No host name: an API server would prefer it to the address, and nobody resolves it.
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "nodeInfo": {
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
            "kernelVersion": platform.release(),
            "osImage": "Tangram sandbox",
            "containerRuntimeVersion": RUNTIME_VERSION,
            "kubeletVersion": KUBELET_VERSION,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": _architecture(),
        },
    }


def lease_object(node: NodeName, uid: str, now: dt.datetime, seconds: int) -> Object:
    """The Lease by which a node shows that it lives."""
    made: Object = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node, "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": node, "leaseDurationSeconds": seconds, "renewTime": to_microsecond(now)},
    }
    if uid:
        owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}
        made["metadata"]["ownerReferences"] = [owner]
    return made


def _spec(description: MachineDescription) -> Object:
    spec: Object = {}
    taints: list[dict[str, str]] = [
        {"key": each.key, "effect": each.effect} | ({"value": each.value} if each.value else {})
        for each in description.taints
    ]
    if description.unschedulable:
        spec["unschedulable"] = True
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    if taints:
        spec["taints"] = taints
    return spec


def _amounts(description: MachineDescription, extended: Mapping[str, int]) -> dict[str, str]:
    cpu, rest = divmod(description.cpu_milli, 1000)
    return {
        "cpu": f"{description.cpu_milli}m" if rest else str(cpu),
        "memory": f"{description.memory >> 10}Ki",
        "ephemeral-storage": "100Gi",
        "pods": str(description.pods),
        **{resource: str(count) for resource, count in extended.items()},
    }


def _architecture() -> str:
    return _ARCHITECTURES.get(platform.machine(), platform.machine())
