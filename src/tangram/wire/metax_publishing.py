"""Our node's MetaX cards as the vendor's plugin would announce them, for schedulers that know nothing of us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tangram.engine.usage import NOTHING, Hold
from tangram.model.cards import Card, Vendor
from tangram.model.topology import LinkKind, Topology
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes, floor_mib
from tangram.wire.metax_listing import ListedCard


def listing_of(
    cards: Sequence[Card], topology: Topology | None, held: Mapping[CardUuid, Hold]
) -> tuple[ListedCard, ...]:
    """The entries of `node-gpu-devices`, in the order of the node's cards.

    A cordoned card is announced as unhealthy, the only word other schedulers have for "no new tenants".
    """
    zones = _zones(len(cards), topology)
    return tuple(
        _listed(card, zone, held.get(card.uuid, NOTHING))
        for card, zone in zip(cards, zones, strict=True)
        if card.vendor is Vendor.METAX
    )


def _listed(card: Card, zone: int, held: Hold) -> ListedCard:
    return ListedCard(
        uuid=card.uuid,
        bdf=card.bdf,
        model=card.mode.value,
        total_dev_count=card.slots,
        total_compute=card.cores,
        total_vram_mib=floor_mib(card.memory),
        available_dev_count=max(0, card.slots - held.slots),
        available_compute=max(0, card.cores - held.cores),
        available_vram_mib=floor_mib(Bytes(max(0, card.memory - held.memory))),
        numa=card.numa,
        healthy=card.healthy and not card.cordoned,
        qos_policy="" if card.announced_qos is None else card.announced_qos.value,
        link_zone=zone,
    )


def _zones(count: int, topology: Topology | None) -> list[int]:
    """Cards that MetaXLink joins, directly or through others, share a number from 1; the rest have 0."""
    lead = list(range(count))
    for link in topology.links if topology is not None else ():
        if link.kind is LinkKind.METAXLINK:
            low, high = sorted((lead[link.a], lead[link.b]))
            lead = [low if each == high else each for each in lead]
    joined = sorted({each for each in lead if lead.count(each) > 1})
    return [joined.index(each) + 1 if each in joined else 0 for each in lead]
