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
from tangram.units.na import NotAvailable, known

log = logging.getLogger("tangram.gpu-device")

Counted = Callable[[str], None]
_MAY_MEAN_NO_ZERO = (Kind.INVALID, Kind.NOT_SUPPORTED, Kind.FAILED)


class _OtherPolicy(Exception):  # noqa: N818 - says what is the case
    """Slices that are there keep the card under a policy that is not the one asked for."""


class Slices:
    """Makes and removes slices. `counted` hears one word for each thing done, `changed` the card it was done on."""

    def __init__(
        self,
        hardware: Hardware,
        counted: Counted = lambda _action: None,
        changed: Callable[[CardUuid], None] = lambda _card: None,
    ) -> None:
        self._hardware = hardware
        self._counted = counted
        self._changed = changed
        self._turns: defaultdict[CardUuid, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def ensure(
        self,
        wishes: Sequence[SliceWish],
        policy: QosPolicy | None,
        make_room: Callable[[CardUuid], Awaitable[Collection[str]]],
    ) -> tuple[GrantedSlice, ...]:
        """The slices as wished, made where they are missing. Raises `DriverError`.

        `make_room` names slices of a card that may go; it is asked only when the card is full, or runs another policy
        for those who had it before.
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
            return await self._removed(card, names)

    async def ours(self, card: CardUuid) -> tuple[Slice, ...]:
        """The slices of a card that carry our mark. Raises `DriverError`."""
        return tuple(each for each in await self._hardware.slices(card) if is_ours(each))

    async def _ensure(
        self,
        wish: SliceWish,
        policy: QosPolicy | None,
        make_room: Callable[[CardUuid], Awaitable[Collection[str]]],
    ) -> GrantedSlice:
        async with self._turns[wish.card]:
            try:
                return await self._made(wish, policy, only_under_it=True)
            except _OtherPolicy:
                # What pods left behind that are over must not decide; whoever is not over was judged before.
                await self._removed(wish.card, await make_room(wish.card))
            except DriverError as error:
                if error.kind not in (Kind.FULL, Kind.BUSY):
                    raise
                removable = await make_room(wish.card)
                gone = await self._removed(wish.card, removable)
                if not gone:
                    raise
            return await self._made(wish, policy)

    async def _made(
        self, wish: SliceWish, policy: QosPolicy | None, *, only_under_it: bool = False
    ) -> GrantedSlice:
        # One trip to the driver for all of it: on a busy node the way there and back is most of the time.
        found = await self._hardware.ask(
            "making a slice", lambda driver: _found_or_made(driver, wish, policy, only_under_it=only_under_it)
        )
        if found is None:
            raise _OtherPolicy
        made, action = found
        if action:
            self._counted(action)
            self._changed(wish.card)
        return _granted(made)

    async def _removed(self, card: CardUuid, names: Collection[str]) -> tuple[str, ...]:
        if not names:
            return ()
        try:
            gone, troubles = await self._hardware.ask(
                "removing slices", lambda driver: _remove_idle(driver, card, names)
            )
        except DriverError as error:
            gone, troubles = (), (error.sentence,)
        for trouble in troubles:
            log.warning("a slice cannot be removed", extra={"card": card, "error": trouble})
        for _ in gone:
            self._counted("slice-removed")
        if gone:
            self._changed(card)
        return gone


def is_ours(part: Slice) -> bool:
    """Whether it carries our mark. One whose name cannot be read may be anybody's."""
    return known(part.name, "").startswith(SLICE_PREFIX)


def use_unknown(part: Slice) -> str:
    """Why a slice stays of which the driver cannot say whether a process is in it, and what to do."""
    return (
        f"the driver cannot say whether slice {part.id} is in use, so it counts as in use and stays; give gpu-device "
        "the host's PID namespace (hostPID: true, as the charts do), or remove the slice with mx-smi when its "
        "processes have ended"
    )


def _remove_idle(
    driver: Driver, card: CardUuid, names: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the slices that are gone now, and what kept others that are not merely in use."""
    gone: list[str] = []
    troubles: list[str] = []
    for part in driver.slices(card):
        if part.name not in names or part.busy is True:
            continue
        if isinstance(part.busy, NotAvailable):
            troubles.append(use_unknown(part))
            continue
        try:
            driver.remove_slice(card, part.id)
        except DriverError as error:
            if error.kind is not Kind.BUSY:
                troubles.append(error.sentence)
            continue
        gone.append(known(part.name, ""))
    return tuple(gone), tuple(troubles)


def _serves(part: Slice, granted: GrantedSlice) -> bool:
    """Whether it is that slice, and large enough: it may be larger for another container's sake."""
    same = (part.card, part.id, part.name) == (granted.card, granted.id, granted.name)
    return same and part.memory >= granted.memory and part.cores >= granted.cores


def _found_or_made(
    driver: Driver, wish: SliceWish, policy: QosPolicy | None, *, only_under_it: bool
) -> tuple[Slice, str] | None:
    """The slice of that name as wished, and what had to be done for it.

    None if it is to be made under its policy alone, and others on the card keep another in force.
    """
    present = driver.slices(wish.card)
    mine = next((each for each in present if each.name == wish.name), None)
    if mine is None:
        if policy is not None and driver.room(wish.card).policy is not policy:
            if not present:
                driver.set_policy(wish.card, policy)
            elif only_under_it:
                return None
        made = _with_compute(
            wish,
            lambda cores: driver.create_slice(
                wish.card, memory=wish.memory, cores=cores, name=wish.name, online=wish.online
            ),
        )
        return made, "slice-made"
    if (mine.memory, mine.cores) == (wish.memory, wish.cores):
        return mine, ""
    resized = _with_compute(
        wish, lambda cores: driver.resize_slice(wish.card, mine.id, memory=wish.memory, cores=cores)
    )
    unchanged = (resized.memory, resized.cores) == (mine.memory, mine.cores)
    return resized, "" if unchanged else "slice-resized"


def _with_compute(wish: SliceWish, change: Callable[[int], Slice]) -> Slice:
    """The slice with the compute that is wished; with 1 % where that is none and the kernel driver refuses none.

    Which of its releases refuse it is not published, and a refused write has no code of its own, so one more attempt
    tells. Where that fails too, a person reads both reasons.
    """
    try:
        return change(wish.cores)
    except DriverError as refusal:
        if wish.cores or refusal.kind not in _MAY_MEAN_NO_ZERO:
            raise
        try:
            return change(1)
        except DriverError as error:
            raise DriverError(
                error.kind,
                f"{error.sentence}; and an online slice with 0 % of compute was refused: {refusal.sentence}",
                call=error.call,
                vendor_code=error.vendor_code,
                vendor_text=error.vendor_text,
            ) from refusal


def _granted(part: Slice) -> GrantedSlice:
    return GrantedSlice(
        card=part.card, id=part.id, name=known(part.name, ""), memory=part.memory, cores=part.cores
    )
