"""`mthreads-gmi` behind our interface: what can be had where the library's package is missing.

The tool names no device nodes and no port of a link, so those stay unknown; the display nodes and the place on PCIe
come from the kernel. Every question starts a process, so one answer serves all cards for a moment.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final, TypeVar

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.gmi.matrix import Pair, parse_matrix
from tangram.drivers.gmi.processes import parse_processes, processes_on
from tangram.drivers.gmi.query import QueriedCard, parse_query
from tangram.drivers.gmi.tool import DEFAULT_LIMIT, MATRIX, QUERY, SUMMARY, Tool
from tangram.drivers.gmi.values import ParseError
from tangram.drivers.mtml.place import DEFAULT_SYSFS, drm_nodes, numa_node, pcie_path
from tangram.drivers.mtml.slicing import RuntimeMakesSlices, is_sliced, processes_of, room_of, slices_of
from tangram.drivers.pcie import level_between
from tangram.drivers.sgpu_km import DEFAULT_ROOT, SgpuKm
from tangram.drivers.watchdog import Watchdog
from tangram.model.cards import Vendor
from tangram.model.devices import Device, Figures, Health, LinkReport, Process, Slice, SliceRoom
from tangram.model.topology import Link, LinkKind, PcieLevel
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe, NotAvailable
from tangram.vendors.mthreads.tiers import memory_tiers

FRESH: Final = 1.0
"""Seconds an answer serves further questions: the cards of one reading, not of the next."""
_ABSENT: Final = (Kind.NO_DRIVER, Kind.NO_LIBRARY)
_Record = TypeVar("_Record")


class GmiDriver(RuntimeMakesSlices):
    """Moore Threads cards through the vendor's tool."""

    name = "gmi"

    def __init__(
        self,
        binary: str | None = None,
        *,
        limit: float = DEFAULT_LIMIT,
        sysfs: Path = DEFAULT_SYSFS,
        sgpu_km: Path = DEFAULT_ROOT,
        all_seen: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`all_seen` is whether the host's processes have numbers where this runs, if that was asked."""
        self._tool = Tool(binary, limit=limit)
        self._watchdog = Watchdog("gmi", limit=limit)
        self._module = SgpuKm(sgpu_km, self._watchdog.entering)
        self._sysfs = sysfs
        self._all_seen = all_seen
        self._clock = clock
        self._lock = threading.Lock()
        self._answers: dict[tuple[str, ...], tuple[float, str]] = {}
        self._seen: dict[CardUuid, Device] = {}

    def devices(self) -> Sequence[Device]:
        """The cards in the tool's order. One that does not tell its UUID is left out; `health` reports it."""
        query = self._parsed(QUERY, parse_query)
        devices = tuple(
            self._device(card, card.uuid, query.driver_version)
            for card in query.cards
            if not isinstance(card.uuid, NotAvailable)
        )
        with self._lock:
            self._seen.update({device.uuid: device for device in devices})
        return devices

    def links(self, devices: Sequence[Device]) -> LinkReport:
        """MTLink from the tool's matrix where it can be read, distance on PCIe from the kernel."""
        try:
            pairs = {(pair.one, pair.other): pair for pair in self._parsed(MATRIX, parse_matrix)}
        except DriverError as error:
            if error.kind not in (Kind.FAILED, Kind.NOT_SUPPORTED):
                raise
            pairs = dict[tuple[int, int], Pair]()
        links = [
            link
            for a, b in combinations(range(len(devices)), 2)
            if (link := _link(a, b, devices[a], devices[b], pairs)) is not None
        ]
        return LinkReport(known=bool(links) or len(devices) == 1, links=tuple(links))

    def figures(self, uuid: CardUuid) -> Figures:
        card = next((card for card in self._parsed(QUERY, parse_query).cards if card.uuid == uuid), None)
        if card is None:
            raise _gone(uuid)
        return Figures(
            utilisation_percent=card.utilisation_percent,
            memory_used=card.memory_used,
            memory_total=card.memory_total,
            temperature_celsius=card.temperature_celsius,
            power_watts=card.power_watts,
            power_cap_watts=card.power_cap_watts,
            clocks_mhz=card.clocks_mhz,
            processes=self._processes(uuid, card.index),
        )

    def health(self) -> Mapping[CardUuid, Health]:
        """What the tool can tell: a card that vanished, or that is listed and says nothing."""
        try:
            cards = self._parsed(QUERY, parse_query).cards
        except DriverError as error:
            with self._lock:
                seen = dict.fromkeys(
                    self._seen, Health(healthy=False, code=error.kind, message=error.sentence)
                )
            if not seen or error.kind not in _ABSENT:
                raise
            return seen
        with self._lock:
            gone = {
                uuid: Health(healthy=False, code="card-gone", message=f"card {uuid} is not listed any more")
                for uuid in self._seen
            }
        return gone | {_name(card): _health(card) for card in cards}

    def slices(self, uuid: CardUuid) -> Sequence[Slice]:
        device = self._known(uuid)
        return self._watchdog.run(lambda: slices_of(self._module, device), call="slices")

    def room(self, uuid: CardUuid) -> SliceRoom:
        device = self._known(uuid)
        return self._watchdog.run(lambda: room_of(self._module, device), call="room")

    def close(self) -> None:
        self._watchdog.close()

    def _parsed(self, command: tuple[str, ...], parse: Callable[[str], _Record]) -> _Record:
        with self._lock:
            asked_at, text = self._answers.get(command, (-FRESH, ""))
        if not text or self._clock() - asked_at >= FRESH:
            asked_at, text = self._clock(), self._tool.answer(command)
            with self._lock:
                self._answers[command] = (asked_at, text)
        try:
            return parse(text)
        except ParseError as error:
            call = " ".join(("mthreads-gmi", *command))
            raise DriverError(
                Kind.FAILED, f"{call} printed something else than expected: {error}", call=call
            ) from error

    def _device(self, card: QueriedCard, uuid: CardUuid, driver_version: Maybe[str]) -> Device:
        nodes = drm_nodes(self._sysfs, card.bdf)
        sliced = self._watchdog.run(lambda: is_sliced(self._module, nodes, card.index), call="cores")
        total = card.memory_total
        return Device(
            uuid=uuid,
            index=card.index,
            vendor=Vendor.MTHREADS,
            product=card.product,
            bdf=card.bdf,
            family="MTT" if card.brand == "MTT" or card.product.startswith("MTT ") else "",
            serial=card.serial,
            memory=total,
            numa=numa_node(self._sysfs, card.bdf),
            pcie_path=pcie_path(self._sysfs, card.bdf),
            nodes=nodes,
            driver_version=driver_version,
            firmware_version=card.firmware,
            sliced=sliced,
            memory_tiers=() if isinstance(total, NotAvailable) else memory_tiers(Bytes(total)),
        )

    def _processes(self, uuid: CardUuid, index: int) -> Maybe[tuple[Process, ...]]:
        with self._lock:
            device = self._seen.get(uuid)
        if device is not None:
            sliced = self._watchdog.run(lambda: processes_of(self._module, device), call="meminfo")
            if not isinstance(sliced, NotAvailable):
                return sliced
        try:
            return processes_on(self._parsed(SUMMARY, parse_processes), index, all_seen=self._all_seen)
        except DriverError as error:
            if error.kind is Kind.STUCK:
                raise
            return NA

    def _known(self, uuid: CardUuid) -> Device:
        with self._lock:
            device = self._seen.get(uuid)
        if device is None:
            device = next((device for device in self.devices() if device.uuid == uuid), None)
        if device is None:
            raise _gone(uuid)
        return device


def _gone(uuid: CardUuid) -> DriverError:
    return DriverError(
        Kind.CARD_GONE, f"card {uuid} is not on this node any more", call="mthreads-gmi -q --json"
    )


def _name(card: QueriedCard) -> CardUuid:
    return CardUuid(f"mthreads-place-{card.index}") if isinstance(card.uuid, NotAvailable) else card.uuid


def _health(card: QueriedCard) -> Health:
    if isinstance(card.uuid, NotAvailable):
        return Health(healthy=False, code="unreadable", message=f"card {card.index} does not tell its UUID")
    if card.silent:
        return Health(
            healthy=False, code="unreadable", message=f"card {card.index} is listed and tells no figure"
        )
    return Health(healthy=True)


def _link(a: int, b: int, one: Device, other: Device, pairs: Mapping[tuple[int, int], Pair]) -> Link | None:
    pair = pairs.get((min(one.index, other.index), max(one.index, other.index)))
    level = level_between(one.pcie_path, other.pcie_path, one.numa, other.numa)
    if pair is not None and pair.level is not PcieLevel.UNKNOWN:
        level = pair.level
    if pair is not None and pair.lanes:
        return Link(a, b, LinkKind.MTLINK, level, pair.lanes)
    return None if level is PcieLevel.UNKNOWN else Link(a, b, LinkKind.NONE, level)
