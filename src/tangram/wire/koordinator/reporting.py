"""Our cards as Koordinator's own agents would report them: a `Device` object, or entries of a device-info file.

A cordoned card is reported unhealthy with a reason that says so: Koordinator has no other word for "no new tenants",
and keeps the present ones either way. A node with cards of both vendors is reported as one of its first card's vendor:
one label names the vendor of all entries, and numbers begin at 0 for each, so that a card of the other vendor would be
sold in the wrong words or under a number that is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from tangram.model.cards import Card, Vendor
from tangram.model.nodes import Node
from tangram.model.topology import Topology
from tangram.units.ids import LONGEST_LABEL, is_label_value
from tangram.units.quantity import Format, Quantity
from tangram.vendors.names import KOORDINATOR_CORE, KOORDINATOR_MEMORY, KOORDINATOR_RATIO
from tangram.wire.koordinator import names
from tangram.wire.koordinator.conditions import HEALTHY, Condition, health_condition, safe_reason
from tangram.wire.koordinator.device import Device, DeviceEntry
from tangram.wire.koordinator.device_info import DeviceInfo, PeerLinks
from tangram.wire.koordinator.groups import linked_groups
from tangram.wire.koordinator.partitions import Partition, encode_partitions
from tangram.wire.koordinator.whereabouts import CardNotes, Notes, places

_CORDONED = "an operator asked for no new tenants"
_LIBRARY_PREFIX = "MX"
"""The library says MXC500 where the vendor's page and tools, and so Koordinator's labels, say C500."""


def device_of(node: Node, *, now: str, before: Device | None = None, notes: Notes | None = None) -> Device:
    """The node as a `Device`. Raises `WireError` only for ids that cannot be written.

    A condition keeps its time for as long as its status does; `before` is the object as it stands.
    """
    node, notes = _of_one_vendor(node), notes or {}
    since = {
        (entry.id, condition.kind): condition
        for entry in (before.entries if before is not None else ())
        for condition in entry.conditions
    }
    entries = tuple(
        DeviceEntry(
            id=card.uuid,
            minor=card.index,
            health=_takes_tenants(card),
            resources={**_amounts(card), KOORDINATOR_RATIO: "100"},
            place=place,
            conditions=(_condition(card, notes, now, since.get((card.uuid, HEALTHY))),),
        )
        for card, place in zip(node.cards, places(node, notes), strict=True)
    )
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    if node.cards:
        labels = {names.LABEL_VENDOR: node.cards[0].vendor.value, names.LABEL_MODEL: _model(node.cards[0])}
    groups = linked_groups(node)
    if groups:
        annotations[names.GPU_PARTITIONS] = encode_partitions(_table(groups))
    if any(node.cards[0].index in group.minors for group in groups):
        # koordlet asks the first card alone. The policy is the same without the label.
        labels[names.LABEL_PARTITION_POLICY] = "Prefer"
    return Device(node=node.name, labels=labels, annotations=annotations, entries=entries)


def device_infos_of(node: Node, *, notes: Notes | None = None) -> tuple[DeviceInfo, ...]:
    """The node as entries of a device-info file.

    koordlet makes a label of the model and a condition's reason of the error code without a look at either, and one
    illegal character in them loses the whole `Device`; so both are legal here already.
    """
    node, notes = _of_one_vendor(node), notes or {}
    groups = linked_groups(node)
    return tuple(
        DeviceInfo(
            vendor=card.vendor.value,
            model=_model(card),
            uuid=card.uuid,
            minor=card.index,
            resources=_amounts(card),
            place=place,
            links=tuple(_links(card, groups)),
            healthy=_takes_tenants(card),
            error_code="" if _takes_tenants(card) else _reason(card, notes),
            error_message="" if _takes_tenants(card) else _message(card),
        )
        for card, place in zip(node.cards, places(node, notes), strict=True)
    )


def _of_one_vendor(node: Node) -> Node:
    kept = [at for at, card in enumerate(node.cards) if card.vendor is node.cards[0].vendor]
    if len(kept) == len(node.cards):
        return node
    place = {at: number for number, at in enumerate(kept)}
    links = (
        replace(link, a=place[link.a], b=place[link.b])
        for link in (node.topology.links if node.topology is not None else ())
        if link.a in place and link.b in place
    )
    topology = None if node.topology is None else Topology(len(kept), tuple(links))
    return replace(node, cards=tuple(node.cards[at] for at in kept), topology=topology)


def _takes_tenants(card: Card) -> bool:
    return card.healthy and not card.cordoned


def _amounts(card: Card) -> dict[str, str]:
    # Compute is in percent of a card here, whatever the vendor counts in.
    return {
        KOORDINATOR_CORE: "100",
        KOORDINATOR_MEMORY: Quantity.whole(card.memory, Format.BINARY_SI).canonical(),
    }


def _condition(card: Card, notes: Notes, now: str, before: Condition | None) -> Condition:
    healthy = _takes_tenants(card)
    kept = before is not None and before.status == str(healthy) and before.since
    return health_condition(
        healthy=healthy, since=kept or now, code=_reason(card, notes), message=_message(card)
    )


def _message(card: Card) -> str:
    return _CORDONED if card.healthy else card.health_reason


def _reason(card: Card, notes: Notes) -> str:
    if card.healthy:
        return "Cordoned"
    fault = notes.get(card.uuid, CardNotes()).fault
    if fault.startswith("ecc"):
        # Koordinator's own daemon says "ECC error", which is this once it is legal.
        return "ECCError"
    legal = safe_reason(fault)
    return legal[:1].upper() + legal[1:] if fault else "Unhealthy"


def _model(card: Card) -> str:
    text = card.product
    if card.vendor is Vendor.METAX:
        text = text.removeprefix(_LIBRARY_PREFIX)
    # "MTT S4000" is a product name and no label value.
    return (
        text if is_label_value(text) else re.sub(r"[^A-Za-z0-9_.]+", "-", text)[:LONGEST_LABEL].strip("-_.")
    )


def _table(groups: Iterable[Partition]) -> dict[int, tuple[Partition, ...]]:
    table: dict[int, tuple[Partition, ...]] = {}
    for group in groups:
        table[len(group.minors)] = (*table.get(len(group.minors), ()), group)
    return table


def _links(card: Card, groups: Iterable[Partition]) -> Iterator[PeerLinks]:
    """What koordlet makes a group of, each: the card with the peers that are named."""
    for group in groups:
        if card.index in group.minors:
            yield PeerLinks(tuple(minor for minor in group.minors if minor != card.index), group.link)
