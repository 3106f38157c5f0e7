"""A driver of which only the cards of some vendors are seen.

A cluster may leave one vendor's cards to that vendor's own components. What an agent never sees it cannot offer, label,
slice or call unhealthy, whichever way of reaching cards it was given.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tangram.drivers.joined import JoinedDriver
from tangram.drivers.protocol import Driver
from tangram.model.cards import Vendor
from tangram.model.devices import Device, Health
from tangram.units.ids import CardUuid


class ChosenVendors(JoinedDriver):
    """One driver without the cards of the other vendors."""

    def __init__(self, driver: Driver, vendors: Collection[Vendor]) -> None:
        super().__init__((driver,))
        self._vendors = frozenset(vendors)
        self._left_out: frozenset[CardUuid] = frozenset()

    def devices(self) -> Sequence[Device]:
        found = super().devices()
        # Of a card that has vanished since, health is still reported.
        self._left_out |= {each.uuid for each in found if each.vendor not in self._vendors}
        return tuple(each for each in found if each.vendor in self._vendors)

    def health(self) -> Mapping[CardUuid, Health]:
        found = super().health()
        return {uuid: health for uuid, health in found.items() if uuid not in self._left_out}
