"""What the kubelet is told a node has: units of a resource, each with an id of its own."""

from __future__ import annotations

import msgspec

from tangram.units.ids import CardUuid

NO_NUMA = -1


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """One device as the kubelet counts it. Ids are unique across all resources of a node."""

    id: str
    healthy: bool = True
    numa: int = NO_NUMA
    card: CardUuid | None = None
    """The card that the id stands for; None for a slot, which stands for no card until a pod holds it."""
