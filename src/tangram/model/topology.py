"""How the cards of one node are joined, as reported, before anyone weighs it."""

from __future__ import annotations

from enum import IntEnum, StrEnum

import msgspec


class LinkKind(StrEnum):
    """A direct card-to-card connection, or the lack of one."""

    METAXLINK = "MX"
    MTLINK = "MT"
    NONE = ""


class PcieLevel(IntEnum):
    """How far up the PCIe tree two cards meet; smaller is nearer."""

    INTERNAL = 0
    SINGLE_SWITCH = 1
    MULTIPLE_SWITCHES = 2
    HOST_BRIDGE = 3
    NUMA_NODE = 4
    SYSTEM = 5
    UNKNOWN = 6


class Link(msgspec.Struct, frozen=True):
    """What joins the cards at positions `a` and `b` of the node's card list (`a` < `b`)."""

    a: int
    b: int
    kind: LinkKind = LinkKind.NONE
    pcie: PcieLevel = PcieLevel.UNKNOWN
    lanes: int = 1
    """Parallel links of that kind; only Moore Threads reports more than one."""


class Topology(msgspec.Struct, frozen=True):
    """Every known pair of a node's cards. A pair that is not listed is joined by nothing we know of."""

    size: int
    links: tuple[Link, ...] = ()


class TopologyScope(StrEnum):
    """Within what all cards of one request must lie."""

    LINK = "link"
    """Pairwise joined by MetaXLink or MTLink."""
    PCIE = "pcie"
    NUMA = "numa"
    NODE = "node"


class PublishedTopology(msgspec.Struct, frozen=True):
    """Per request size, the best score and least loss as a vendor's plugin announced them.

    Used only where the plugin keeps the links themselves to itself: figures go stale with every pod.
    """

    scores: tuple[tuple[int, int], ...] = ()
    losses: tuple[tuple[int, int], ...] = ()
