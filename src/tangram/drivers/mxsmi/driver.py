"""Cards as `mx-smi` prints them, behind the interface every driver has.

The list (`-L`) is the one answer that must be understood; every other command adds figures, and one that fails or
prints something new costs its figures only. Facts that cannot change while a card stays in place are asked for once.
Of a card that the tool cannot use it prints an address and a reason; name and slicing come from the kernel's files
then, so that the pods of such a card still find it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsmi import json_report, listing, matrix, sections, sgpu_sections, summary_table
from tangram.drivers.mxsmi.assembling import Facts, card_health, device_from, figures_from, slice_from
from tangram.drivers.mxsmi.listing import ListedCard, parse_listing
from tangram.drivers.mxsmi.text import ParseError, shown
from tangram.drivers.mxsmi.tool import LIMIT, Tool
from tangram.drivers.pcie import level_between
from tangram.drivers.read_only import ReadOnly
from tangram.drivers.sysfs.files import Files
from tangram.drivers.sysfs.pci import DEVICES, read_function
from tangram.drivers.sysfs.smi_files import sliced_in
from tangram.drivers.sysfs.unusable_cards import slicing_at, uuid_by_place
from tangram.drivers.unusable import uuid_at
from tangram.drivers.watchdog import Watchdog
from tangram.model.devices import Device, Figures, Health, LinkReport, Slice, SliceRoom
from tangram.model.topology import PcieLevel
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.na import NA, NotAvailable, known
from tangram.vendors.metax.products import MOST_SLICES

NAME: Final = "mx-smi"
FRESH: Final = 1.0
"""Seconds for which an answer about all cards serves the questions about each of them."""

_Parsed = TypeVar("_Parsed")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    binary: str | None = None
    limit: float = LIMIT
    sysfs_root: str = "/sys"
    """Read for what the tool does not print: where cards sit on PCIe, their virtual functions, and what an unusable
    card is called and offers."""


class MxSmiDriver(ReadOnly):
    means = "mx-smi"

    def __init__(
        self, tool: Tool, settings: Settings | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tool = tool
        self._watchdog = Watchdog(NAME)
        self._files = Files(Path((settings or Settings()).sysfs_root))
        self._clock = clock
        self._lock = threading.RLock()
        self._answers: dict[str, tuple[float, str]] = {}
        self._facts: tuple[tuple[tuple[str, str], ...], dict[str, Facts]] = ((), {})
        self._seen: dict[str, CardUuid] = {}
        """The uuid of each bus address, from the tool, or from the kernel where the tool never told it."""

    @property
    def name(self) -> str:
        return NAME

    def devices(self) -> Sequence[Device]:
        with self._lock:
            cards = self._listed()
            if not cards:
                raise _nothing_listed(self._printed(listing.COMMAND))
            facts = self._facts_of(cards)
            return tuple(device_from(card, self._uuid(card.bdf), facts[card.bdf]) for card in cards)

    def links(self, devices: Sequence[Device]) -> LinkReport:
        with self._lock:
            found = self._optional(matrix.COMMAND, matrix.parse_matrix)
            if found is None:
                return LinkReport()
            # In a container only some cards are in the matrix, numbered anew; then nobody knows which is which.
            listed = [card for card in self._listed() if card.available]
            if found.cards != tuple(range(len(listed))):
                return LinkReport()
            position = {self._seen[card.bdf]: at for at, card in enumerate(listed)}
            pairs = {(link.a, link.b): link for link in found.links()}
            links = [
                msgspec.structs.replace(pairs[min(one, other), max(one, other)], a=a, b=b)
                for a, first in enumerate(devices)
                for b, second in enumerate(devices)
                if a < b
                and (one := position.get(first.uuid)) is not None
                and (other := position.get(second.uuid)) is not None
            ]
            # The matrix says MX instead of how far apart two linked cards are on PCIe; their addresses tell.
            return LinkReport(
                known=True,
                links=tuple(
                    link
                    if link.pcie is not PcieLevel.UNKNOWN
                    else msgspec.structs.replace(link, pcie=_level(devices[link.a], devices[link.b]))
                    for link in links
                ),
            )

    def figures(self, uuid: CardUuid) -> Figures:
        with self._lock:
            card = self._card(uuid)
            report = self._optional(json_report.COMMAND, json_report.parse_report)
            memory = self._block(sections.MEMORY, card.bdf)
            power = self._block(sections.POWER, card.bdf)
            # The table is made for eyes, so it is asked only where one of the others has failed.
            whole = report is not None and memory is not None and power is not None
            table = None if whole else self._optional(summary_table.COMMAND, summary_table.parse_table)
            ecc = self._block(sections.ECC, card.bdf)
            return figures_from(
                None if report is None else report.cards.get(card.bdf),
                None if table is None else table.cards.get(card.bdf),
                None if memory is None else sections.memory_in(memory),
                None if power is None else sections.power_in(power),
                None if ecc is None else sections.ecc_in(ecc),
            )

    def health(self) -> Mapping[CardUuid, Health]:
        with self._lock:
            listed = self._listed()
            found: dict[CardUuid, Health] = {}
            for card in listed:
                ecc = self._block(sections.ECC, card.bdf) if card.available else None
                found[self._uuid(card.bdf)] = card_health(card, None if ecc is None else sections.ecc_in(ecc))
            present = {card.bdf for card in listed}
            for bdf, uuid in self._seen.items():
                if bdf not in present:
                    found[uuid] = Health(
                        healthy=False, code="card-gone", message=f"mx-smi lists nothing at {bdf} any more"
                    )
            return found

    def slices(self, uuid: CardUuid) -> Sequence[Slice]:
        with self._lock:
            card = self._card(uuid)
            _require_usable(card)
            report = self._optional(json_report.COMMAND, json_report.parse_report)
            reported = None if report is None else report.cards.get(card.bdf)
            live = {} if reported is None else {each.id: each for each in reported.slices}
            told = all(
                each.id in live and live[each.id].utilisation_percent is not NA for each in card.slices
            )
            block = None if told else self._block(sgpu_sections.USAGE, card.bdf)
            usage = {} if block is None else sgpu_sections.usage_in(block)
            return tuple(
                slice_from(uuid, each, live.get(each.id), usage.get(each.id, NA)) for each in card.slices
            )

    def room(self, uuid: CardUuid) -> SliceRoom:
        with self._lock:
            card = self._card(uuid)
            _require_usable(card)
            facts = self._facts_of([card])[card.bdf]
            left = self._remaining(card.bdf)
            total = left.memory if isinstance(facts.memory, NotAvailable) else facts.memory
            if isinstance(total, NotAvailable):
                raise DriverError(
                    Kind.NOT_SUPPORTED, f"mx-smi does not say how much memory {uuid} has", call="room"
                )
            if facts.sliced is False and not card.slices:
                return SliceRoom(0, Bytes(0), 0)
            block = self._block(sgpu_sections.POLICY, card.bdf)
            given = sum(each.memory for each in card.slices), sum(each.cores for each in card.slices)
            return SliceRoom(
                slots=max(0, MOST_SLICES - len(card.slices)),
                memory=known(left.memory, Bytes(max(0, total - given[0]))),
                cores=known(left.cores, max(0, 100 - given[1])),
                policy=NA if block is None else sgpu_sections.policy_in(block),
            )

    def close(self) -> None:
        self._watchdog.close()

    def _listed(self) -> tuple[ListedCard, ...]:
        cards = self._required(listing.COMMAND, parse_listing)
        self._seen.update({card.bdf: CardUuid(card.uuid) for card in cards if card.uuid})
        for card in cards:
            if card.bdf not in self._seen:
                uuid = self._from_kernel(lambda card=card: uuid_by_place(self._files, card.bdf), "unique_id")
                if not isinstance(uuid, NotAvailable):
                    self._seen[card.bdf] = uuid
        return cards

    def _uuid(self, bdf: str) -> CardUuid:
        """A card that neither the tool nor the kernel names is called after its bus address."""
        return self._seen.get(bdf, uuid_at(bdf))

    def _from_kernel(self, read: Callable[[], _Parsed], what: str) -> _Parsed:
        # These files are the vendor's driver's, and reading one may hang with its card.
        return self._watchdog.run(read, call=f"{self._files.root}: {what}")

    def _card(self, uuid: CardUuid) -> ListedCard:
        for card in self._listed():
            if self._uuid(card.bdf) == uuid:
                return card
        raise DriverError(Kind.CARD_GONE, f"mx-smi lists no card {str(uuid)!r:.80}", call="mx-smi -L")

    def _facts_of(self, cards: Sequence[ListedCard]) -> dict[str, Facts]:
        """What cannot change while the same cards are in the same places."""
        everything = tuple(sorted(self._seen.items()))
        read_for, facts = self._facts
        if read_for != everything:
            facts = {}
        for card in cards:
            if card.bdf not in facts:
                facts[card.bdf] = self._read_facts(card)
        self._facts = (everything, facts)
        return {card.bdf: self._with_slicing(facts[card.bdf], card) for card in cards}

    def _with_slicing(self, facts: Facts, card: ListedCard) -> Facts:
        """The switch to slices does change, and with it what can be sliced."""
        if not card.available:
            slicing = self._from_kernel(lambda: slicing_at(self._files, card.bdf), f"{card.bdf}/model")
            return msgspec.structs.replace(facts, sliced=slicing.sliced, sliceable=slicing.sliceable)
        sliced = True if card.slices else self._sliced(card.bdf)
        sliceable = self._remaining(card.bdf).sliceable if sliced is True else NA
        return msgspec.structs.replace(facts, sliced=sliced, sliceable=sliceable)

    def _remaining(self, bdf: str) -> sgpu_sections.Remaining:
        block = self._block(sgpu_sections.REMAIN, bdf)
        return sgpu_sections.Remaining() if block is None else sgpu_sections.remaining_in(block)

    def _read_facts(self, card: ListedCard) -> Facts:
        hardware = self._block(sections.HARDWARE, card.bdf)
        memory = self._block(sections.MEMORY, card.bdf)
        versions = self._block(sections.VERSION, card.bdf)
        system = self._block(sections.SYSTEM, card.bdf)
        found = self._optional(matrix.COMMAND, matrix.parse_matrix)
        function = read_function(self._files, card.bdf)
        numa = NA if function is None else function.numa
        if isinstance(numa, NotAvailable) and found is not None and card.index in found.cards:
            numa = found.numa[found.cards.index(card.index)]
        return Facts(
            hardware=sections.Hardware() if hardware is None else sections.hardware_in(hardware),
            total=NA if memory is None else sections.memory_in(memory).total,
            versions=sections.Versions() if versions is None else sections.versions_in(versions),
            nodes=sections.SystemNodes() if system is None else sections.nodes_in(system),
            numa=numa,
            function=function,
        )

    def _sliced(self, bdf: str) -> bool | NotAvailable:
        function = self._files.root / DEVICES / bdf
        switch = self._from_kernel(lambda: sliced_in(self._files, function), f"{bdf}/model")
        if not isinstance(switch, NotAvailable):
            return switch
        block = self._block(sgpu_sections.MODE, bdf)
        switch = NA if block is None else sgpu_sections.sliced_in(block)
        if not isinstance(switch, NotAvailable):
            return switch
        table = self._optional(summary_table.COMMAND, summary_table.parse_table)
        card = None if table is None else table.cards.get(bdf)
        return NA if card is None else card.sliced

    def _block(self, command: str, bdf: str) -> sections.Block | None:
        blocks = self._optional(command, lambda text: sections.parse_blocks(text, command))
        return None if blocks is None else blocks.get(bdf)

    def _optional(self, command: str, parse: Callable[[str], _Parsed]) -> _Parsed | None:
        """What a command says, or None where it fails; a command that hangs is never passed over."""
        try:
            return self._required(command, parse)
        except DriverError as error:
            if error.kind is Kind.STUCK:
                raise
            return None

    def _required(self, command: str, parse: Callable[[str], _Parsed]) -> _Parsed:
        text = self._printed(command)
        try:
            return parse(text)
        except ParseError as error:
            unknown = "PARSE ERROR" in text
            raise DriverError(
                Kind.NOT_SUPPORTED if unknown else Kind.FAILED,
                f"{error}",
                call=f"mx-smi {command}".strip(),
                vendor_text=" ".join(text.split())[-200:],
            ) from error

    def _printed(self, command: str) -> str:
        now = self._clock()
        asked, text = self._answers.get(command, (now - 2 * FRESH, ""))
        if now - asked >= FRESH:
            text = self._tool.run(command.split()).text
            self._answers[command] = (now, text)
        return text


def _require_usable(card: ListedCard) -> None:
    """A slice that the tool does not list of a card that it cannot use is not gone: nobody knows."""
    if not card.available and not card.uuid:
        reason = card.reason or "mx-smi says it is not available"
        raise DriverError(
            Kind.FAILED,
            f"card {card.index} at {card.bdf} cannot be asked for its slices: {reason}",
            call="mx-smi -L",
        )


def _nothing_listed(printed: str) -> DriverError:
    lines = [line.strip() for line in printed.splitlines() if line.strip() and "version:" not in line]
    said = f"; it printed {shown(lines[-1])}" if lines else ""
    return DriverError(Kind.NO_DRIVER, f"mx-smi lists no card that can be used here{said}", call="mx-smi -L")


def _level(one: Device, other: Device) -> PcieLevel:
    return level_between(one.pcie_path, other.pcie_path, one.numa, other.numa)
