"""The five resources a node may offer, and the ids under which their units go.

Ids are a contract with every later version of the agent: the kubelet keeps those of running pods across upgrades. They
are unique across resources too, because the kubelet looks up an id's health without regard to its resource.
"""

from __future__ import annotations

from typing import Final

from tangram.model.cards import Vendor
from tangram.units.ids import CardUuid
from tangram.vendors.metax import names as metax
from tangram.vendors.mthreads import names as mthreads

WHOLE: Final = {metax.GPU: Vendor.METAX, mthreads.GPU: Vendor.MTHREADS}
"""Units are cards, virtual functions or turns at a shared card: the kubelet's ids decide who holds what."""
SLOTS: Final = {
    metax.SGPU: Vendor.METAX,
    mthreads.SGPU_MEMORY: Vendor.MTHREADS,
    mthreads.SGPU_CORE: Vendor.MTHREADS,
}
"""Units are anonymous: the pod's allocation decides who holds what."""
CARRIERS: Final = frozenset({metax.GPU, metax.SGPU, mthreads.GPU, mthreads.SGPU_MEMORY})
"""Resources whose calls bring the devices. Compute of Moore Threads comes along with memory, which every slice has."""
ALL: Final = (*WHOLE, *SLOTS)

SLOT_PREFIXES: Final = {
    metax.SGPU: "metax-sgpu-",
    mthreads.SGPU_CORE: "mthreads-sgpu-core-",
    mthreads.SGPU_MEMORY: "mthreads-sgpu-memory-",
}
_TURN: Final = "-share-"


def slot_id(resource: str, number: int) -> str:
    """One of a sliced card's anonymous units."""
    return f"{SLOT_PREFIXES[resource]}{number}"


def slot_number(resource: str, slot: str) -> int:
    """The number of a slot; ids that are none of ours go after all others."""
    digits = slot.removeprefix(SLOT_PREFIXES[resource])
    return int(digits) if digits.isascii() and digits.isdecimal() else 2**31


def turn_id(card: CardUuid, number: int) -> str:
    """One turn at a card that is shared without isolation."""
    return f"{card}{_TURN}{number}"


def unit_uuid(unit: str) -> CardUuid:
    """The card or virtual function that a unit of a whole resource stands for."""
    uuid, turn, number = unit.rpartition(_TURN)
    return CardUuid(uuid if turn and number.isdecimal() else unit)
