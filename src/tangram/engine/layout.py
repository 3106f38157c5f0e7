"""What makes two nodes alike for topology, and what a choice among their cards is.

Apart from the tables, because a node agent that only ever looks at its own cards cannot afford the arrays they are
made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from tangram.engine.weights import PairWeights
from tangram.model.cards import Card, Vendor
from tangram.model.nodes import Node
from tangram.model.topology import Link, LinkKind, PcieLevel

MOST_CARDS: Final = 16


class Layout(NamedTuple):
    """What makes two nodes alike for topology: the identity of a table."""

    size: int
    known: bool
    weights: tuple[int, ...]
    """Row-major matrix of pair weights: what scores and losses are sums of."""
    kinds: tuple[int, ...]
    """The same of what pairs are worth by the kind of their connection: what cards are chosen by first."""
    linked: tuple[int, ...]
    """Per card, the mask of cards joined to it by a direct link."""
    one_switch: tuple[int, ...]
    """Per card, the mask of cards reached through a single PCIe switch."""
    switched: tuple[int, ...]
    """Per card, the mask of cards reached through PCIe switches or a host bridge only."""
    same_numa: tuple[int, ...]
    """Per card, the mask of cards of its NUMA node."""

    @property
    def nearness(self) -> tuple[tuple[int, ...], ...]:
        """In what all cards of a set can be joined, as masks per card, the best first.

        A MetaXLink comes before a PCIe switch. Where there are direct links their number decides about all other sets;
        where there are none, the cards of one host bridge, then of one NUMA node, belong together.
        """
        return (self.linked, self.one_switch, *(() if any(self.linked) else (self.switched, self.same_numa)))


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
    kinds = [[0] * size for _ in range(size)]
    linked = [0] * size
    one_switch = [0] * size
    switched = [0] * size
    numa = [
        sum(
            1 << other
            for other, mate in enumerate(node.cards)
            if mate is not card and mate.numa == card.numa >= 0
        )
        for card in node.cards
    ]
    found = node.topology.links if node.topology is not None else _by_numa(node.cards)
    links = [link for link in found if 0 <= link.a < link.b < size]
    with_links = {node.cards[link.a].vendor for link in links if link.kind is not LinkKind.NONE}
    for link in links:
        vendor = node.cards[link.a].vendor
        worths, any_links = weights[vendor], vendor in with_links
        for one, other in ((link.a, link.b), (link.b, link.a)):
            matrix[one][other] = worths.of(link, any_links=any_links)
            kinds[one][other] = worths.kind_of(link)
            if link.kind is not LinkKind.NONE:
                linked[one] |= 1 << other
            if link.pcie <= PcieLevel.SINGLE_SWITCH:
                one_switch[one] |= 1 << other
            if link.pcie <= PcieLevel.HOST_BRIDGE:
                switched[one] |= 1 << other
    return Layout(
        size=size,
        known=node.topology is not None,
        weights=tuple(worth for row in matrix for worth in row),
        kinds=tuple(worth for row in kinds for worth in row),
        linked=tuple(linked),
        one_switch=tuple(one_switch),
        switched=tuple(switched),
        same_numa=tuple(numa),
    )


def _by_numa(cards: Sequence[Card]) -> Iterator[Link]:
    """Pairs by NUMA node, where connections are not reported; to comparisons of nodes the layout stays unknown."""
    for a, b in combinations(range(len(cards)), 2):
        if cards[a].numa >= 0 and cards[b].numa >= 0:
            same = cards[a].numa == cards[b].numa
            yield Link(a, b, pcie=PcieLevel.NUMA_NODE if same else PcieLevel.SYSTEM)
