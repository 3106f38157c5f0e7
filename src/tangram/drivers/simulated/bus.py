"""The bus of a simulated node: its cards are there whether a driver holds them or not.

It is to simulated cards what sysfs is to real ones, for those who must tell a node without cards from a node without
a driver.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tangram.drivers.simulated.reports import device_of
from tangram.drivers.simulated.world import World
from tangram.model.devices import Device, DeviceNodes
from tangram.units.na import NA


def bus_devices(world: World) -> tuple[Device, ...]:
    """The cards on the bus, with what their driver says of them where one holds them."""
    with world.lock:
        return tuple(
            device
            if world.is_driven(spec)
            else msgspec.structs.replace(device, driver_version=NA, mode=NA, nodes=DeviceNodes())
            for spec in world.on_bus()
            for device in [device_of(world.description, spec, world.state(spec.position))]
        )


class SimulatedBus:
    """The bus of a world in this process."""

    def __init__(self, world: World) -> None:
        self._world = world

    def devices(self) -> Sequence[Device]:
        return bus_devices(self._world)

    def close(self) -> None:
        """Nothing is held."""
