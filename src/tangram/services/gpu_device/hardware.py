"""The driver, asked from the event loop without ever stopping it.

Vendor libraries block, and some calls never return. Each call runs in a thread of its own and has a time limit; a call
that hangs keeps its place among the few that may run, and when all places are taken the driver counts as stuck.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from tangram.daemon.background import in_background
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.protocol import Driver
from tangram.model.devices import Device, Figures, Health, LinkReport, Slice
from tangram.units.durations import duration_text
from tangram.units.ids import CardUuid

LIMIT_S: Final = 10.0
_AT_ONCE: Final = 4

_Answer = TypeVar("_Answer")


class Hardware:
    """One driver behind a time limit. `close()` gives it back unless it hangs."""

    def __init__(self, opening: Callable[[], Driver], *, limit: float = LIMIT_S) -> None:
        self._opening = opening
        self.limit = limit
        """Seconds for each call from now on."""
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._driver: Driver | None = None
        self._opening_turn = asyncio.Lock()

    async def devices(self) -> tuple[Device, ...]:
        """Every card and virtual function. A driver that is not there is looked for again at the next call."""
        try:
            return tuple(await self.ask("listing the cards", lambda driver: driver.devices()))
        except DriverError as error:
            if error.kind in (Kind.NO_LIBRARY, Kind.NO_DRIVER):
                await self.close()
            raise

    async def links(self, devices: Sequence[Device]) -> LinkReport:
        return await self.ask("reading the links", lambda driver: driver.links(devices))

    async def health(self) -> Mapping[CardUuid, Health]:
        return await self.ask("checking health", lambda driver: driver.health())

    async def figures(self, card: CardUuid) -> Figures:
        return await self.ask("reading figures", lambda driver: driver.figures(card))

    async def slices(self, card: CardUuid) -> tuple[Slice, ...]:
        return tuple(await self.ask("listing slices", lambda driver: driver.slices(card)))

    async def remove_slice(self, card: CardUuid, slice_id: int) -> None:
        await self.ask("removing a slice", lambda driver: driver.remove_slice(card, slice_id))

    async def set_sliced(self, card: CardUuid, *, on: bool) -> None:
        await self.ask("switching the mode", lambda driver: driver.set_sliced(card, on=on))

    async def close(self) -> None:
        driver, self._driver = self._driver, None
        if driver is not None:
            # One that will not let go changes nothing; what it holds goes with the process.
            with suppress(DriverError):
                await self._within("closing the driver", driver.close, limit=1.0)

    async def ask(self, what: str, call: Callable[[Driver], _Answer]) -> _Answer:
        """The answer of some work on the driver, in a thread. Raises `DriverError`."""
        driver = self._driver or await self._opened()
        return await self._within(what, lambda: call(driver))

    async def _opened(self) -> Driver:
        """One opens for all; but nobody waits for a hanging one longer than for a call of one's own."""
        doing = "opening the driver"
        try:
            async with asyncio.timeout(self.limit), self._opening_turn:
                if self._driver is None:
                    self._driver = await self._within(doing, self._opening)
                return self._driver
        except TimeoutError:
            raise _stuck(doing, self.limit) from None

    async def _within(self, what: str, work: Callable[[], _Answer], limit: float | None = None) -> _Answer:
        limit = limit or self.limit
        try:
            async with asyncio.timeout(limit):
                await self._places.acquire()
                running = asyncio.ensure_future(in_background(work, "cards"))
                running.add_done_callback(self._ended)
                # A call that is given up goes on and keeps its place until it returns.
                return await asyncio.shield(running)
        except TimeoutError:
            raise _stuck(what, limit) from None

    def _ended(self, running: asyncio.Future[_Answer]) -> None:
        self._places.release()
        if not running.cancelled():
            # Looked at here, so that an error nobody waits for any more is not complained about.
            running.exception()


def _stuck(what: str, limit: float) -> DriverError:
    return DriverError(
        Kind.STUCK,
        f"{what} has not returned within {duration_text(limit)}: the driver or a card hangs",
        call=what,
    )
