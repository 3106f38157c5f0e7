"""From what a driver reports to what the scheduler places on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    """The devices as cards. A mode that was not decided follows what the kernel offers: sliced, split, or whole."""
    decided = modes or {}
    return tuple(_card(device, health.get(device.uuid), decided.get(device.uuid)) for device in devices)


def topology_of(devices: Sequence[Device], links: LinkReport) -> Topology | None:
    """The links as the engine weighs them, or None when nobody could say."""
    return Topology(len(devices), links.links) if links.known else None


def _card(device: Device, health: Health | None, mode: CardMode | None) -> Card:
    functions = known(device.virtual_functions, 0)
    if mode is None:
        mode = CardMode.VIRTUAL if functions else CardMode.SLICED if device.sliced is True else CardMode.WHOLE
    slots = {CardMode.WHOLE: 1, CardMode.VIRTUAL: max(functions, 1)}.get(mode, SLICES_PER_CARD)
    return Card(
        uuid=device.uuid,
        index=device.index,
        vendor=device.vendor,
        memory=known(device.memory, Bytes(0)),
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
