"""Everything a driver says at one moment, within a time that was agreed beforehand.

A vendor library that waits for a dead card waits for ever, and takes with it whoever called. So the driver is asked
in a thread of its own, step by step; when time is up the answer is what has been read until then, with the name of the
step that hangs. The thread is left behind: nothing can end a call that does not return.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeVar, cast

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.protocol import Driver
from tangram.model.devices import Device, Figures, Health, LinkReport, Slice
from tangram.units.durations import duration_text
from tangram.units.ids import CardUuid

USUAL_LIMIT: Final = 10.0
"""Seconds. A healthy library answers for eight cards in milliseconds, a slow tool in a second or two."""

_Answer = TypeVar("_Answer")


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could not be read."""

    kind: Kind
    call: str
    """The vendor's function, command or file where the driver names it, else what we asked the driver."""
    sentence: str


class CardReading(msgspec.Struct, frozen=True, kw_only=True):
    """One card. `figures`, `health` and `slices` are None where they could not be asked."""

    device: Device
    figures: Figures | None = None
    health: Health | None = None
    slices: tuple[Slice, ...] | None = None


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    driver: str = ""
    cards: tuple[CardReading, ...] = ()
    links: LinkReport = LinkReport()
    troubles: tuple[Trouble, ...] = ()

    @property
    def stuck(self) -> bool:
        return any(trouble.kind is Kind.STUCK for trouble in self.troubles)


class _Notes:
    """What one reading has found so far. Written by the asking thread, read by the waiting one."""

    def __init__(self) -> None:
        self.step = "opening the driver"
        self.unasked = ""
        """The first step there was no time left for."""
        self.driver: Driver | None = None
        self.devices: Sequence[Device] = ()
        self.links = LinkReport()
        self.health: Mapping[CardUuid, Health] = {}
        self.figures: dict[CardUuid, Figures] = {}
        self.slices: dict[CardUuid, tuple[Slice, ...]] = {}
        self.troubles: list[Trouble] = []
        self.fatal: Exception | None = None
        self.done = threading.Event()


class Reader:
    """A driver behind a time limit. Open it once, read it as often as you like, from one thread."""

    def __init__(
        self,
        opening: Callable[[Callable[[str], None]], Driver],
        *,
        limit: float = USUAL_LIMIT,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self._opening = opening
        self._limit = limit
        self._clock = clock
        self._wait = wait
        self._driver: Driver | None = None
        self._running: _Notes | None = None

    def read(self, *, figures: bool = True, links: bool = False) -> Snapshot:
        """What the driver says now.

        Raises `DriverError` when there is no driver to ask; a call that hangs or fails is a trouble of the answer.
        """
        notes = self._running
        if notes is None:
            notes = self._running = _Notes()
            until = self._clock() + self._limit
            threading.Thread(
                target=self._read, args=(notes, until, figures, links), name="reading-cards", daemon=True
            ).start()
        if not self._wait(notes.done, self._limit):
            step = notes.step
            return self._late(notes, f"{step} has not returned", _call_of(notes.driver, step))
        self._running = None
        if notes.fatal is not None:
            raise notes.fatal
        if notes.unasked:
            return self._late(notes, f"{notes.unasked} was not reached", notes.unasked)
        return _snapshot(notes, tuple(notes.troubles))

    def close(self) -> None:
        """Give the driver back, unless it hangs."""
        if self._running is not None:
            return
        driver, self._driver = self._driver, None
        if driver is not None:
            # Everything that could be read has been read; a driver that will not let go changes nothing about it.
            with suppress(DriverError):
                driver.close()

    def _late(self, notes: _Notes, what: str, call: str) -> Snapshot:
        sentence = f"{what} within {duration_text(self._limit)}; what it would say is missing"
        stuck = Trouble(kind=Kind.STUCK, call=call, sentence=sentence)
        return _snapshot(notes, (*notes.troubles, stuck))

    def _read(self, notes: _Notes, until: float, figures: bool, links: bool) -> None:  # noqa: FBT001 - a thread's target has no keywords of its own
        try:
            self._ask_everything(notes, until, figures=figures, links=links)
        except Exception as error:  # noqa: BLE001 - carried over to the thread that waits, which raises it
            notes.fatal = error
        finally:
            notes.done.set()

    def _ask_everything(self, notes: _Notes, until: float, *, figures: bool, links: bool) -> None:
        if self._driver is None:
            self._driver = self._opening(lambda way: setattr(notes, "step", f"opening {way}"))
        driver = notes.driver = self._driver

        def ask(what: str, call: Callable[[], _Answer]) -> _Answer | None:
            if self._clock() > until:
                notes.unasked = notes.unasked or f"{driver.name}: {what}"
                return None
            notes.step = f"{driver.name}: {what}"
            try:
                return call()
            except DriverError as error:
                notes.troubles.append(
                    Trouble(
                        kind=error.kind, call=error.call or notes.step, sentence=f"{what}: {error.sentence}"
                    )
                )
                return None

        notes.step = f"{driver.name}: listing the cards"
        try:
            notes.devices = tuple(driver.devices())
        except DriverError as error:
            if error.kind is not Kind.STUCK:
                raise
            notes.troubles.append(
                Trouble(kind=error.kind, call=error.call or notes.step, sentence=error.sentence)
            )
        if not notes.devices:
            return
        notes.health = ask("health", driver.health) or {}
        notes.troubles.extend(_unlisted(notes.health, notes.devices))
        if links:
            notes.links = ask("links", lambda: driver.links(notes.devices)) or LinkReport()
        for device in notes.devices if figures else ():
            uuid = device.uuid
            found = ask(f"figures of card {device.index}", lambda uuid=uuid: driver.figures(uuid))
            if found is not None:
                notes.figures[uuid] = found
            slices = ask(f"slices of card {device.index}", lambda uuid=uuid: driver.slices(uuid))
            if slices is not None:
                notes.slices[uuid] = tuple(slices)


def _unlisted(health: Mapping[CardUuid, Health], devices: Sequence[Device]) -> list[Trouble]:
    """Cards that health knows and the list does not: gone, or too broken to say who they are."""
    listed = {device.uuid for device in devices}
    return [
        Trouble(
            kind=Kind.CARD_GONE,
            call="health",
            sentence=f"card {uuid} is not listed: {found.message or found.code}",
        )
        for uuid, found in health.items()
        if uuid not in listed and not found.healthy
    ]


def _snapshot(notes: _Notes, troubles: tuple[Trouble, ...]) -> Snapshot:
    return Snapshot(
        driver=notes.driver.name if notes.driver is not None else "",
        cards=tuple(
            CardReading(
                device=device,
                figures=notes.figures.get(device.uuid),
                health=notes.health.get(device.uuid),
                slices=notes.slices.get(device.uuid),
            )
            for device in notes.devices
        ),
        links=notes.links,
        troubles=troubles,
    )


def _call_of(driver: Driver | None, step: str) -> str:
    """The vendor's function that hangs, where the driver tells it (`calling`); else what we asked."""
    call = cast("object", getattr(driver, "calling", ""))
    return call if isinstance(call, str) and call else step
