"""What plugins have told a kubelet: the devices of each resource, their health, and whether the plugin is still there.

A resource whose plugin went away keeps its capacity for five minutes with nothing allocatable; after a restart of the
kubelet it has neither until the plugin comes back. Then it is forgotten, and the node says 0 of it for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from tangram.wire.kubelet import deviceplugin
from tangram.wire.kubelet.checkpoint import NO_NUMA, NumaIds

GRACE_S: Final = 300.0
"""How long the capacity of a plugin that went away is kept."""


class Amounts(msgspec.Struct, frozen=True):
    capacity: dict[str, int]
    allocatable: dict[str, int]
    removed: tuple[str, ...] = ()
    """Resources that were forgotten by asking."""


class _Resource:
    __slots__ = ("devices", "healthy", "left_at")

    def __init__(self, left_at: float | None = None) -> None:
        self.devices: dict[str, deviceplugin.Device] = {}
        self.healthy: dict[str, None] = {}
        self.left_at = left_at


class PluginList:
    """`clock` counts the grace."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._resources: dict[str, _Resource] = {}

    def remember(self, resources: Sequence[str]) -> None:
        """What the checkpoint of an earlier kubelet names: known, with nothing of it, until its plugin comes."""
        for resource in resources:
            self._resources[resource] = _Resource(left_at=self._clock())

    def connected(self, resource: str) -> None:
        """Somebody stands behind it again; a resource becomes known with its first list only."""
        if resource in self._resources:
            self._resources[resource].left_at = None

    def disconnected(self, resource: str) -> None:
        """The plugin went away: its devices stay known, all unhealthy."""
        known = self._resources.get(resource)
        if known is not None:
            known.healthy = {}
            known.left_at = self._clock()

    def take(self, resource: str, devices: Sequence[deviceplugin.Device]) -> list[str]:
        """A list that came. The ids that are new or changed their health."""
        known = self._resources.setdefault(resource, _Resource())
        known.left_at = None
        before, known.devices = known.devices, {device.ID: device for device in devices}
        known.healthy = dict.fromkeys(each.ID for each in devices if each.health == deviceplugin.HEALTHY)
        return [
            device.ID
            for device in devices
            if (old := before.get(device.ID)) is None or old.health != device.health
        ]

    def __contains__(self, resource: object) -> bool:
        return resource in self._resources

    def healthy(self, resource: str) -> tuple[str, ...]:
        known = self._resources.get(resource)
        return () if known is None else tuple(known.healthy)

    def health(self, resource: str) -> dict[str, str]:
        """The health of every unit by the last list of its plugin, in the plugin's own words."""
        known = self._resources.get(resource)
        return {} if known is None else {unit: device.health for unit, device in known.devices.items()}

    def is_healthy(self, resource: str, unit: str) -> bool:
        """By what its plugin said last; one nobody ever told of counts as well, as it does for the kubelet."""
        known = self._resources.get(resource)
        device = None if known is None else known.devices.get(unit)
        return device is None or device.health == deviceplugin.HEALTHY

    def by_numa(self, resource: str, units: Sequence[str]) -> tuple[NumaIds, ...]:
        """The units under the NUMA nodes they belong to; one of two nodes under both."""
        groups: dict[int, list[str]] = {}
        devices: Mapping[str, deviceplugin.Device] = (
            self._resources[resource].devices if resource in self._resources else {}
        )
        for unit in units:
            device = devices.get(unit)
            nodes = [node.ID for node in device.topology.nodes] if device is not None else []
            for node in nodes or [NO_NUMA]:
                groups.setdefault(node, []).append(unit)
        return tuple(NumaIds(numa, tuple(ids)) for numa, ids in sorted(groups.items()))

    def registered(self) -> dict[str, tuple[str, ...]]:
        """The healthy ids of every resource, for the checkpoint."""
        return {resource: tuple(known.healthy) for resource, known in self._resources.items()}

    def devices(self) -> list[tuple[str, deviceplugin.Device]]:
        """Every healthy device with its resource."""
        return [
            (resource, known.devices[unit])
            for resource, known in self._resources.items()
            for unit in known.healthy
        ]

    def amounts(self) -> Amounts:
        """What the node has of each resource now. Forgets those whose plugin has been away for too long."""
        now = self._clock()
        late = [
            resource
            for resource, known in self._resources.items()
            if known.left_at is not None and now - known.left_at > GRACE_S
        ]
        for resource in late:
            del self._resources[resource]
        return Amounts(
            {resource: len(known.devices) for resource, known in self._resources.items()},
            {resource: len(known.healthy) for resource, known in self._resources.items()},
            tuple(late),
        )
