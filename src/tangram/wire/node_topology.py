"""The links between a node's cards, put together from whoever reports a part of them.

The sGPU plugin says which cards share a MetaXLink zone and nothing of PCIe; a `Device` says which share a PCIe root
and, in its partition table, which are linked. Where nobody says anything the answer is None: unknown is not unlinked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from tangram.model.cards import Card
from tangram.model.topology import Link, LinkKind, PcieLevel, Topology
from tangram.units.ids import CardUuid
from tangram.wire.errors import WireError
from tangram.wire.koordinator import names
from tangram.wire.koordinator.device import Device, DevicePlace
from tangram.wire.koordinator.partitions import decode_partitions
from tangram.wire.node_facts import NodeFacts

_LINK_WORDS = {names.METAXLINK: LinkKind.METAXLINK, names.MTLINK: LinkKind.MTLINK}


def topology_of(
    facts: NodeFacts, cards: Sequence[Card], zones: Mapping[CardUuid, int], device: Device | None
) -> Topology | None:
    """What joins every pair of cards, as far as it is known."""
    places = _places(device, cards)
    linked = _linked_minors(facts, device)
    if not zones and not places and not linked:
        return None
    links: list[Link] = []
    for a, b in combinations(range(len(cards)), 2):
        one, other = cards[a], cards[b]
        kind = linked.get((min(one.index, other.index), max(one.index, other.index)), LinkKind.NONE)
        if one.uuid in zones and zones[one.uuid] == zones.get(other.uuid):
            kind = LinkKind.METAXLINK
        pcie = _level(places[a], places[b]) if places else PcieLevel.UNKNOWN
        if kind is not LinkKind.NONE or pcie is not PcieLevel.UNKNOWN:
            links.append(Link(a, b, kind, pcie))
    return Topology(len(cards), tuple(links))


def _places(device: Device | None, cards: Sequence[Card]) -> list[DevicePlace]:
    """Where each card sits; nothing at all unless every card has a place, as in Koordinator's own tree."""
    known = {entry.id: entry.place for entry in device.entries} if device is not None else {}
    places = [place for card in cards if (place := known.get(card.uuid)) is not None and place.pcie]
    return places if len(places) == len(cards) else []


def _level(one: DevicePlace, other: DevicePlace) -> PcieLevel:
    # What is reported is the root complex, so two cards of one root meet at its host bridge at the latest.
    if one.pcie == other.pcie:
        return PcieLevel.HOST_BRIDGE
    if one.numa < 0 or other.numa < 0:
        return PcieLevel.UNKNOWN
    return PcieLevel.NUMA_NODE if one.numa == other.numa else PcieLevel.SYSTEM


def _linked_minors(facts: NodeFacts, device: Device | None) -> dict[tuple[int, int], LinkKind]:
    written = device.annotations.get(names.GPU_PARTITIONS, "") if device is not None else ""
    if not written.strip():
        return {}
    try:
        table = decode_partitions(written)
    except WireError as error:
        facts.complain(error.code, error.sentence)
        return {}
    linked: dict[tuple[int, int], LinkKind] = {}
    for groups in table.values():
        for group in groups:
            kind = _LINK_WORDS.get(group.link)
            if kind is not None and len(group.minors) <= 16:
                linked.update(dict.fromkeys(combinations(sorted(group.minors), 2), kind))
    return linked
