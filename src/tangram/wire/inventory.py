"""Our own inventory annotation, by which a node's agent tells the scheduler everything it knows about its cards.

No peer has a format for links, tiers and modes of cards together, so this one is ours: compact JSON, versioned, with
what has its usual value left out. Unknown members are ignored and an unknown version is refused: an agent that is
newer than its scheduler may add facts, but may not change the meaning of old ones.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from tangram.model.cards import Card, CardMode, QosPolicy, Vendor
from tangram.model.topology import Link, LinkKind, PcieLevel, Topology
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.wire import jsontext, loose
from tangram.wire.errors import WireError, shown
from tangram.wire.node_facts import MOST_CARDS

INVENTORY: Final = "tangram.dev/node-inventory"

_VERSION = 1

# The bounds are those of the engine's arrays, with room to add.
_Small = Annotated[int, msgspec.Meta(ge=0, le=2**15)]
_Size = Annotated[int, msgspec.Meta(ge=0, le=2**50)]


class _CardV1(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    uuid: Annotated[str, msgspec.Meta(min_length=1)]
    index: _Small
    vendor: Vendor
    memory: _Size
    product: str = ""
    cores: _Small = 100
    slots: _Small = 16
    mode: CardMode = CardMode.SLICED
    numa: Annotated[int, msgspec.Meta(ge=-1, le=2**15)] = -1
    healthy: bool = True
    health_reason: str = msgspec.field(default="", name="healthReason")
    cordoned: bool = False
    announced_qos: QosPolicy | None = msgspec.field(default=None, name="qos")
    memory_tiers: tuple[_Size, ...] = msgspec.field(default=(), name="tiers")
    bdf: str = ""


class _LinkV1(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """Written as a short list: sixteen cards have 120 pairs."""

    a: _Small
    b: _Small
    kind: LinkKind = LinkKind.NONE
    pcie: PcieLevel = PcieLevel.UNKNOWN
    lanes: _Small = 1


class _InventoryV1(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    v: int
    cards: tuple[_CardV1, ...]
    links: tuple[_LinkV1, ...] | None = None
    """None when unknown."""


class Inventory(msgspec.Struct, frozen=True):
    """A node's cards and, if known, how they are joined."""

    cards: tuple[Card, ...]
    topology: Topology | None = None


def encode_inventory(inventory: Inventory) -> str:
    """The annotation's value. Raises `WireError` for cards that no reader would accept."""
    written = _InventoryV1(
        v=_VERSION,
        cards=tuple(_card_line(card) for card in inventory.cards),
        links=None
        if inventory.topology is None
        else tuple(
            _LinkV1(link.a, link.b, link.kind, link.pcie, link.lanes) for link in inventory.topology.links
        ),
    )
    text = jsontext.compact(written, INVENTORY)
    if decode_inventory(text) != inventory:
        raise WireError(
            "inventory-unwritable", f"{INVENTORY} cannot carry this topology: it is not of these cards"
        )
    return text


def decode_inventory(written: str) -> Inventory:
    """The node's cards. Raises `WireError` for another version, impossible numbers, or cards that repeat."""
    found = jsontext.parse(written, INVENTORY)
    if loose.members(found).get("v") != _VERSION:
        raise WireError(
            "inventory-version", f"{INVENTORY} is {shown(written)}: this reader knows version {_VERSION}"
        )
    try:
        read = msgspec.convert(found, _InventoryV1)
    except msgspec.ValidationError as error:
        raise WireError("inventory-malformed", f"{INVENTORY} cannot be read: {error}") from error
    size = len(read.cards)
    if size > MOST_CARDS or len({card.uuid for card in read.cards}) != size:
        raise WireError(
            "inventory-malformed", f"{INVENTORY} lists a card twice, or more than {MOST_CARDS} cards"
        )
    if any(not link.a < link.b < size for link in read.links or ()):
        raise WireError("inventory-malformed", f"{INVENTORY} has a link between cards it does not list")
    links = (
        None
        if read.links is None
        else tuple(Link(each.a, each.b, each.kind, each.pcie, each.lanes) for each in read.links)
    )
    return Inventory(
        tuple(_card(line) for line in read.cards), None if links is None else Topology(size, links)
    )


def _card_line(card: Card) -> _CardV1:
    return _CardV1(
        uuid=card.uuid,
        index=card.index,
        vendor=card.vendor,
        memory=card.memory,
        product=card.product,
        cores=card.cores,
        slots=card.slots,
        mode=card.mode,
        numa=card.numa,
        healthy=card.healthy,
        health_reason=card.health_reason,
        cordoned=card.cordoned,
        announced_qos=card.announced_qos,
        memory_tiers=card.memory_tiers,
        bdf=card.bdf,
    )


def _card(line: _CardV1) -> Card:
    return Card(
        uuid=CardUuid(line.uuid),
        index=line.index,
        vendor=line.vendor,
        memory=Bytes(line.memory),
        product=line.product,
        cores=line.cores,
        slots=line.slots,
        mode=line.mode,
        numa=line.numa,
        healthy=line.healthy,
        health_reason=line.health_reason,
        cordoned=line.cordoned,
        announced_qos=line.announced_qos,
        memory_tiers=tuple(Bytes(size) for size in line.memory_tiers),
        bdf=line.bdf,
    )
