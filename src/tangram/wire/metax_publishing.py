"""Our node's MetaX cards as the vendor's plugin would announce them, for schedulers that know nothing of us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tangram.engine import card_sets
from tangram.engine.layout import layout_of
from tangram.engine.usage import NOTHING, Hold
from tangram.engine.weights import METAX_WEIGHTS, PUBLISHED_WEIGHTS
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.topology import LinkKind, Topology
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import Bytes, floor_mib
from tangram.wire.metax_listing import ListedCard
from tangram.wire.metax_topology import LinkZone


class TopologyFigures(NamedTuple):
    """Per number of cards, up to those free now."""

    scores: dict[int, int]
    losses: dict[int, int]


def listing_of(
    cards: Sequence[Card],
    topology: Topology | None,
    held: Mapping[CardUuid, Hold],
    *,
    leaving: bool = False,
) -> tuple[ListedCard, ...]:
    """The entries of `node-gpu-devices`, in the order of the node's cards: those that are sliced, and no others.

    HAMi places slices on every card of this list whatever its `model` says, and a kubelet without the resource of
    slices starts such a pod without any card. Whole cards are announced by the count of their own resource.

    A card that takes no new tenants is announced as unhealthy, the only word other schedulers have for it: a cordoned
    one, and every card while the agent is `leaving`.
    """
    zones = _zones(len(cards), topology)
    return tuple(
        _listed(card, zone, held.get(card.uuid, NOTHING), healthy=_works(card) and not leaving)
        for card, zone in zip(cards, zones, strict=True)
        if card.vendor is Vendor.METAX and card.offered_sliced
    )


def figures_of(
    cards: Sequence[Card], topology: Topology | None, held: Mapping[CardUuid, Hold]
) -> TopologyFigures | None:
    """What a set of whole cards that are free now is worth, and costs the rest; None where nothing can be said.

    That is: no card is offered whole, the links are unknown, or there are more cards than can be weighed.
    """
    places = [at for at, card in enumerate(cards) if _is_whole(card)]
    if not places or topology is None:
        return None
    number = {at: place for place, at in enumerate(places)}
    links = tuple(
        replace(link, a=number[link.a], b=number[link.b])
        for link in topology.links
        if link.a in number and link.b in number
    )
    whole = tuple(cards[at] for at in places)
    part = Node(name=NodeName(""), cards=whole, topology=Topology(len(whole), links))
    layout = layout_of(part, PUBLISHED_WEIGHTS)
    if layout is None:
        return None
    free = sum(1 << place for place, card in enumerate(whole) if _is_free(card, held))
    return TopologyFigures(card_sets.scores(layout, free), card_sets.losses(layout, free))


def zones_of(
    cards: Sequence[Card], topology: Topology | None, held: Mapping[CardUuid, Hold]
) -> tuple[LinkZone, ...]:
    """The groups that MetaXLink joins, with the whole cards in each.

    A group is called after its number in the listing, whether or not others have whole cards too.
    """
    numbers = _zones(len(cards), topology)
    zones: list[LinkZone] = []
    for number in range(1, max(numbers, default=0) + 1):
        whole = [
            card for card, zone in zip(cards, numbers, strict=True) if zone == number and _is_whole(card)
        ]
        if whole:
            zones.append(
                LinkZone(
                    name=f"gpu-group-{number - 1}",
                    weight=METAX_WEIGHTS.link,
                    capacity=len(whole),
                    allocatable=sum(map(_works, whole)),
                    available=sum(_is_free(card, held) for card in whole),
                )
            )
    return tuple(zones)


def _is_whole(card: Card) -> bool:
    return card.vendor is Vendor.METAX and card.mode is CardMode.WHOLE


def _works(card: Card) -> bool:
    return card.healthy and not card.cordoned


def _is_free(card: Card, held: Mapping[CardUuid, Hold]) -> bool:
    return _works(card) and held.get(card.uuid, NOTHING) == NOTHING


def _listed(card: Card, zone: int, held: Hold, *, healthy: bool) -> ListedCard:
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
        healthy=healthy,
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
