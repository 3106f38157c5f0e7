"""What makes two nodes alike for topology, and what a choice among their cards is.

Apart from the tables, because a node agent that only ever looks at its own cards cannot afford the arrays they are
made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from tangram.engine.weights import PairWeights
from tangram.model.cards import Vendor
from tangram.model.nodes import Node
from tangram.model.topology import LinkKind, PcieLevel

MOST_CARDS: Final = 16


class Layout(NamedTuple):
    """What makes two nodes alike for topology: the identity of a table."""

    size: int
    known: bool
    weights: tuple[int, ...]
    """Row-major matrix of pair weights."""
    linked: tuple[int, ...]
    """Per card, the mask of cards joined to it by a direct link."""
    switched: tuple[int, ...]
    """Per card, the mask of cards reached through PCIe switches or a host bridge only."""
    same_numa: tuple[int, ...]
    """Per card, the mask of cards of its NUMA node."""


class CardSet(NamedTuple):
    """A choice of cards as a mask, with what it is worth."""

    mask: int
    score: int
    """Pair weights inside the set."""
    loss: int
    """Pair weights cut between the set and the free cards it leaves."""


def layout_of(node: Node, weights: Mapping[Vendor, PairWeights]) -> Layout | None:
    """The layout of a node's cards, or None when it has more cards than a table can hold."""
    size = len(node.cards)
    if size > MOST_CARDS:
        return None
    matrix = [[0] * size for _ in range(size)]
    linked = [0] * size
    switched = [0] * size
    numa = [
        sum(
            1 << other
            for other, mate in enumerate(node.cards)
            if mate is not card and mate.numa == card.numa >= 0
        )
        for card in node.cards
    ]
    for link in node.topology.links if node.topology is not None else ():
        if not 0 <= link.a < link.b < size:
            continue
        worth = weights[node.cards[link.a].vendor].of(link)
        matrix[link.a][link.b] = matrix[link.b][link.a] = worth
        for one, other in ((link.a, link.b), (link.b, link.a)):
            if link.kind is not LinkKind.NONE:
                linked[one] |= 1 << other
            if link.pcie <= PcieLevel.HOST_BRIDGE:
                switched[one] |= 1 << other
    return Layout(
        size=size,
        known=node.topology is not None,
        weights=tuple(worth for row in matrix for worth in row),
        linked=tuple(linked),
        switched=tuple(switched),
        same_numa=tuple(numa),
    )
