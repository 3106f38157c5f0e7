"""A node as the engine sees it: its cards, their links, and the host around them."""

from __future__ import annotations

import msgspec

from tangram.model.cards import Card
from tangram.model.topology import PublishedTopology, Topology
from tangram.units.ids import NodeName
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
