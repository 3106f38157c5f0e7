"""Changing how a card is offered, in an order that nobody can fall between.

First the card takes no new tenants and the cluster is told so; then, when that has been known for a moment and the card
is still idle everywhere, the kernel's switch is moved. A card that turns out to be in use is opened again and left
alone for a while.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from tangram.drivers.errors import DriverError
from tangram.services.gpu_device.hardware import Hardware
from tangram.units.ids import CardUuid

log = logging.getLogger("tangram.gpu-device")

TOLD_S: Final = 2.0
"""How long a scheduler is given to hear that a card is closed."""
REST_S: Final = 60.0


class Switching:
    def __init__(
        self,
        hardware: Hardware,
        counted: Callable[[str], None] = lambda _action: None,
        clock: Callable[[], float] = time.monotonic,
        told: float = TOLD_S,
    ) -> None:
        self._hardware = hardware
        self._counted = counted
        self._clock = clock
        self._time_to_hear = told
        self._told: dict[CardUuid, float | None] = {}
        self._rest: dict[CardUuid, float] = {}
        self.refused: dict[CardUuid, str] = {}
        """What the driver said to the last try, of the cards that should still change."""

    @property
    def closed(self) -> frozenset[CardUuid]:
        """Cards that are about to change and take no new tenants."""
        return frozenset(self._told)

    async def step(self, due: Mapping[CardUuid, bool], *, published: bool) -> bool:
        """One look at the cards that should change. Returns whether anything is another than before.

        `published` says that what the cluster knows is what we said last, closed cards included.
        """
        now = self._clock()
        before = self.closed
        self._told = {card: self._told[card] for card in self._told if card in due}
        self.refused = {card: said for card, said in self.refused.items() if card in due}
        switched = False
        for card, sliced in due.items():
            if now < self._rest.get(card, now):
                continue
            if card not in self._told:
                self._told[card] = None
            elif self._told[card] is None and published:
                self._told[card] = now
            elif (told := self._told[card]) is not None and now - told >= self._time_to_hear:
                switched = await self._switch(card, sliced=sliced) or switched
        return switched or self.closed != before

    async def _switch(self, card: CardUuid, *, sliced: bool) -> bool:
        del self._told[card]
        try:
            await self._hardware.set_sliced(card, on=sliced)
        except DriverError as error:
            log.warning("a card cannot change its mode", extra={"card": card, "error": error.sentence})
            self._rest[card] = self._clock() + REST_S
            self.refused[card] = error.sentence
            return False
        self.refused.pop(card, None)
        log.info("a card changed its mode", extra={"card": card, "sliced": sliced})
        self._counted("mode-switched")
        return True
