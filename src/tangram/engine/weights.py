"""What a connection between two cards is worth.

The vendors publish sums of pair weights (`gpu.topology.scores`, `.losses`) but not the weights. Those here reproduce
every published sample: a MetaXLink pair under one PCIe switch is worth 110, a MetaXLink pair further apart 80, and a
pair of different groups 10. That splits into 60 for the link plus a PCIe part, and keeps any linked pair above any
pair that only shares a switch.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tangram.model.cards import Vendor
from tangram.model.topology import Link, LinkKind


class PairWeights(msgspec.Struct, frozen=True):
    link: int
    """Per parallel link."""
    pcie: tuple[int, int, int, int, int, int, int]
    """Indexed by `PcieLevel`."""

    def of(self, link: Link) -> int:
        direct = 0 if link.kind is LinkKind.NONE else self.link * link.lanes
        return direct + self.pcie[link.pcie]


METAX_WEIGHTS = PairWeights(link=60, pcie=(60, 50, 20, 15, 10, 10, 0))

MTHREADS_WEIGHTS = PairWeights(link=60, pcie=(60, 50, 20, 15, 10, 5, 0))
"""Every pair of an eight-card server carries the same number of links, so the NUMA node has to decide: a pair across
sockets is worth less than one inside."""

DEFAULT_WEIGHTS: Mapping[Vendor, PairWeights] = {
    Vendor.METAX: METAX_WEIGHTS,
    Vendor.MTHREADS: MTHREADS_WEIGHTS,
    Vendor.GENERIC: METAX_WEIGHTS,
}
