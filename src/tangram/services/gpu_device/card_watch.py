"""What this node has, kept up to date: the driver is asked for its cards and their health at every tick.

A card that vanishes stays in the books, broken, so that Capacity stays; it leaves with the agent's next start. A driver
that stops answering is not believed to be well for long: after three silent ticks every card counts as broken.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from tangram.drivers.errors import DriverError, Kind
from tangram.model.cards import CardMode
from tangram.model.devices import Device, Health, LinkReport
from tangram.services.gpu_device.hardware import Hardware
from tangram.services.gpu_device.records import Inventory
from tangram.services.gpu_device.stock import take_stock
from tangram.units.ids import CardUuid, NodeName
from tangram.wire.device_config import DeviceConfig

log = logging.getLogger("tangram.gpu-device")

SILENT_TICKS: Final = 3
GONE: Final = "card-gone"
SILENT: Final = "driver-silent"


class CardWatch:
    def __init__(self, node: NodeName, hardware: Hardware, config: Callable[[], DeviceConfig | None]) -> None:
        self._node = node
        self._hardware = hardware
        self._config = config
        self._devices: dict[CardUuid, Device] = {}
        self._health: dict[CardUuid, Health] = {}
        self._links = LinkReport()
        self._linked: tuple[CardUuid, ...] = ()
        self._silent = 0
        self._listed = False
        self.inventory = Inventory(node=node)
        self.known = False
        """Whether the inventory is of cards that were read; until then nobody may be told that there are none."""
        self.trouble = "the cards have not been read yet"
        """Why the driver does not answer; empty when it does."""

    @property
    def decided(self) -> bool:
        """Whether it is known how the cards are to be offered. Until then each stays what it is."""
        return self._config() is not None

    @property
    def wanted(self) -> dict[CardUuid, CardMode]:
        return self._wanted(tuple(self._devices.values()))

    @property
    def faults(self) -> dict[CardUuid, str]:
        """The stable word for what is wrong with each card that is not well."""
        return {uuid: health.code for uuid, health in self._health.items() if not health.healthy}

    @property
    def fingerprint(self) -> object:
        """Another one whenever a look has found something else than the look before."""
        return (self._devices, self._health, self._links, self.trouble)

    async def look(self, *, health: bool = True) -> None:
        """Ask the driver again; `arrange` makes the inventory of it. Raises for an outdated driver, and else never."""
        try:
            listed = await self._hardware.devices()
            found = dict(await self._hardware.health()) if health else dict[CardUuid, Health]()
            await self._relink(listed)
        except DriverError as error:
            if error.kind is Kind.OUTDATED:
                # Whoever looks ends with this, the process with it, and Kubernetes starts one that sees the cards.
                raise
            self._unanswered(error)
            return
        if self.trouble:
            log.info("the driver answers", extra={"cards": len(listed)})
        self.trouble, self._silent, self._listed = "", 0, True
        present = {device.uuid: device for device in listed}
        self._health = {
            uuid: Health(healthy=False, code=GONE, message="the card is not listed any more")
            for uuid in self._devices.keys() - present.keys()
            if self._devices[uuid].virtual_function_of is None
        } | found
        kept = {uuid: device for uuid, device in self._devices.items() if _stays(device, present)}
        self._devices = {**kept, **present}

    def arrange(self, held_as: Mapping[CardUuid, CardMode], cordoned: Collection[str]) -> Inventory:
        """The inventory of what was read last, under the present configuration."""
        devices = sorted(self._devices.values(), key=lambda device: device.index)
        config = self._config() or DeviceConfig()
        self.inventory = take_stock(
            self._node,
            devices,
            self._health,
            self._aligned(devices),
            wanted=self._wanted(devices),
            share_count=config.share_count,
            held_as=held_as,
            cordoned=cordoned,
        )
        self.known = self._listed
        return self.inventory

    def _wanted(self, devices: Sequence[Device]) -> dict[CardUuid, CardMode]:
        config = self._config()
        return {} if config is None else config.modes_for(devices)

    async def _relink(self, listed: Sequence[Device]) -> None:
        """Links are read only when cards come or go: asking for them is slow on some drivers."""
        uuids = tuple(device.uuid for device in listed)
        if uuids != self._linked or not self._links.known:
            self._links = await self._hardware.links(listed)
            self._linked = uuids

    def _aligned(self, devices: Sequence[Device]) -> LinkReport:
        """The links by position in our list, which may hold cards that the driver's list no longer has."""
        place = {device.uuid: number for number, device in enumerate(devices)}
        moved = [place.get(uuid) for uuid in self._linked]
        links = [
            type(link)(min(a, b), max(a, b), link.kind, link.pcie, link.lanes)
            for link in self._links.links
            if (a := moved[link.a]) is not None and (b := moved[link.b]) is not None
        ]
        return LinkReport(self._links.known, tuple(links), self._links.ports)

    def _unanswered(self, error: DriverError) -> None:
        if self.trouble != error.sentence:
            log.warning("the driver does not answer", extra={"kind": error.kind, "error": error.sentence})
        self.trouble = error.sentence
        self._silent += 1
        absent = error.kind in (Kind.NO_LIBRARY, Kind.NO_DRIVER)
        if self._silent >= SILENT_TICKS or absent:
            silent = Health(healthy=False, code=SILENT, message=error.sentence)
            self._health = dict.fromkeys(self._devices, silent)


def _stays(device: Device, present: Mapping[CardUuid, Device]) -> bool:
    """Cards are remembered; virtual functions only as long as somebody lists them."""
    return device.uuid not in present and device.virtual_function_of is None
