"""How the cards of this machine are joined, as data: the answer of `tangram topology`.

The pairs come from the driver. What a set of cards is worth comes from the engine, with the weights that are published,
so the figures are those of a node's annotations. They assume that every healthy card is free: this machine's drivers do
not know what a scheduler has promised.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from tangram.cli.hardware.report import TroubleReport, troubles_of
from tangram.drivers.inventory import cards_of
from tangram.drivers.pcie import WORD_OF_LEVEL
from tangram.drivers.snapshot import Snapshot
from tangram.engine.card_sets import best_score, least_loss
from tangram.engine.layout import layout_of
from tangram.engine.weights import PUBLISHED_WEIGHTS
from tangram.model.cards import Card
from tangram.model.devices import Device
from tangram.model.nodes import Node
from tangram.model.topology import Link, LinkKind, PcieLevel, Topology
from tangram.units.ids import NodeName
from tangram.units.memory import Bytes
from tangram.units.na import Maybe

VERSION: Final = "topology/v1"
SELF: Final = "X"
UNKNOWN: Final = "NA"
LINK_NAMES: Final = {LinkKind.METAXLINK: "MetaXLink", LinkKind.MTLINK: "MTLink"}


class PlacedCard(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    index: int
    vendor: str
    product: str
    uuid: str
    bdf: str
    numa: Maybe[int]
    memory: Maybe[Bytes]
    healthy: bool


class LinkGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Cards that reach each other over direct links."""

    kind: str
    cards: tuple[str, ...]
    complete: bool
    """Every pair is joined; in a ring or a chain only neighbours are."""
    lanes: int = 1
    """Most parallel links between two of them."""

    @property
    def words(self) -> str:
        return self.kind if self.lanes == 1 else f"{self.lanes} x {self.kind}"


class RequestSize(msgspec.Struct, frozen=True, kw_only=True):
    cards: int
    score: int
    best: tuple[str, ...]
    """The cards with that score."""
    loss: int
    cheapest: tuple[str, ...]
    """The cards with that loss."""


class VendorSizes(msgspec.Struct, frozen=True, kw_only=True):
    vendor: str
    sizes: tuple[RequestSize, ...]


class TopologyReport(msgspec.Struct, frozen=True, kw_only=True):
    tangram: str = VERSION
    driver: str
    known: bool
    """Whether the driver could say how the cards are joined."""
    cards: tuple[PlacedCard, ...]
    matrix: tuple[tuple[str, ...], ...]
    links: tuple[Link, ...]
    """By position in `cards`."""
    groups: tuple[LinkGroup, ...]
    requests: tuple[VendorSizes, ...]
    troubles: list[TroubleReport]


def report_of(snapshot: Snapshot) -> TopologyReport:
    """The snapshot's pairs, groups and the worth of sets."""
    devices = [reading.device for reading in snapshot.cards]
    labels = labels_of(devices)
    health = {reading.device.uuid: reading.health for reading in snapshot.cards if reading.health is not None}
    cards = cards_of(devices, health)
    inside = (link for link in snapshot.links.links if 0 <= link.a < link.b < len(devices))
    links = tuple(sorted(inside, key=lambda link: (link.a, link.b)))
    return TopologyReport(
        driver=snapshot.driver,
        known=snapshot.links.known,
        cards=tuple(
            PlacedCard(
                label=label,
                index=device.index,
                vendor=device.vendor,
                product=device.product,
                uuid=device.uuid,
                bdf=device.bdf,
                numa=device.numa,
                memory=device.memory,
                healthy=card.healthy,
            )
            for device, card, label in zip(devices, cards, labels, strict=True)
        ),
        matrix=_matrix(len(devices), links),
        links=links,
        groups=_groups(labels, links),
        requests=_requests(cards, labels, links) if snapshot.links.known else (),
        troubles=troubles_of(snapshot.troubles),
    )


def labels_of(devices: Sequence[Device]) -> tuple[str, ...]:
    """`GPU0` and so on, as the vendors' tools write; with the vendor's name where two of them count from 0."""
    indices = [device.index for device in devices]
    unique = len(set(indices)) == len(indices)
    return tuple(f"GPU{each.index}" if unique else f"{each.vendor}{each.index}" for each in devices)


def word_of(link: Link) -> str:
    """The pair in the words of the vendors' matrices."""
    if link.kind is LinkKind.METAXLINK:
        return "MX"
    if link.kind is LinkKind.MTLINK:
        return f"MT{link.lanes}"
    # Two chips of one board meet below any switch; the tools have no word of their own for it.
    return "PIX" if link.pcie is PcieLevel.INTERNAL else WORD_OF_LEVEL.get(link.pcie, UNKNOWN)


def components(size: int, pairs: Iterable[tuple[int, int]]) -> list[tuple[int, ...]]:
    """The sets of positions that the pairs join, singles included, in order of their first member."""
    home = list(range(size))
    for a, b in pairs:
        low, high = sorted((home[a], home[b]))
        home = [low if each == high else each for each in home]
    return [tuple(at for at in range(size) if home[at] == lead) for lead in sorted(set(home))]


def _matrix(size: int, links: Sequence[Link]) -> tuple[tuple[str, ...], ...]:
    words = [[SELF if row == column else UNKNOWN for column in range(size)] for row in range(size)]
    for link in links:
        words[link.a][link.b] = words[link.b][link.a] = word_of(link)
    return tuple(tuple(row) for row in words)


def _groups(labels: Sequence[str], links: Sequence[Link]) -> tuple[LinkGroup, ...]:
    found: list[LinkGroup] = []
    for kind, name in LINK_NAMES.items():
        pairs = {(link.a, link.b): link.lanes for link in links if link.kind is kind}
        for members in components(len(labels), sorted(pairs)):
            if len(members) > 1:
                inside = [lanes for (a, b), lanes in pairs.items() if a in members and b in members]
                found.append(
                    LinkGroup(
                        kind=name,
                        cards=tuple(labels[at] for at in members),
                        complete=len(inside) == len(members) * (len(members) - 1) // 2,
                        lanes=max(inside),
                    )
                )
    return tuple(found)


def _requests(cards: Sequence[Card], labels: Sequence[str], links: Sequence[Link]) -> tuple[VendorSizes, ...]:
    """Per vendor, because a request is always for cards of one."""
    found: list[VendorSizes] = []
    for vendor in sorted({card.vendor for card in cards}):
        mine = [at for at, card in enumerate(cards) if card.vendor is vendor]
        place = {at: position for position, at in enumerate(mine)}
        topology = Topology(
            len(mine),
            tuple(
                msgspec.structs.replace(link, a=place[link.a], b=place[link.b])
                for link in links
                if link.a in place and link.b in place
            ),
        )
        node = Node(name=NodeName("here"), cards=tuple(cards[at] for at in mine), topology=topology)
        sizes = _sizes(node, [labels[at] for at in mine])
        if sizes:
            found.append(VendorSizes(vendor=vendor, sizes=sizes))
    return tuple(found)


def _sizes(node: Node, labels: Sequence[str]) -> tuple[RequestSize, ...]:
    layout = layout_of(node, PUBLISHED_WEIGHTS)
    if layout is None:
        return ()
    free = sum(1 << at for at, card in enumerate(node.cards) if card.healthy)
    found: list[RequestSize] = []
    for count in range(1, free.bit_count() + 1):
        best, cheapest = best_score(layout, free, count), least_loss(layout, free, count)
        if best is not None and cheapest is not None:
            found.append(
                RequestSize(
                    cards=count,
                    score=best.score,
                    best=_named(best.mask, labels),
                    loss=cheapest.loss,
                    cheapest=_named(cheapest.mask, labels),
                )
            )
    return tuple(found)


def _named(mask: int, labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(label for at, label in enumerate(labels) if mask >> at & 1)
