"""The last figures of every card and of what exists on it, each with its age.

One card is asked after the other, so that figures for people never take more than one of the few places at the driver.
A card that fails or hangs keeps the figures it had; whoever shows them shows how old they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from tangram.drivers.errors import DriverError
from tangram.model.cards import CardMode
from tangram.model.devices import Figures, Slice
from tangram.services.gpu_device.hardware import Hardware
from tangram.services.gpu_device.records import Inventory
from tangram.units.ids import CardUuid


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    figures: Figures
    slices: tuple[Slice, ...] = ()
    at: float
    """By the clock of the readings."""


class CardReadings:
    def __init__(
        self,
        stock: Callable[[], Inventory],
        hardware: Hardware,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stock = stock
        self._hardware = hardware
        self._clock = clock
        self.by_card: dict[CardUuid, Reading] = {}

    def age(self, reading: Reading) -> float:
        return self._clock() - reading.at

    async def refresh(self) -> None:
        """Ask all cards again. Never raises."""
        cards = self._stock().cards
        for gone in self.by_card.keys() - {card.uuid for card in cards}:
            del self.by_card[gone]
        for card in cards:
            try:
                figures = await self._hardware.figures(card.uuid)
                sliced = card.mode is CardMode.SLICED
                slices = await self._hardware.slices(card.uuid) if sliced else ()
            except DriverError:
                # The look at health tells of it; here the age does.
                continue
            self.by_card[card.uuid] = Reading(figures=figures, slices=slices, at=self._clock())
