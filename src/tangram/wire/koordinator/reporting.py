"""Our cards as Koordinator's own agents would report them: a `Device` object, or entries of a device-info file.

A cordoned card is reported unhealthy with a reason that says so: Koordinator has no other word for "no new tenants",
and keeps the present ones either way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tangram.model.cards import Card
from tangram.model.nodes import Node
from tangram.model.topology import LinkKind, PcieLevel, Topology
from tangram.units.ids import LONGEST_LABEL, is_label_value
from tangram.units.quantity import Format, Quantity
from tangram.vendors.names import KOORDINATOR_CORE, KOORDINATOR_MEMORY, KOORDINATOR_RATIO
from tangram.wire.koordinator import names
from tangram.wire.koordinator.conditions import HEALTHY, Condition, health_condition
from tangram.wire.koordinator.device import Device, DeviceEntry, DevicePlace
from tangram.wire.koordinator.device_info import DeviceInfo, PeerLinks
from tangram.wire.koordinator.partitions import Partition, encode_partitions

_LINK_WORDS = {LinkKind.METAXLINK: names.METAXLINK, LinkKind.MTLINK: names.MTLINK}


def device_of(node: Node, *, now: str, before: Device | None = None) -> Device:
    """The node as a `Device`. Raises `WireError` only for ids that cannot be written.

    A condition keeps its time for as long as its status does; `before` is the object as it stands.
    """
    since = {
        (entry.id, condition.kind): condition
        for entry in (before.entries if before is not None else ())
        for condition in entry.conditions
    }
    places = _places(node)
    entries = tuple(
        DeviceEntry(
            id=card.uuid,
            minor=card.index,
            health=card.healthy and not card.cordoned,
            resources={**_amounts(card), KOORDINATOR_RATIO: "100"},
            place=place,
            conditions=(_condition(card, now, since.get((card.uuid, HEALTHY))),),
        )
        for card, place in zip(node.cards, places, strict=True)
    )
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    if node.cards:
        labels = {
            names.LABEL_VENDOR: node.cards[0].vendor.value,
            names.LABEL_MODEL: _label(node.cards[0].product),
        }
    groups = _groups(node)
    if groups:
        labels[names.LABEL_PARTITION_POLICY] = "Prefer"
        annotations[names.GPU_PARTITIONS] = encode_partitions(groups)
    return Device(node=node.name, labels=labels, annotations=annotations, entries=entries)


def device_infos_of(node: Node) -> tuple[DeviceInfo, ...]:
    """The node as entries of a device-info file."""
    peers = _peers(node)
    return tuple(
        DeviceInfo(
            vendor=card.vendor.value,
            model=card.product,
            uuid=card.uuid,
            minor=card.index,
            resources=_amounts(card),
            place=place,
            links=tuple(PeerLinks(minors, kind) for kind, minors in peers.get(at, {}).items()),
            healthy=card.healthy and not card.cordoned,
            error_code="" if card.healthy and not card.cordoned else _fault(card),
            error_message="" if card.healthy else card.health_reason,
        )
        for at, (card, place) in enumerate(zip(node.cards, _places(node), strict=True))
    )


def _amounts(card: Card) -> dict[str, str]:
    # Compute is in percent of a card here, whatever the vendor counts in.
    return {
        KOORDINATOR_CORE: "100",
        KOORDINATOR_MEMORY: Quantity.whole(card.memory, Format.BINARY_SI).canonical(),
    }


def _condition(card: Card, now: str, before: Condition | None) -> Condition:
    healthy = card.healthy and not card.cordoned
    message = card.health_reason if not card.healthy else "an operator asked for no new tenants"
    kept = before is not None and before.status == str(healthy) and before.since
    return health_condition(healthy=healthy, since=kept or now, code=_fault(card), message=message)


def _fault(card: Card) -> str:
    return "Unhealthy" if not card.healthy else "Cordoned"


def _places(node: Node) -> list[DevicePlace | None]:
    """Where each card sits. Cards below one host bridge share a name, which is all that Koordinator compares."""
    if node.topology is None and not any(card.bdf or card.numa >= 0 for card in node.cards):
        return [None for _ in node.cards]
    roots = list(range(len(node.cards)))
    for link in node.topology.links if node.topology is not None else ():
        if link.pcie <= PcieLevel.HOST_BRIDGE:
            low, high = sorted((roots[link.a], roots[link.b]))
            roots = [low if root == high else root for root in roots]
    return [
        DevicePlace(
            numa=card.numa,
            # Without a topology nothing is known to be apart, and different names would say that it is.
            pcie="" if node.topology is None else _root_name(node.cards[root]),
            bus_id=card.bdf,
        )
        for card, root in zip(node.cards, roots, strict=True)
    ]


def _root_name(card: Card) -> str:
    domain_and_bus = card.bdf.rpartition(":")[0]
    return f"pci{domain_and_bus}" if domain_and_bus else f"pci-{card.index}"


def _label(text: str) -> str:
    # "MTT S4000" is a product name and no label value.
    return (
        text if is_label_value(text) else re.sub(r"[^A-Za-z0-9_.]+", "-", text)[:LONGEST_LABEL].strip("-_.")
    )


def _peers(node: Node) -> Mapping[int, Mapping[str, tuple[int, ...]]]:
    """By position of the card, the minors it is directly joined to, for each kind of link."""
    topology = node.topology or Topology(0)
    found: dict[int, dict[str, tuple[int, ...]]] = {}
    for link in topology.links:
        word = _LINK_WORDS.get(link.kind)
        if word is None:
            continue
        for here, there in ((link.a, link.b), (link.b, link.a)):
            joined = found.setdefault(here, {})
            joined[word] = tuple(sorted((*joined.get(word, ()), node.cards[there].index)))
    return found


def _groups(node: Node) -> dict[int, tuple[Partition, ...]]:
    """Each card with all it is joined to, once: the table koordlet would make of our device-info file."""
    groups: dict[tuple[int, ...], Partition] = {}
    for at, joined in sorted(_peers(node).items()):
        for word, minors in joined.items():
            group = tuple(sorted((*minors, node.cards[at].index)))
            groups[group] = Partition(minors=group, link=word, score=1)
    table: dict[int, tuple[Partition, ...]] = {}
    for group, partition in groups.items():
        table[len(group)] = (*table.get(len(group), ()), partition)
    return table
