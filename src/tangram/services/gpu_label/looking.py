"""What this machine has, asked of two witnesses: the driver, and the PCI bus.

The driver knows the cards; the bus knows that there are some even where no driver is loaded. A driver that is not there
is an answer. A driver that hangs or fails is none, and labels are what keeps gpu-device on a node: so one bad reading
changes nothing, and only when several in a row are bad is the driver called not ready.

Libraries come and go while this runs, and only opening anew finds a new one. That costs time and, with one vendor's
package, memory that is never given back; and most nodes have nothing to find. So a driver that leaves something open is
opened anew at once when anything changes on the bus, and else after 1, 2, 4, 8 ... looks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.opening import OnTry
from tangram.drivers.protocol import Driver
from tangram.drivers.snapshot import USUAL_LIMIT, CardReading, Reader, Snapshot
from tangram.model.cards import Vendor
from tangram.model.devices import Device
from tangram.units.na import NotAvailable

PATIENCE: Final = 3
"""Bad readings in a row after which a driver counts as not ready."""

_ABSENT: Final = (Kind.NO_LIBRARY, Kind.NO_DRIVER)
_FINAL: Final = (Kind.INVALID, Kind.OUTDATED)
"""A driver that cannot be meant, and one that only a new process can ask."""
_UNDRIVEN: Final = "no-driver"


Opening = Callable[[OnTry], Driver]


class Bus(Protocol):
    """Whoever knows what sits on the PCI bus."""

    def devices(self) -> Sequence[Device]: ...
    def close(self) -> None: ...


class Sight(msgspec.Struct, frozen=True):
    """One reading."""

    devices: tuple[Device, ...] = ()
    """Cards that a driver holds."""
    on_bus: frozenset[Vendor] = frozenset()
    """Whose cards sit on the PCI bus, driven or not."""
    remark: str = ""
    """Why no driver answered."""

    @property
    def vendors(self) -> frozenset[Vendor]:
        return self.on_bus | _vendors(self.devices)


class Unsure(Exception):  # noqa: N818 - says what is the case
    """A reading that says nothing yet; the text says what was the matter."""


class _Opener:
    """Opens the driver; one that was not there is tried again only when told so."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._missing: DriverError | None = None

    def try_again(self) -> None:
        self._missing = None

    def __call__(self, on_try: OnTry) -> Driver:
        if self._missing is not None:
            # A new error each time: one that is raised again and again grows with every raise.
            raise DriverError(self._missing.kind, self._missing.sentence)
        try:
            return self._opening(on_try)
        except DriverError as error:
            if error.kind in _ABSENT:
                self._missing = DriverError(error.kind, error.sentence)
            raise


class Looker:
    """Asks both witnesses. Not for two threads at once."""

    def __init__(
        self,
        opening: Opening,
        bus: Bus,
        *,
        limit: float = USUAL_LIMIT,
        vendors: Collection[Vendor] = tuple(Vendor),
    ) -> None:
        """`vendors` are those whose cards count; others are not looked for on the bus."""
        self._opener = _Opener(opening)
        self._reader = Reader(self._opener, limit=limit)
        self._bus = bus
        self._whose = vendors
        self._bus_cards: tuple[Device, ...] = ()
        self._bad = 0
        self._unsettled = 0
        self._last = Sight()

    def look(self) -> Sight:
        """What is here now. Raises `Unsure`, and `DriverError` where another look is useless (`_FINAL`)."""
        try:
            sight = self._look()
        except Unsure as error:
            self._leave_open()
            self._bad += 1
            if self._bad < PATIENCE:
                raise
            # Cards do not leave the machine because their driver hangs.
            sight = Sight(on_bus=self._last.vendors | _vendors(self._bus_cards), remark=str(error))
        else:
            self._bad = 0
        self._last = sight
        return sight

    def close(self) -> None:
        self._reader.close()
        self._bus.close()

    def _look(self) -> Sight:
        self._ask_the_bus()
        on_bus = _vendors(self._bus_cards)
        try:
            snapshot = self._reader.read(figures=False)
        except DriverError as error:
            if error.kind in _FINAL:
                raise
            if error.kind not in _ABSENT:
                raise Unsure(error.sentence) from error
            self._leave_open()
            return Sight(on_bus=on_bus, remark=error.sentence)
        if snapshot.stuck and not snapshot.cards:
            raise Unsure("; ".join(trouble.sentence for trouble in snapshot.troubles))
        devices = tuple(card.device for card in snapshot.cards if _is_driven(card))
        if _is_settled(snapshot, devices, on_bus):
            self._unsettled = 0
        else:
            self._leave_open()
        return Sight(devices=devices, on_bus=on_bus)

    def _ask_the_bus(self) -> None:
        try:
            found = tuple(device for device in self._bus.devices() if device.vendor in self._whose)
        except DriverError as error:
            if error.kind not in _ABSENT:
                raise Unsure(error.sentence) from error
            found = ()
        if found != self._bus_cards:
            self._bus_cards = found
            self._unsettled = 0
            self._open_anew()

    def _leave_open(self) -> None:
        """Another driver may be there some looks later."""
        self._unsettled += 1
        if self._unsettled.bit_count() == 1:
            self._open_anew()

    def _open_anew(self) -> None:
        self._opener.try_again()
        self._reader.close()


def _vendors(devices: tuple[Device, ...]) -> frozenset[Vendor]:
    return frozenset(device.vendor for device in devices)


def _is_driven(card: CardReading) -> bool:
    """Whether its own kernel driver holds the card, and not none or one that passes it to a virtual machine."""
    if card.health is not None and card.health.code == _UNDRIVEN:
        return False
    # Only a card that no library and no map of the vendor names is called after its bus address.
    nameless = card.device.uuid.startswith("PCI-")
    return not (nameless and isinstance(card.device.mode, NotAvailable))


def _is_settled(snapshot: Snapshot, devices: tuple[Device, ...], on_bus: frozenset[Vendor]) -> bool:
    seen = {device.vendor for device in devices}
    return bool(devices) and on_bus <= seen and "sysfs" not in snapshot.driver and not snapshot.stuck
