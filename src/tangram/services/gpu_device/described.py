"""This node's cards as they are described to others: what placement knows of them, and what only a driver does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tangram.drivers.pcie import root_complex
from tangram.model.cards import Card
from tangram.model.nodes import Node
from tangram.services.gpu_device.records import Inventory
from tangram.units.ids import CardUuid
from tangram.wire.koordinator.whereabouts import CardNotes


class Described(msgspec.Struct, frozen=True):
    node: Node
    notes: dict[CardUuid, CardNotes]


def described_node(inventory: Inventory, cards: Sequence[Card], faults: Mapping[CardUuid, str]) -> Described:
    """The cards, which may be in another state than the inventory has them in, each with what is noted of it."""
    paths = {device.uuid: device.pcie_path for device in inventory.devices}
    return Described(
        Node(name=inventory.node, cards=tuple(cards), topology=inventory.topology, managed=True),
        {
            card.uuid: CardNotes(root_complex(paths.get(card.uuid, ())), faults.get(card.uuid, ""))
            for card in cards
        },
    )
