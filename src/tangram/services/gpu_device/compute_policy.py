"""The compute policy of Moore Threads' sliced cards: what the kernel module runs, and what the administrator wants.

The module has one policy for each card: best effort limits nothing, burst share gives turns by weight to slices that
have work, fixed share gives each slot its turns whether it has work or not, which makes a weight a ceiling. The module
starts with best effort and refuses a change while the card has a slice, so a card that is in use keeps its policy until
it is idle. Nothing is written unless a policy is wanted.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from typing import Final

from tangram.drivers.errors import DriverError
from tangram.model.cards import CardMode, QosPolicy, Vendor
from tangram.services.gpu_device.hardware import Hardware
from tangram.services.gpu_device.records import Inventory
from tangram.units.ids import CardUuid
from tangram.units.na import NotAvailable

log = logging.getLogger("tangram.gpu-device")

READ_AGAIN_S: Final = 60.0
"""An administrator may change the policy beside the agent."""


class ComputePolicies:
    """Reads the policy of each card and sets the one that is wanted. `counted` hears one word for each change."""

    def __init__(
        self,
        hardware: Hardware,
        wanted: QosPolicy | None,
        counted: Callable[[str], None] = lambda _action: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hardware = hardware
        self._wanted = wanted
        self._counted = counted
        self._clock = clock
        self._read_at: dict[CardUuid, float] = {}
        self._failing: dict[CardUuid, str] = {}
        self.known: dict[CardUuid, QosPolicy] = {}
        """What each card runs, of those that say so."""

    async def step(self, inventory: Inventory, busy: Collection[CardUuid]) -> None:
        """Read policies that were not read lately, and set those that differ on idle cards. Never raises."""
        cards = [
            card.uuid
            for card in inventory.cards
            if card.vendor is Vendor.MTHREADS and card.mode is CardMode.SLICED
        ]
        self.known = {card: policy for card, policy in self.known.items() if card in cards}
        self._read_at = {card: at for card, at in self._read_at.items() if card in cards}
        for card in cards:
            due = self._clock() - self._read_at.get(card, -READ_AGAIN_S) >= READ_AGAIN_S
            waits = self._wanted is not None and self.known.get(card) is not self._wanted
            if due or (waits and card not in busy and card not in self._failing):
                await self._settle(card, idle=card not in busy)

    async def _settle(self, card: CardUuid, *, idle: bool) -> None:
        self._read_at[card] = self._clock()
        try:
            present = await self._policy(card)
            if self._wanted is not None and present is not self._wanted and idle:
                wanted = self._wanted
                await self._hardware.ask(
                    "setting the compute policy", lambda driver: driver.set_policy(card, wanted)
                )
                present = await self._policy(card)
                self._counted("policy-set")
                log.info("a card changed its compute policy", extra={"card": card, "policy": str(present)})
        except DriverError as error:
            if self._wanted is not None and self._failing.get(card) != error.sentence:
                log.warning(
                    "the compute policy of a card is not as it should be",
                    extra={"card": card, "error": error.sentence},
                )
            self._failing[card] = error.sentence
            return
        self._failing.pop(card, None)
        if present is None:
            self.known.pop(card, None)
        else:
            self.known[card] = present

    async def _policy(self, card: CardUuid) -> QosPolicy | None:
        room = await self._hardware.ask("reading the compute policy", lambda driver: driver.room(card))
        return None if isinstance(room.policy, NotAvailable) else room.policy
