"""A `Device` object as cards of ours."""

from __future__ import annotations

from tangram.model.cards import Card, Vendor
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.quantity import QuantityError, parse_quantity
from tangram.vendors.mthreads import products as mthreads
from tangram.vendors.names import KOORDINATOR_MEMORY
from tangram.wire.errors import Problem, shown
from tangram.wire.koordinator import names
from tangram.wire.koordinator.conditions import HEALTHY
from tangram.wire.koordinator.device import Device, DeviceEntry, DevicePlace

_VENDORS = {vendor.value: vendor for vendor in (Vendor.METAX, Vendor.MTHREADS)}
_LARGEST_MEMORY = 2**44
_LARGEST_NUMBER = 2**15


def cards_of(device: Device) -> tuple[tuple[Card, ...], tuple[Problem, ...]]:
    """The cards a `Device` reports. They are taken to be sliced, which is how Koordinator hands them out."""
    word = device.labels.get(names.LABEL_VENDOR, "")
    entries = [entry for entry in device.entries if entry.kind == names.GPU]
    if not entries:
        return (), ()
    if word not in _VENDORS:
        sentence = f"Device {device.node} is labelled with vendor {shown(word)}: only {', '.join(_VENDORS)} are placed"
        return (), (Problem("device-vendor", sentence),)
    cards: dict[str, Card] = {}
    problems: list[Problem] = []
    for entry in entries:
        memory = _memory(entry)
        if memory is None or entry.id in cards or entry.minor > _LARGEST_NUMBER:
            fault = (
                "has no readable gpu-memory"
                if memory is None
                else "repeats an earlier entry or has an odd minor"
            )
            problems.append(Problem("device-entry", f"Device {device.node}: {shown(entry.id)} {fault}"))
        else:
            model = device.labels.get(names.LABEL_MODEL, "")
            cards[entry.id] = _card(entry, _VENDORS[word], model, memory)
    return tuple(cards.values()), tuple(problems)


def _card(entry: DeviceEntry, vendor: Vendor, model: str, memory: Bytes) -> Card:
    place = entry.place or DevicePlace()
    wrong = next((each.message for each in entry.conditions if each.kind == HEALTHY), "")
    return Card(
        uuid=CardUuid(entry.id),
        index=entry.minor,
        vendor=vendor,
        memory=memory,
        product=model,
        cores=mthreads.CORES_PER_CARD if vendor is Vendor.MTHREADS else 100,
        numa=place.numa if -1 <= place.numa <= _LARGEST_NUMBER else -1,
        healthy=entry.health,
        health_reason="" if entry.health else wrong or "its Device calls it unhealthy",
        bdf=place.bus_id,
    )


def _memory(entry: DeviceEntry) -> Bytes | None:
    try:
        size = parse_quantity(entry.resources.get(KOORDINATOR_MEMORY, "")).value()
    except QuantityError:
        return None
    return Bytes(size) if 0 < size <= _LARGEST_MEMORY else None
