"""Several ways of reaching cards, seen as one: a node may hold cards of two vendors.

Whoever is listed first owns a card that two of them report, told by its bus address; so a plain reader of sysfs can
stand last and add only what no library knew. Its view of a card that it does not own is hidden in every answer, under
whatever name it has the card. Nothing is merged within one card: half a report of each of two sources would be a report
of nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import combinations

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.pcie import level_between
from tangram.drivers.protocol import Driver
from tangram.model.cards import QosPolicy
from tangram.model.devices import Device, Figures, Health, LinkPort, LinkReport, Slice, SliceRoom
from tangram.model.topology import Link
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes

_ABSENT = (Kind.NO_LIBRARY, Kind.NO_DRIVER)


class JoinedDriver:
    """One driver out of several."""

    def __init__(self, parts: Sequence[Driver]) -> None:
        self._parts = tuple(parts)
        self._owners: dict[CardUuid, Driver] = {}
        self._hidden: frozenset[tuple[int, CardUuid]] = frozenset()
        """By part, the names of cards that it reports and another part owns."""

    @property
    def name(self) -> str:
        return "+".join(part.name for part in self._parts)

    def devices(self) -> Sequence[Device]:
        """Every part's cards, in the order of the parts. A part that is gone is left out while another one answers."""
        found: list[Device] = []
        owners: dict[CardUuid, Driver] = {}
        absent: list[DriverError] = []
        hidden: set[tuple[int, CardUuid]] = set()
        for at, part in enumerate(self._parts):
            try:
                mine = part.devices()
            except DriverError as error:
                if error.kind not in _ABSENT:
                    raise
                absent.append(error)
                continue
            places = {device.bdf for device in found if device.bdf}
            for device in mine:
                if device.bdf not in places and device.uuid not in owners:
                    owners[device.uuid] = part
                    found.append(device)
                else:
                    hidden.add((at, device.uuid))
        if absent and not found:
            raise absent[0]
        self._owners, self._hidden = owners, frozenset(hidden)
        return tuple(found)

    def links(self, devices: Sequence[Device]) -> LinkReport:
        """The links inside each part. Across parts there is only PCIe: no vendor's cards link to another's."""
        known, links, ports = False, list[Link](), list[LinkPort]()
        for part in self._parts:
            positions = [at for at, device in enumerate(devices) if self._owner(device.uuid) is part]
            if not positions:
                continue
            report = part.links([devices[at] for at in positions])
            known = known or report.known
            links += [
                msgspec.structs.replace(link, a=positions[link.a], b=positions[link.b])
                for link in report.links
            ]
            ports += report.ports
        links += [
            Link(a, b, pcie=level_between(one.pcie_path, other.pcie_path, one.numa, other.numa))
            for (a, one), (b, other) in combinations(enumerate(devices), 2)
            if self._owner(one.uuid) is not self._owner(other.uuid)
        ]
        return LinkReport(known=known, links=tuple(links), ports=tuple(ports))

    def figures(self, uuid: CardUuid) -> Figures:
        return self._owner(uuid).figures(uuid)

    def health(self) -> Mapping[CardUuid, Health]:
        if not self._owners:
            # Whose cards are whose is not known before they were listed. Where none is left, the parts say so below.
            with suppress(DriverError):
                self.devices()
        found: dict[CardUuid, Health] = {}
        for at, part in enumerate(self._parts):
            try:
                mine = part.health()
            except DriverError as error:
                if error.kind not in _ABSENT:
                    raise
                mine = {
                    uuid: Health(healthy=False, code=error.kind, message=error.sentence)
                    for uuid, owner in self._owners.items()
                    if owner is part
                }
            found.update(
                {
                    uuid: health
                    for uuid, health in mine.items()
                    if self._owners.get(uuid, part) is part and (at, uuid) not in self._hidden
                }
            )
        return found

    def slices(self, uuid: CardUuid) -> Sequence[Slice]:
        return self._owner(uuid).slices(uuid)

    def room(self, uuid: CardUuid) -> SliceRoom:
        return self._owner(uuid).room(uuid)

    def create_slice(
        self, uuid: CardUuid, *, memory: Bytes, cores: int, name: str = "", online: bool = False
    ) -> Slice:
        return self._owner(uuid).create_slice(uuid, memory=memory, cores=cores, name=name, online=online)

    def resize_slice(
        self, uuid: CardUuid, slice_id: int, *, memory: Bytes | None = None, cores: int | None = None
    ) -> Slice:
        return self._owner(uuid).resize_slice(uuid, slice_id, memory=memory, cores=cores)

    def set_policy(self, uuid: CardUuid, policy: QosPolicy) -> None:
        self._owner(uuid).set_policy(uuid, policy)

    def remove_slice(self, uuid: CardUuid, slice_id: int) -> None:
        self._owner(uuid).remove_slice(uuid, slice_id)

    def set_sliced(self, uuid: CardUuid, *, on: bool) -> None:
        self._owner(uuid).set_sliced(uuid, on=on)

    def set_virtual_functions(self, uuid: CardUuid, count: int) -> None:
        self._owner(uuid).set_virtual_functions(uuid, count)

    def close(self) -> None:
        for part in self._parts:
            part.close()

    def _owner(self, uuid: CardUuid) -> Driver:
        if uuid not in self._owners:
            self.devices()
        if uuid not in self._owners:
            raise DriverError(Kind.CARD_GONE, f"no card {uuid} is on this node any more")
        return self._owners[uuid]
