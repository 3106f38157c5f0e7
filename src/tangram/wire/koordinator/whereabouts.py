"""Where each card of a node sits, in the four fields that Koordinator has for it: socket, NUMA node, PCIe root, bus.

Koordinator compares roots and never reads them, so cards below one root complex must share a name and others must not.
The kernel's own name is taken where a driver has read it, as koord-device-daemon does. Nothing is guessed to be apart.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tangram.model.cards import Card
from tangram.model.nodes import Node
from tangram.model.topology import PcieLevel
from tangram.units.ids import CardUuid
from tangram.wire.koordinator.device import DevicePlace


class CardNotes(msgspec.Struct, frozen=True):
    """What a driver knows of a card and placement never asks for."""

    root: str = ""
    """The PCI root complex above it, such as `pci0000:0a`; empty where no driver can tell."""
    fault: str = ""
    """The stable word for what is wrong with it, such as `ecc-uncorrected`."""


Notes = Mapping[CardUuid, CardNotes]


def places(node: Node, notes: Notes) -> list[DevicePlace | None]:
    """Where each card sits; None for all of them where nothing at all is known."""
    if node.topology is None and not any(
        card.bdf or card.numa >= 0 or _read(card, notes) for card in node.cards
    ):
        return [None for _ in node.cards]
    return [
        DevicePlace(numa=card.numa, pcie=root, bus_id=card.bdf)
        for card, root in zip(node.cards, _roots(node, notes), strict=True)
    ]


def _roots(node: Node, notes: Notes) -> list[str]:
    """The root complex of each card as the kernel names it; where no driver read it, one name for those that share it.

    Such a name is made of the first card's own bus, which is below the root's: it tells cards apart as the true name
    would, and is not it. Without a topology nothing is known to be apart, and different names would say that it is.
    """
    read = [_read(card, notes) for card in node.cards]
    if all(read) or node.topology is None:
        return read if all(read) else ["" for _ in read]
    first = list(range(len(node.cards)))
    for link in node.topology.links:
        if link.pcie <= PcieLevel.HOST_BRIDGE:
            low, high = sorted((first[link.a], first[link.b]))
            first = [low if each == high else each for each in first]
    named = {first[at]: root for at, root in enumerate(read) if root}
    return [root or named.get(first[at]) or _stand_in(node.cards[first[at]]) for at, root in enumerate(read)]


def _read(card: Card, notes: Notes) -> str:
    return notes.get(card.uuid, CardNotes()).root


def _stand_in(card: Card) -> str:
    domain_and_bus = card.bdf.rpartition(":")[0]
    return f"pci{domain_and_bus}" if domain_and_bus else f"pci-{card.index}"
