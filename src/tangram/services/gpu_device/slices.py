"""Slices of MetaX cards: made when a container needs them, found again when it restarts, removed when nobody is left.

Everything here may be repeated at any point: a slice is known by its name, so a crash between two steps only means that
the next try begins where the last one ended. Work on one card is done in turn, work on different cards side by side.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Sequence

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.protocol import Driver
from tangram.model.cards import QosPolicy
from tangram.model.devices import Slice
from tangram.model.grants import GrantedSlice, SliceWish
from tangram.services.gpu_device.grants import SLICE_PREFIX
from tangram.services.gpu_device.hardware import Hardware
from tangram.units.ids import CardUuid

log = logging.getLogger("tangram.gpu-device")

Counted = Callable[[str], None]


class Slices:
    """Makes and removes slices. `counted` hears one word for each thing done."""

    def __init__(self, hardware: Hardware, counted: Counted = lambda _action: None) -> None:
        self._hardware = hardware
        self._counted = counted
        self._turns: defaultdict[CardUuid, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def ensure(
        self,
        wishes: Sequence[SliceWish],
        policy: QosPolicy | None,
        make_room: Callable[[CardUuid], Awaitable[Collection[str]]],
    ) -> tuple[GrantedSlice, ...]:
        """The slices as wished, made where they are missing. Raises `DriverError`.

        `make_room` names slices of a card that may go; it is asked only when the card is full.
        """
        return tuple([await self._ensure(wish, policy, make_room) for wish in wishes])

    async def standing(self, slices: Sequence[GrantedSlice]) -> bool:
        """Whether every one of these slices exists as it was granted."""
        for granted in slices:
            try:
                present = await self._hardware.slices(granted.card)
            except DriverError:
                return False
            if not any(_serves(each, granted) for each in present):
                return False
        return True

    async def remove(self, card: CardUuid, names: Collection[str]) -> tuple[str, ...]:
        """Remove those of the named slices that nobody uses. Returns the names that are gone; never raises."""
        async with self._turns[card]:
            return tuple([each.name for each in await self._named(card, names) if await self._remove(each)])

    async def ours(self, card: CardUuid) -> tuple[Slice, ...]:
        """The slices of a card that carry our mark. Raises `DriverError`."""
        return tuple(each for each in await self._hardware.slices(card) if each.name.startswith(SLICE_PREFIX))

    async def _ensure(
        self,
        wish: SliceWish,
        policy: QosPolicy | None,
        make_room: Callable[[CardUuid], Awaitable[Collection[str]]],
    ) -> GrantedSlice:
        async with self._turns[wish.card]:
            try:
                return await self._made(wish, policy)
            except DriverError as error:
                if error.kind not in (Kind.FULL, Kind.BUSY):
                    raise
                removable = await make_room(wish.card)
                gone = [
                    each.name for each in await self._named(wish.card, removable) if await self._remove(each)
                ]
                if not gone:
                    raise
            return await self._made(wish, policy)

    async def _made(self, wish: SliceWish, policy: QosPolicy | None) -> GrantedSlice:
        # One trip to the driver for all of it: on a busy node the way there and back is most of the time.
        made, action = await self._hardware.ask(
            "making a slice", lambda driver: _found_or_made(driver, wish, policy)
        )
        if action:
            self._counted(action)
        return _granted(made)

    async def _named(self, card: CardUuid, names: Collection[str]) -> list[Slice]:
        if not names:
            return []
        try:
            return [each for each in await self._hardware.slices(card) if each.name in names]
        except DriverError as error:
            log.warning("slices cannot be listed", extra={"card": card, "error": error.sentence})
            return []

    async def _remove(self, part: Slice) -> bool:
        if part.busy is True:
            return False
        try:
            await self._hardware.remove_slice(part.card, part.id)
        except DriverError as error:
            if error.kind is not Kind.BUSY:
                log.warning(
                    "a slice cannot be removed",
                    extra={"card": part.card, "slice": part.id, "error": error.sentence},
                )
            return False
        self._counted("slice-removed")
        return True


def _serves(part: Slice, granted: GrantedSlice) -> bool:
    """Whether it is that slice, and large enough: it may be larger for another container's sake."""
    same = (part.card, part.id, part.name) == (granted.card, granted.id, granted.name)
    return same and part.memory >= granted.memory and part.cores >= granted.cores


def _found_or_made(driver: Driver, wish: SliceWish, policy: QosPolicy | None) -> tuple[Slice, str]:
    """The slice of that name as wished, and what had to be done for it."""
    present = driver.slices(wish.card)
    mine = next((each for each in present if each.name == wish.name), None)
    if mine is None:
        if policy is not None and not present and driver.room(wish.card).policy is not policy:
            driver.set_policy(wish.card, policy)
        made = driver.create_slice(
            wish.card, memory=wish.memory, cores=wish.cores, name=wish.name, online=wish.online
        )
        return made, "slice-made"
    if (mine.memory, mine.cores) == (wish.memory, wish.cores):
        return mine, ""
    resized = driver.resize_slice(wish.card, mine.id, memory=wish.memory, cores=wish.cores)
    return resized, "slice-resized"


def _granted(part: Slice) -> GrantedSlice:
    return GrantedSlice(card=part.card, id=part.id, name=part.name, memory=part.memory, cores=part.cores)
