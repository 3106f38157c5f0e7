"""What a container was given, precise enough to give it again after a restart and to take it back in the end."""

from __future__ import annotations

import msgspec

from tangram.model.pods import PodRef
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes


class SliceWish(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a card that a container must have before it starts."""

    card: CardUuid
    name: str
    """By which the slice is found again; the same for the same container of the same pod, and for no other."""
    memory: Bytes
    cores: int
    online: bool = False


class GrantedSlice(msgspec.Struct, frozen=True, kw_only=True):
    card: CardUuid
    id: int
    name: str
    memory: Bytes
    cores: int


class GrantedMount(msgspec.Struct, frozen=True, kw_only=True):
    """A folder of the host that a container sees and cannot change."""

    host: str
    path: str
    """In the container."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """One container's devices, behind one CDI name."""

    claim: str
    """The CDI device name, made for one call of the kubelet and never used again."""
    pod: PodRef
    container: str
    resource: str
    ids: tuple[str, ...]
    """Of the kubelet."""
    cards: tuple[CardUuid, ...]
    slices: tuple[GrantedSlice, ...] = ()
    mounts: tuple[GrantedMount, ...] | msgspec.UnsetType = msgspec.UNSET
    """Chosen at the first start and the same as long as the pod lives. Nothing is written where there are none, so
    that grants of before there were any stay what they are."""
