"""What a node has: cards, how each is offered, and what keeps it from being used."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes


class Vendor(StrEnum):
    """Who made the card. `GENERIC` stands for the cards of replayed public traces."""

    METAX = "metax"
    MTHREADS = "mthreads"
    GENERIC = "generic"


SERVED: Final = (Vendor.METAX, Vendor.MTHREADS)
"""The vendors whose cards are offered, labelled and placed unless a cluster switches one of them off."""


class CardMode(StrEnum):
    """How a card is offered. A card is offered in exactly one way at a time."""

    WHOLE = "native"
    SLICED = "sgpu"
    VIRTUAL = "vgpu"
    """Split into virtual functions; `slots` says how many."""
    SHARED = "shared"
    """Handed out `slots` times without isolation."""
    UNDECIDED = "undecided"
    """Announced both whole and sliced by a writer that does not say which: the first tenant decides.
    One ledger entry makes selling it twice impossible."""


class QosPolicy(StrEnum):
    """How MetaX slices of one card share its compute. A card runs one policy at a time."""

    BEST_EFFORT = "best-effort"
    FIXED_SHARE = "fixed-share"
    BURST_SHARE = "burst-share"


class AppClass(StrEnum):
    """Online slices suspend the offline slices of their card; the two never mix with unclassed ones."""

    ONLINE = "online"
    OFFLINE = "offline"


def names_product(words: frozenset[str], product: str) -> bool:
    """Whether one of the words names the product: it is part of its name, in any case, so `c500` is every MXC500."""
    return any(word.casefold() in product.casefold() for word in words)


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One physical card: the unit of the ledger, whatever it is sold as."""

    uuid: CardUuid
    index: int
    """Position on the node, the number people see in the vendor's tool."""
    vendor: Vendor
    memory: Bytes
    product: str = ""
    """Model name as the vendor's library spells it; empty when nobody said."""
    cores: int = 100
    """Compute units: percent for MetaX, sixteenths for Moore Threads."""
    slots: int = 16
    """Tenants that may hold a part at once."""
    mode: CardMode = CardMode.SLICED
    numa: int = -1
    """-1 when unknown."""
    healthy: bool = True
    health_reason: str = ""
    cordoned: bool = False
    """An operator asked for no new tenants; the present ones stay."""
    announced_qos: QosPolicy | None = None
    """What the node says the card runs now. Only a hint: the tenants in the ledger are the truth."""
    memory_tiers: tuple[Bytes, ...] = ()
    """The only slice sizes the kernel can make without rounding up; empty means any size."""
    bdf: str = ""
    counted: bool = False
    """Its node only counts it: the id is made up, and which card a pod gets the plugin there decides."""

    @property
    def offered_whole(self) -> bool:
        return self.mode is not CardMode.SLICED

    @property
    def offered_sliced(self) -> bool:
        return self.mode in (CardMode.SLICED, CardMode.UNDECIDED)


def whole_unit(card: Card) -> tuple[Bytes, int]:
    """Memory and compute that one unit of a whole-card ask takes of this card."""
    match card.mode:
        case CardMode.VIRTUAL:
            return Bytes(card.memory // max(card.slots, 1)), card.cores // max(card.slots, 1)
        case CardMode.SHARED:
            return Bytes(0), 0
        case CardMode.WHOLE | CardMode.SLICED | CardMode.UNDECIDED:
            return card.memory, card.cores
