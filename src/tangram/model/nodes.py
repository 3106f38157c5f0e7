"""A node as the engine sees it: its cards, their links, and the host around them."""

from __future__ import annotations

import msgspec

from tangram.model.cards import Card
from tangram.model.counted import Stated
from tangram.model.topology import PublishedTopology, Topology
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import Bytes


class Taint(msgspec.Struct, frozen=True):
    key: str
    value: str = ""
    effect: str = "NoSchedule"


class HostCapacity(msgspec.Struct, frozen=True):
    """What the host can give pods; `None` where nobody said, and then nothing is checked."""

    cpu_milli: int | None = None
    memory: Bytes | None = None
    pods: int | None = None
    """How many pods its kubelet takes, with or without cards."""
    counted: Stated = ()
    """Koordinator's amounts; empty for a node that states none of them."""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One node's inventory. Replaced whole when anything about the node changes."""

    name: NodeName
    cards: tuple[Card, ...] = ()
    topology: Topology | None = None
    """`None` when the links are unknown, which is not the same as known to be absent."""
    published: PublishedTopology | None = None
    host: HostCapacity = HostCapacity()
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    managed: bool = False
    """A Tangram agent runs here, so no lock of a closed plugin is needed."""
    described: bool = False
    """Koordinator has a `Device` for it, so koord-scheduler may place pods here and counts what it is told of."""
    minors: dict[CardUuid, int] = {}
    """The number that the `Device` gives a card, of cards whose own number is another."""
    stand_ins: dict[CardUuid, CardUuid] = {}
    """Ids that HAMi makes up for cards whose real id is known here, each with that id. Lists of cards may name them."""
