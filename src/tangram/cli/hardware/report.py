"""What `tangram devices` answers, as data. `docs/hardware.md` promises this shape to programs.

Fields are added and never renamed or taken away within a version. Memory is in bytes, and a figure nobody could read is
null. Compute of a slice is in the vendor's own units: percent for MetaX, a weight in sixteenths for Moore Threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from tangram.drivers.inventory import cards_of
from tangram.drivers.owners import Owner
from tangram.drivers.snapshot import CardReading, Snapshot, Trouble
from tangram.model.devices import Figures, Process, Slice
from tangram.units.ids import natural_key
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe, NotAvailable

VERSION: Final = "devices/v1"


class SliceReport(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    name: Maybe[str]
    uuid: str
    memory: Bytes
    memory_used: Maybe[Bytes]
    cores: int
    utilisation_percent: Maybe[float]
    busy: Maybe[bool]


class ProcessReport(msgspec.Struct, frozen=True, kw_only=True):
    pid: int
    name: str
    memory: Maybe[Bytes]
    slice_id: int | None
    pod: str
    """`namespace/name` where the machine itself tells, else empty."""


class CardReport(msgspec.Struct, frozen=True, kw_only=True):
    index: int
    vendor: str
    product: str
    uuid: str
    bdf: str
    serial: Maybe[str]
    numa: Maybe[int]
    mode: Maybe[str]
    """`native`, `sgpu` or `vgpu`."""
    driver_mode: Maybe[str]
    sriov: Maybe[str]
    virtual_functions: Maybe[int]
    driver_version: Maybe[str]
    firmware_version: Maybe[str]
    nodes: tuple[str, ...]
    utilisation_percent: Maybe[float]
    memory_used: Maybe[Bytes]
    memory_total: Maybe[Bytes]
    sliceable: Maybe[Bytes]
    """What slices of the card can have in all, where it is offered in slices and its driver says so."""
    temperature_celsius: Maybe[float]
    power_watts: Maybe[float]
    power_cap_watts: Maybe[float]
    clocks_mhz: dict[str, int]
    ecc_corrected: Maybe[int]
    ecc_uncorrected: Maybe[int]
    retired_pages: Maybe[int]
    throttled_by: tuple[str, ...]
    healthy: Maybe[bool]
    health_code: str
    health_message: str
    slices: Maybe[list[SliceReport]]
    processes: Maybe[list[ProcessReport]]


class TroubleReport(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    call: str
    sentence: str
    times: int


class DevicesReport(msgspec.Struct, frozen=True, kw_only=True):
    tangram: str = VERSION
    driver: str
    cards: list[CardReport]
    troubles: list[TroubleReport]


def report_of(snapshot: Snapshot, owners: Mapping[int, Owner]) -> DevicesReport:
    """The snapshot as programs read it. `owners` are the pods of process ids, where known."""
    return DevicesReport(
        driver=snapshot.driver,
        cards=[_card(reading, owners) for reading in snapshot.cards],
        troubles=troubles_of(snapshot.troubles),
    )


def troubles_of(troubles: tuple[Trouble, ...]) -> list[TroubleReport]:
    """Each fault once: a call that hangs is met again for every card."""
    first: dict[tuple[str, str], Trouble] = {}
    times: dict[tuple[str, str], int] = {}
    for trouble in troubles:
        key = (trouble.kind, trouble.call)
        first.setdefault(key, trouble)
        times[key] = times.get(key, 0) + 1
    return [
        TroubleReport(kind=trouble.kind, call=trouble.call, sentence=trouble.sentence, times=times[key])
        for key, trouble in first.items()
    ]


def _card(reading: CardReading, owners: Mapping[int, Owner]) -> CardReport:
    device, health = reading.device, reading.health
    figures = reading.figures or Figures()
    total = device.memory if isinstance(figures.memory_total, NotAvailable) else figures.memory_total
    return CardReport(
        index=device.index,
        vendor=device.vendor,
        product=device.product,
        uuid=device.uuid,
        bdf=device.bdf,
        serial=device.serial,
        numa=device.numa,
        mode=_mode(reading),
        driver_mode=device.mode,
        sriov=device.sriov,
        virtual_functions=device.virtual_functions,
        driver_version=device.driver_version,
        firmware_version=device.firmware_version,
        nodes=device.nodes.all,
        utilisation_percent=figures.utilisation_percent,
        memory_used=figures.memory_used,
        memory_total=total,
        sliceable=device.sliceable,
        temperature_celsius=figures.temperature_celsius,
        power_watts=figures.power_watts,
        power_cap_watts=figures.power_cap_watts,
        clocks_mhz=dict(sorted(figures.clocks_mhz.items())),
        ecc_corrected=figures.ecc_corrected,
        ecc_uncorrected=figures.ecc_uncorrected,
        retired_pages=figures.retired_pages,
        throttled_by=figures.throttled_by,
        healthy=NA if health is None else health.healthy,
        health_code="" if health is None else health.code,
        health_message="" if health is None else health.message,
        slices=NA if reading.slices is None else [_slice(each) for each in reading.slices],
        processes=_processes(figures.processes, owners),
    )


def _mode(reading: CardReading) -> Maybe[str]:
    device = reading.device
    if isinstance(device.sliced, NotAvailable) and not device.virtual_functions:
        return NA
    return cards_of([device], {})[0].mode


def _slice(found: Slice) -> SliceReport:
    return SliceReport(
        id=found.id,
        name=found.name,
        uuid=found.uuid,
        memory=found.memory,
        memory_used=found.memory_used,
        cores=found.cores,
        utilisation_percent=found.utilisation_percent,
        busy=found.busy,
    )


def _processes(found: Maybe[tuple[Process, ...]], owners: Mapping[int, Owner]) -> Maybe[list[ProcessReport]]:
    if isinstance(found, NotAvailable):
        return NA
    return [
        ProcessReport(
            pid=process.pid,
            name=process.name,
            memory=process.memory,
            slice_id=process.slice_id,
            pod=str(owners[process.pid]) if process.pid in owners else "",
        )
        for process in sorted(found, key=lambda process: (process.pid, natural_key(process.name)))
    ]
