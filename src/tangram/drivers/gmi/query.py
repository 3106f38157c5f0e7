"""The JSON of `mthreads-gmi -q --json`: text in, records or a `ParseError` out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec

from tangram.drivers.gmi.values import ParseError, fields, measure, memory, percent, whole, word
from tangram.units.ids import CardUuid, card_uuid, pci_bus_id
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe, NotAvailable
from tangram.units.refusal import UnitError


class QueriedCard(msgspec.Struct, frozen=True, kw_only=True):
    index: int
    uuid: Maybe[CardUuid] = NA
    product: str = ""
    brand: str = ""
    bdf: str = ""
    serial: Maybe[str] = NA
    firmware: Maybe[str] = NA
    memory_total: Maybe[Bytes] = NA
    memory_used: Maybe[Bytes] = NA
    utilisation_percent: Maybe[float] = NA
    temperature_celsius: Maybe[float] = NA
    power_watts: Maybe[float] = NA
    power_cap_watts: Maybe[float] = NA
    clocks_mhz: dict[str, int] = {}

    @property
    def silent(self) -> bool:
        """Whether the card is listed and tells nothing at all about itself."""
        told = (self.memory_total, self.utilisation_percent, self.temperature_celsius, self.power_watts)
        return all(isinstance(figure, NotAvailable) for figure in told)


class Query(msgspec.Struct, frozen=True):
    driver_version: Maybe[str]
    cards: tuple[QueriedCard, ...]


def parse_query(text: str) -> Query:
    """The cards of the node, in the tool's order; indices may have gaps. Raises only `ParseError`."""
    root = fields(_decoded(text))
    listed = root.get("gpu")
    if isinstance(listed, dict):
        listed = [cast("object", listed)]
    if not isinstance(listed, list):
        raise ParseError("the answer has no list named GPU", text)
    entries = cast("Sequence[object]", listed)
    attached = whole(root.get("attached gpus"))
    if not entries and not isinstance(attached, NotAvailable) and attached > 0:
        raise ParseError(f"the answer counts {attached} cards and lists none")
    cards = tuple(_card(entry, place) for place, entry in enumerate(entries))
    uuids = [card.uuid for card in cards if not isinstance(card.uuid, NotAvailable)]
    if len(set(uuids)) < len(uuids):
        raise ParseError("the answer lists one UUID twice")
    return Query(word(root.get("driver version")), cards)


def _decoded(text: str) -> object:
    try:
        return cast("object", msgspec.json.decode(text.encode("utf-8", errors="replace")))
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise ParseError("the answer is no JSON", text) from error


def _card(entry: object, place: int) -> QueriedCard:
    card = fields(entry)
    if not card:
        raise ParseError("an entry of the list GPU has no keys", repr(entry))
    index = whole(card.get("index"))
    usage = fields(card.get("fb memory usage"))
    power = fields(card.get("power readings"))
    clocks = fields(card.get("clocks"))
    limit = measure(power.get("current power limit"), "W")
    return QueriedCard(
        index=place if isinstance(index, NotAvailable) else index,
        uuid=_uuid(card.get("gpu uuid")),
        product=_or_nothing(word(card.get("product name"))),
        brand=_or_nothing(word(card.get("product brand"))),
        bdf=_bdf(fields(card.get("pci")).get("bus id")),
        serial=word(card.get("serial number")),
        firmware=word(card.get("mtbios version")),
        memory_total=memory(usage.get("total")),
        memory_used=memory(usage.get("used")),
        utilisation_percent=percent(fields(card.get("utilization")).get("gpu")),
        temperature_celsius=measure(fields(card.get("temperature")).get("gpu current temp"), "C"),
        power_watts=measure(power.get("power draw"), "W"),
        power_cap_watts=measure(power.get("power limit"), "W") if isinstance(limit, NotAvailable) else limit,
        clocks_mhz={
            ours: int(clock)
            for ours, theirs in (("gpu", "graphics"), ("memory", "memory"), ("video", "video"))
            if not isinstance(clock := measure(clocks.get(theirs), "MHz"), NotAvailable)
        },
    )


def _uuid(value: object) -> Maybe[CardUuid]:
    found = word(value)
    try:
        return NA if isinstance(found, NotAvailable) else card_uuid(found)
    except UnitError:
        return NA


def _bdf(value: object) -> str:
    found = word(value)
    try:
        return "" if isinstance(found, NotAvailable) else pci_bus_id(found)
    except UnitError:
        return ""


def _or_nothing(found: Maybe[str]) -> str:
    return "" if isinstance(found, NotAvailable) else found
