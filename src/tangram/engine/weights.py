"""What a connection between two cards is worth.

The vendors publish sums of pair weights (`gpu.topology.scores`, `.losses`) but not the weights. Those here reproduce
every published sample: a MetaXLink pair under one PCIe switch is worth 110, a MetaXLink pair further apart 80, and a
pair of different groups 10. That splits into 60 for the link plus a PCIe part, and keeps any linked pair above any
pair that only shares a switch.

The samples are all of servers with MetaXLink, where NUMA nodes make no difference. Where a node has no direct link,
NUMA nodes and PCIe are all there is to tell pairs apart, so a pair across sockets is worth less there than one inside.
What is announced to other programs keeps the vendor's figures (`PUBLISHED_WEIGHTS`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from tangram.model.cards import Vendor
from tangram.model.topology import Link, LinkKind

PcieWeights = tuple[int, int, int, int, int, int, int]
"""Indexed by `PcieLevel`."""


_LINKS_FIRST: Final = 1000
"""One direct link more is above all that PCIe can add to the 120 pairs of sixteen cards."""

_MOST_LANES: Final = 64
"""More are counted as so many, so that the sum over all pairs of a node stays within 32 bits."""


class PairWeights(msgspec.Struct, frozen=True):
    link: int
    """Per parallel link."""
    pcie: PcieWeights
    without_links: PcieWeights
    """Instead of `pcie`, where no two cards of the node have a direct link."""
    beside_link: int
    """The most that PCIe adds to a direct link when cards are chosen. MetaX's manual counts a pair with both kinds of
    connection as linked and nothing else, so that the rest of the node decides between a near and a far linked pair."""

    def of(self, link: Link, *, any_links: bool = True) -> int:
        """What the pair adds to score and loss; `any_links` says whether the node has direct links at all."""
        direct = 0 if link.kind is LinkKind.NONE else self.link * link.lanes
        return direct + (self.pcie if any_links else self.without_links)[link.pcie]

    def kind_of(self, link: Link) -> int:
        """What the pair is worth by the kind of its connection, which decides before scores and losses do."""
        near = self.without_links[link.pcie]
        if link.kind is LinkKind.NONE:
            return near
        return self.link * min(link.lanes, _MOST_LANES) * _LINKS_FIRST + min(near, self.beside_link)


_METAX_PCIE: PcieWeights = (60, 50, 20, 15, 10, 10, 0)
_ACROSS_SOCKETS_LESS: PcieWeights = (60, 50, 20, 15, 10, 5, 0)

METAX_WEIGHTS = PairWeights(
    link=60, pcie=_METAX_PCIE, without_links=_ACROSS_SOCKETS_LESS, beside_link=_ACROSS_SOCKETS_LESS[5]
)

MTHREADS_WEIGHTS = PairWeights(
    link=60,
    pcie=_ACROSS_SOCKETS_LESS,
    without_links=_ACROSS_SOCKETS_LESS,
    beside_link=_ACROSS_SOCKETS_LESS[0],
)
"""Every pair of an eight-card server carries the same number of links, so the NUMA node has to decide: a pair across
sockets is worth less than one inside."""

DEFAULT_WEIGHTS: Mapping[Vendor, PairWeights] = {
    Vendor.METAX: METAX_WEIGHTS,
    Vendor.MTHREADS: MTHREADS_WEIGHTS,
    Vendor.GENERIC: METAX_WEIGHTS,
}

PUBLISHED_WEIGHTS: Mapping[Vendor, PairWeights] = {
    **DEFAULT_WEIGHTS,
    Vendor.METAX: msgspec.structs.replace(METAX_WEIGHTS, without_links=_METAX_PCIE),
}
"""For figures that other programs read: the vendor's, with links or without."""
