"""From what several commands say of one card to one record. Pure: parsed answers in, reports out."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from tangram.drivers.lost_memory import lost_memory
from tangram.drivers.mxsmi.json_report import ReportedCard, ReportedSlice
from tangram.drivers.mxsmi.listing import ListedCard, ListedSlice
from tangram.drivers.mxsmi.sections import EccCounts, Hardware, Memory, Power, SystemNodes, Versions
from tangram.drivers.mxsmi.summary_table import TableCard
from tangram.drivers.sysfs.pci import PciFunction
from tangram.drivers.sysfs.products import family_of
from tangram.drivers.unusable import limited, unavailable
from tangram.model.cards import Vendor
from tangram.model.devices import Device, DeviceNodes, Figures, Health, Slice
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe, NotAvailable, known

_Figure = TypeVar("_Figure")


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What stays true of a card as long as it stays in its place."""

    hardware: Hardware
    total: Maybe[Bytes]
    versions: Versions
    nodes: SystemNodes
    numa: Maybe[int]
    function: PciFunction | None
    sliced: Maybe[bool] = NA
    sliceable: Maybe[Bytes] = NA

    @property
    def memory(self) -> Maybe[Bytes]:
        """As the memory command counts it, else as the board is sold."""
        return self.hardware.memory if isinstance(self.total, NotAvailable) else self.total


def device_from(card: ListedCard, uuid: CardUuid, facts: Facts) -> Device:
    """One card."""
    function = facts.function
    return Device(
        uuid=uuid,
        index=card.index,
        vendor=Vendor.METAX,
        product=card.product,
        bdf=card.bdf,
        family=family_of(Vendor.METAX, card.product),
        serial=facts.hardware.serial,
        memory=facts.memory,
        numa=facts.numa,
        pcie_path=() if function is None else function.path,
        nodes=DeviceNodes(
            control="/dev/mxcd",
            card=f"/dev/dri/{facts.nodes.card}" if facts.nodes.card else "",
            render=f"/dev/dri/{facts.nodes.render}" if facts.nodes.render else "",
        ),
        driver_version=facts.versions.driver,
        firmware_version=facts.versions.firmware,
        mode=NA if function is None else function.mode,
        sriov=NA if function is None else function.sriov,
        virtual_functions=NA if function is None else function.functions,
        sliced=True if card.slices else facts.sliced,
        sliceable=facts.sliceable,
    )


def figures_from(
    report: ReportedCard | None,
    table: TableCard | None,
    memory: Memory | None,
    power: Power | None,
    ecc: EccCounts | None,
) -> Figures:
    """The figures of one card: the report's where it has them, the table's where it does not."""
    live = report or ReportedCard()
    drawn = table or TableCard(bdf="")
    counted = memory or Memory()
    fed = power or Power()
    errors = ecc or EccCounts()
    return Figures(
        utilisation_percent=_first(live.utilisation_percent, drawn.utilisation_percent),
        memory_used=_first(counted.used, drawn.memory_used),
        memory_total=_first(counted.total, drawn.memory_total),
        temperature_celsius=_first(live.temperature_celsius, drawn.temperature_celsius),
        power_watts=_first(fed.watts, drawn.power_watts),
        power_cap_watts=_first(fed.cap_watts, drawn.power_cap_watts),
        clocks_mhz=live.clocks_mhz,
        ecc_corrected=errors.corrected,
        ecc_uncorrected=errors.uncorrected,
        retired_pages=errors.retired_pages,
    )


def card_health(card: ListedCard, ecc: EccCounts | None) -> Health:
    """Whether new pods may be given the card."""
    if not card.available:
        reason = card.reason or "mx-smi says it is not available"
        # The tool reads the uuid of every card that it can use at all.
        return unavailable(reason) if card.uuid else limited(reason)
    lost = None if ecc is None else lost_memory(ecc.known_uncorrected, known(ecc.retired_pages, 0))
    return lost or Health(healthy=True)


def slice_from(
    card: CardUuid, listed: ListedSlice, live: ReportedSlice | None, usage: Maybe[float] = NA
) -> Slice:
    """One slice: who it is from the list, what it does from the report, else from the command for that."""
    return Slice(
        card=card,
        id=listed.id,
        # The list rounds; the report counts.
        memory=listed.memory if live is None else live.memory,
        cores=listed.cores,
        uuid=listed.uuid,
        name=listed.alias,
        minor=NA if live is None else live.minor,
        memory_used=NA if live is None else live.memory_used,
        utilisation_percent=usage if live is None else _first(live.utilisation_percent, usage),
    )


def _first(one: Maybe[_Figure], other: Maybe[_Figure]) -> Maybe[_Figure]:
    return other if isinstance(one, NotAvailable) else one
