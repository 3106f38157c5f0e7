"""From what a driver reports to what the scheduler places on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.devices import Device, Health, LinkReport
from tangram.model.topology import Topology
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.na import known

SLICES_PER_CARD = 16
CORES = {Vendor.METAX: 100, Vendor.MTHREADS: 16, Vendor.GENERIC: 100}


def cards_of(
    devices: Sequence[Device],
    health: Mapping[CardUuid, Health],
    modes: Mapping[CardUuid, CardMode] | None = None,
) -> tuple[Card, ...]:
    """The devices as cards. A mode that was not decided follows what the kernel offers: sliced, split, or whole.

    Virtual functions whose card is among the devices are left out: they are what that card is sold as, and counting
    them again would sell it twice.
    """
    decided = modes or {}
    return tuple(
        _card(devices[at], health.get(devices[at].uuid), decided.get(devices[at].uuid))
        for at in _card_positions(devices)
    )


def topology_of(devices: Sequence[Device], links: LinkReport) -> Topology | None:
    """The links as the engine weighs them, or None when nobody could say."""
    if not links.known:
        return None
    place = {at: number for number, at in enumerate(_card_positions(devices))}
    return Topology(
        len(place),
        tuple(
            msgspec.structs.replace(link, a=place[link.a], b=place[link.b])
            for link in links.links
            if link.a in place and link.b in place
        ),
    )


def _card_positions(devices: Sequence[Device]) -> list[int]:
    present = {device.uuid for device in devices}
    return [at for at, device in enumerate(devices) if device.virtual_function_of not in present]


def _card(device: Device, health: Health | None, mode: CardMode | None) -> Card:
    functions = known(device.virtual_functions, 0)
    if mode is None:
        mode = CardMode.VIRTUAL if functions else CardMode.SLICED if device.sliced is True else CardMode.WHOLE
    slots = {CardMode.WHOLE: 1, CardMode.VIRTUAL: max(functions, 1)}.get(mode, SLICES_PER_CARD)
    return Card(
        uuid=device.uuid,
        index=device.index,
        vendor=device.vendor,
        memory=_memory(device, mode),
        product=device.product,
        cores=CORES[device.vendor],
        slots=slots,
        mode=mode,
        numa=known(device.numa, -1),
        healthy=health is None or health.healthy,
        health_reason="" if health is None or health.healthy else health.message or health.code,
        memory_tiers=device.memory_tiers if mode is CardMode.SLICED else (),
        bdf=device.bdf,
    )


def _memory(device: Device, mode: CardMode) -> Bytes:
    """What can be given away of it. A card whose mode is open may be sliced next."""
    memory = known(device.memory, known(device.sliceable, Bytes(0)))
    if mode in (CardMode.SLICED, CardMode.UNDECIDED):
        return min(memory, known(device.sliceable, memory))
    return memory
