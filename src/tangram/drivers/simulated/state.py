"""What has been done to a simulated card since it was described. Values are replaced, never changed in place."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import msgspec

from tangram.drivers.simulated.description import CardSpec, Description, Figure
from tangram.model.cards import QosPolicy, Vendor
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes

WHOLE = -1
"""The part that is the card itself; slices and virtual functions are the parts 0, 1, 2 ..."""


class SliceState(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    memory: Bytes
    cores: int
    name: str = ""
    online: bool = False
    serial: int
    """The how-many-th slice of its card it is, which keeps the uuid of a later slice in the same slot apart."""


class Holder(msgspec.Struct, frozen=True):
    """A process on a part of a card."""

    pid: int
    name: str
    memory: Bytes


class CardState(msgspec.Struct, frozen=True, kw_only=True):
    sliced: bool
    policy: QosPolicy
    virtual_functions: int
    slices: tuple[SliceState, ...] = ()
    """By id."""
    holders: dict[int, Holder] = {}
    """By part."""
    slices_made: int = 0
    overrides: dict[Figure, float] = {}
    """Figures that a person has set by hand."""
    vanished: int = 0
    """How often the card had gone away before it got into this state."""

    def slice(self, slice_id: int) -> SliceState | None:
        return next((each for each in self.slices if each.id == slice_id), None)

    @property
    def busy(self) -> bool:
        return bool(self.holders)


def fresh(spec: CardSpec, vanished: int = 0) -> CardState:
    """The card as described, as after it was plugged in."""
    return CardState(
        sliced=spec.sliced,
        policy=spec.policy,
        virtual_functions=spec.virtual_functions,
        vanished=vanished,
    )


def card_uuid(description: Description, spec: CardSpec) -> CardUuid:
    """Spelled as the vendor's library spells it."""
    plain = uuid_from(description.name, spec.product, str(spec.position))
    return CardUuid(f"GPU-{plain}" if spec.vendor is Vendor.METAX else plain)


def function_uuid(parent: CardUuid, number: int) -> CardUuid:
    """The uuid of a virtual function."""
    return CardUuid(f"GPU-{uuid_from(parent, 'function', str(number))}")


def slice_uuid(parent: CardUuid, each: SliceState) -> str:
    """The uuid of a slice."""
    return f"GPU-{uuid_from(parent, 'slice', str(each.id), str(each.serial))}"


@lru_cache(maxsize=4096)
def uuid_from(*parts: str) -> str:
    """The same uuid for the same parts, on every machine."""
    text = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:32]))
