"""Which cards of a node belong together, as the table that Koordinator's scheduler picks a linked group from.

koord-scheduler gives a pod of several whole cards a group of exactly as many, or none: where a table knows groups of
four only, a pod of two gets cards that may not be linked, and one that insists on a partition gets no node at all. So
beside every linked set stand the pairs, fours, eights and so on that it can be cut into, as in the table that
Koordinator itself keeps for the servers it knows. Blocks are cut by ascending minor, and the larger are made of the
smaller: pods of two, four and eight fill a set without holes, and a set of n cards adds fewer than n groups. Other
pairs of the set are linked as well, but taking one breaks two blocks, and all groups of a large set are thousands.

A group says that each of its cards is joined to each other, which is also how it is read back. So a card with all its
neighbours is no group unless they are neighbours of each other; where links form a ring or a chain, the table lists the
sets that are complete, and every link is in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from tangram.model.nodes import Node
from tangram.model.topology import LinkKind, Topology
from tangram.wire.koordinator import names
from tangram.wire.koordinator.partitions import Partition

_LINK_WORDS: Final = {LinkKind.METAXLINK: names.METAXLINK, LinkKind.MTLINK: names.MTLINK}
_SCORE: Final = 1
"""What koordlet gives every group; the scheduler then weighs them by what each leaves over."""

_Pairs = set[tuple[int, int]]


def linked_groups(node: Node) -> tuple[Partition, ...]:
    """Every group once, in the order in which koordlet comes upon them in our device-info file.

    It goes from card to card, and each lists its groups by size and then by minors.
    """
    position = {card.index: at for at, card in enumerate(node.cards)}
    found: dict[tuple[int, ...], Partition] = {}
    for word, pairs in _linked_pairs(node).items():
        for whole in _complete_sets(pairs):
            for minors in (*_blocks(whole), whole):
                found.setdefault(minors, Partition(minors=minors, link=word, score=_SCORE))

    def met(group: Partition) -> tuple[int, int, tuple[int, ...]]:
        return min(position[minor] for minor in group.minors), len(group.minors), group.minors

    return tuple(sorted(found.values(), key=met))


def _linked_pairs(node: Node) -> dict[str, _Pairs]:
    """For each kind of link, the pairs of minors it joins, the smaller first."""
    topology = node.topology or Topology(0)
    pairs: dict[str, _Pairs] = {}
    for link in topology.links:
        word = _LINK_WORDS.get(link.kind)
        low, high = sorted((node.cards[link.a].index, node.cards[link.b].index))
        if word is not None and low != high:
            pairs.setdefault(word, set()).add((low, high))
    return pairs


def _complete_sets(pairs: _Pairs) -> Iterator[tuple[int, ...]]:
    """Sets in which all are linked and to which no card can be added, as many as it takes for every pair to be in one.

    All such sets would be exponentially many on a strange machine. Of these there are at most as many as pairs, and a
    set that stands apart from the rest, which is what servers have, is always among them.
    """
    told: _Pairs = set()
    minors = sorted({minor for pair in pairs for minor in pair})
    for pair in sorted(pairs):
        if pair in told:
            continue
        grown = list(pair)
        for other in minors:
            if all((min(other, each), max(other, each)) in pairs for each in grown):
                grown.append(other)
        whole = tuple(sorted(grown))
        told.update(combinations(whole, 2))
        yield whole


def _blocks(whole: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    size = 2
    while size < len(whole):
        # Cards that are left over at the end are too few for another block.
        yield from (whole[at : at + size] for at in range(0, len(whole) - size + 1, size))
        size *= 2
