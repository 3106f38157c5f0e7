"""Who holds which devices, read from the answers of the PodResources API.

The kubelet sends one message per device and NUMA node; here a container's devices of one resource are one record, each
id once. Pods are named by namespace and name: the API knows no UIDs, so a pod made again under its name looks the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from tangram.units.ids import Namespace, PodName
from tangram.wire.kubelet.podresources import (
    ContainerDevices,
    PodResources,
)


class HeldDevices(msgspec.Struct, frozen=True, kw_only=True):
    """What one container holds of one resource."""

    namespace: Namespace
    pod: PodName
    container: str
    resource: str
    ids: tuple[str, ...]
    numa: tuple[int, ...] = ()


def held_by(pods: Iterable[PodResources]) -> tuple[HeldDevices, ...]:
    """One record per container and resource, in the order of the answer. Containers without devices have none."""
    return tuple(
        HeldDevices(
            namespace=Namespace(pod.namespace),
            pod=PodName(pod.name),
            container=container.name,
            resource=resource,
            ids=ids,
            numa=numa,
        )
        for pod in pods
        for container in pod.containers
        for resource, ids, numa in _by_resource(container.devices)
    )


def holding_exactly(
    held: Iterable[HeldDevices], resource: str, ids: Collection[str]
) -> tuple[HeldDevices, ...]:
    """The containers that hold these ids of the resource and no others of it; what PreStartContainer asks about."""
    return tuple(one for one in held if one.resource == resource and set(one.ids) == set(ids))


def _by_resource(
    devices: Iterable[ContainerDevices],
) -> list[tuple[str, tuple[str, ...], tuple[int, ...]]]:
    ids: dict[str, dict[str, None]] = {}
    numa: dict[str, set[int]] = {}
    for message in devices:
        ids.setdefault(message.resource_name, {}).update(dict.fromkeys(message.device_ids))
        numa.setdefault(message.resource_name, set()).update(node.ID for node in message.topology.nodes)
    return [(resource, tuple(found), tuple(sorted(numa[resource]))) for resource, found in ids.items()]
