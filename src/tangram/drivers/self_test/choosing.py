"""On which card slices are made: one that is idle, in slices, and has none. Pure; the questions are asked elsewhere.

Whatever is not known counts as a reason against a card. A self-test that disturbs a job has done more harm than the
faults it looks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.self_test.records import Verdict, failed, not_available
from tangram.model.devices import Device, Figures, Health, Slice, SliceRoom
from tangram.units.memory import Bytes, memory_text
from tangram.units.na import NotAvailable

IDLE_PERCENT: Final = 5
"""A card at rest flickers up to this; a job that no process list shows does not stay below it."""


class Obstacle(StrEnum):
    """What stands between a card and slices of it."""

    MAKER = "maker"
    """No driver makes slices of it; something else does, or nothing."""
    MODE = "mode"
    """The card is not in slices, or is a part of another."""
    STATE = "state"
    """In use, unhealthy, full, or not known to be idle."""


class CardRefusal(msgspec.Struct, frozen=True):
    obstacle: Obstacle
    why: str

    def verdict(self, *, named: bool) -> Verdict:
        """A card that was named and is refused has failed; one that merely cannot is passed over."""
        passed_over = self.obstacle is Obstacle.MAKER or (self.obstacle is Obstacle.MODE and not named)
        why = f"the card {self.why}"
        return (
            not_available(why) if passed_over else failed(why, "name another card, or wait until it is idle")
        )


def refusal_of(device: Device, health: Health | None) -> CardRefusal | None:
    """Why no slice can be made of the card as it is, whoever uses it."""
    if device.virtual_function_of is not None:
        return CardRefusal(Obstacle.MODE, "is a virtual function")
    if isinstance(device.sliced, NotAvailable):
        return CardRefusal(Obstacle.MODE, "does not tell whether it is in slices")
    if not device.sliced:
        switch = "mode sgpu of the device ConfigMap, or the vendor's tool, switches it"
        return CardRefusal(Obstacle.MODE, f"is not in slices; {switch}")
    if health is not None and not health.healthy:
        return CardRefusal(Obstacle.STATE, f"is unhealthy: {health.message or health.code}")
    return None


def refusal_now(figures: Figures, slices: Sequence[Slice]) -> CardRefusal | None:
    """Why the card must be left alone now; None for an idle one."""
    why = ""
    used = figures.utilisation_percent
    if slices:
        names = ", ".join(each.name or f"slice {each.id}" for each in slices[:4])
        more = ", ..." if len(slices) > 4 else ""
        why = f"has slices ({names}{more}), which are left alone"
    elif isinstance(figures.processes, NotAvailable):
        why = "does not tell who uses it; run it as root on the host itself, or with the host's process ids (hostPID)"
    elif figures.processes:
        why = f"is in use by process {', '.join(str(process.pid) for process in figures.processes[:4])}"
    elif not isinstance(used, NotAvailable) and used > IDLE_PERCENT:
        why = f"is at {used:g} % though no process is listed"
    return CardRefusal(Obstacle.STATE, why) if why else None


def refusal_for_size(room: SliceRoom, memory: Bytes, cores: int) -> CardRefusal | None:
    """Why the slices of the test do not fit."""
    if room.slots >= 2 and room.memory >= memory and room.cores >= cores:
        return None
    left = f"{room.slots} slices, {memory_text(room.memory)} and {room.cores} % of compute"
    return CardRefusal(
        Obstacle.STATE, f"has room for {left}, and the test needs 2, {memory_text(memory)} and {cores} %"
    )


def card_named(devices: Sequence[Device], text: str) -> Device:
    """The card of that number, uuid or bus address. Raises `invalid`."""
    found = [
        device
        for device in devices
        if text.lower() in (str(device.index), device.uuid.lower(), device.bdf.lower())
    ]
    if len(found) == 1:
        return found[0]
    wrong = "names two cards" if found else "names no card here"
    cards = ", ".join(f"{device.index} ({device.bdf or device.uuid})" for device in devices)
    raise DriverError(
        Kind.INVALID,
        f"--card {text!r:.60} {wrong}: the cards are {cards}; write a number, bus address or uuid",
    )
