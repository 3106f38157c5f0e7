"""Asking for the card that slices are made on: the one that was named, or the first that is idle."""

from __future__ import annotations

from typing import Final

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.protocol import Driver
from tangram.drivers.self_test.choosing import (
    CardRefusal,
    Obstacle,
    card_named,
    refusal_for_size,
    refusal_now,
    refusal_of,
)
from tangram.drivers.self_test.judging import cards_sharing
from tangram.drivers.self_test.records import Verdict, passed, row, verdict_of
from tangram.drivers.self_test.slice_life import NEEDED_CORES, NEEDED_MEMORY
from tangram.drivers.self_test.walking import Walk
from tangram.model.devices import Device, Health, SliceRoom
from tangram.units.memory import Bytes, memory_text

CHECK: Final = "slice-card"
_NO_SIZE: Final = Bytes(1)
"""No card makes a slice of one byte, so a driver that makes slices says that, and one that does not says so."""


def choose_card(driver: Driver, named: str, walk: Walk) -> tuple[Device, SliceRoom] | None:
    """An idle card with its room. Without one, a row per reason is told. Raises for a name that no card has."""
    devices = driver.devices()
    health = driver.health()
    refusals: list[tuple[Device, Verdict]] = []
    for device in [card_named(devices, named)] if named else devices:
        well = health.get(device.uuid)
        found = walk.step(
            f"card {device.index}",
            lambda device=device, well=well: _refusal_or_room(driver, device, well),
        )
        if isinstance(found, SliceRoom):
            left = f"{found.slots} slices, {memory_text(found.memory)} and {found.cores} % of compute"
            walk.tell(row(CHECK, passed(f"idle and without slices; room for {left}"), device))
            return device, found
        refusals.append((device, found.verdict(named=bool(named))))
    for verdict, cards in cards_sharing(refusals).items():
        walk.tell(row(CHECK, verdict, *cards))
    return None


def _refusal_or_room(driver: Driver, device: Device, health: Health | None) -> CardRefusal | SliceRoom:
    try:
        refusal = refusal_of(device, health) or _without_maker(driver, device)
        if refusal is None:
            slices = driver.slices(device.uuid)
            refusal = refusal_now(driver.figures(device.uuid), slices)
        if refusal is not None:
            return refusal
        room = driver.room(device.uuid)
        return refusal_for_size(room, NEEDED_MEMORY, NEEDED_CORES) or room
    except DriverError as error:
        return CardRefusal(Obstacle.STATE, f"does not tell what is on it: {verdict_of(error).why}")


def _without_maker(driver: Driver, device: Device) -> CardRefusal | None:
    """Whether the driver makes no slices at all: another program does, or the driver only reads."""
    try:
        made = driver.create_slice(device.uuid, memory=_NO_SIZE, cores=1)
    except DriverError as error:
        if error.kind is not Kind.NOT_SUPPORTED:
            return None
        sentence = error.sentence
        for word in (f"card {device.uuid}", device.uuid):
            sentence = sentence.replace(word, "the card")
        return CardRefusal(Obstacle.MAKER, f"gets no slices from this driver: {sentence}")
    driver.remove_slice(device.uuid, made.id)
    return None
