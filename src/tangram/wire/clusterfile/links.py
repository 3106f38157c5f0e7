"""How the cards of a node are joined, in one word or a list of groups.

Cards of one group are pairwise joined by their vendor's link. Where two cards meet on PCIe follows from the groups too,
unless NUMA nodes say that two cards of a group sit apart. The levels are spelled as the vendors' topology tools print
them, because that is where people read them off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import combinations

from tangram.model.cards import Card, Vendor
from tangram.model.topology import Link, LinkKind, PcieLevel, Topology
from tangram.vendors.wording import either
from tangram.wire import loose
from tangram.wire.clusterfile.fields import Fields, nearest, refusal

_KEYS = ("groups", "inside", "outside", "joined_by", "lanes")


class Pattern(StrEnum):
    """Groupings that have a name."""

    TWO_GROUPS_OF_FOUR = "two-groups-of-four"
    FULL_MESH = "full-mesh"
    PAIRS = "pairs"
    NONE = "none"


class _Level(StrEnum):
    PIX = "PIX"
    PXB = "PXB"
    PHB = "PHB"
    NODE = "NODE"
    SYS = "SYS"


class _Joint(StrEnum):
    METAXLINK = "metaxlink"
    MTLINK = "mtlink"
    PCIE = "pcie"


_PCIE = {
    _Level.PIX: PcieLevel.SINGLE_SWITCH,
    _Level.PXB: PcieLevel.MULTIPLE_SWITCHES,
    _Level.PHB: PcieLevel.HOST_BRIDGE,
    _Level.NODE: PcieLevel.NUMA_NODE,
    _Level.SYS: PcieLevel.SYSTEM,
}
_KINDS = {_Joint.METAXLINK: LinkKind.METAXLINK, _Joint.MTLINK: LinkKind.MTLINK, _Joint.PCIE: LinkKind.NONE}
_OWN_LINK = {
    Vendor.METAX: LinkKind.METAXLINK,
    Vendor.MTHREADS: LinkKind.MTLINK,
    Vendor.GENERIC: LinkKind.NONE,
}
_LEGAL = f"it is {either(Pattern)}, or a list of groups of card numbers"


def read_links(fields: Fields, cards: Sequence[Card]) -> Topology | None:
    """The topology under the key `links`; None, which means unknown, when there is none."""
    written = fields.members.get("links")
    if written is None:
        return None
    place = fields.at("links")
    wrapped: Mapping[str, object] = (
        loose.members(written) if loose.is_object(written) else {"groups": written}
    )
    form = Fields(wrapped, place, _KEYS)
    numbers = [card.index for card in cards]
    group_of = _group_of(form.members.get("groups"), place, numbers)
    inside = _PCIE[form.word("inside", _Level) or _Level.PIX]
    outside = form.word("outside", _Level)
    joint = form.word("joined_by", _Joint)
    lanes = form.whole("lanes", least=1, most=64) or 1

    def link(a: int, b: int) -> Link:
        one, other = cards[a], cards[b]
        grouped = one.index in group_of and group_of[one.index] == group_of.get(other.index)
        kind = LinkKind.NONE
        if grouped:
            kind = _KINDS[joint] if joint is not None else _OWN_LINK[one.vendor]
        near = grouped and one.numa == other.numa
        level = inside if near else _PCIE[outside or _apart(one, other)]
        return Link(a, b, kind, level, lanes if kind is not LinkKind.NONE else 1)

    return Topology(len(cards), tuple(link(a, b) for a, b in combinations(range(len(cards)), 2)))


def _apart(one: Card, other: Card) -> _Level:
    """Where two cards meet that share no group, as far as their NUMA nodes tell."""
    return _Level.NODE if one.numa == other.numa >= 0 else _Level.SYS


def _group_of(written: object, place: str, numbers: Sequence[int]) -> dict[int, int]:
    """The number of each card's group; a card in no group is not there."""
    groups = (
        _pattern(written, place, numbers) if isinstance(written, str) else _explicit(written, place, numbers)
    )
    return {card: number for number, group in enumerate(groups) for card in group}


def _pattern(word: str, place: str, numbers: Sequence[int]) -> list[Sequence[int]]:
    match word:
        case Pattern.TWO_GROUPS_OF_FOUR:
            if len(numbers) != 8:
                raise refusal(
                    place,
                    f"it is {word} on a node with {len(numbers)} cards",
                    "that needs 8",
                    "write the groups out",
                )
            return [numbers[:4], numbers[4:]]
        case Pattern.FULL_MESH:
            return [numbers]
        case Pattern.PAIRS:
            return [numbers[at : at + 2] for at in range(0, len(numbers), 2)]
        case Pattern.NONE:
            return []
        case _:
            raise refusal(place, f"it is {word!r:.80}", _LEGAL, nearest(word, Pattern))


def _explicit(written: object, place: str, numbers: Sequence[int]) -> list[Sequence[int]]:
    groups: list[Sequence[int]] = []
    seen: set[int] = set()
    if not loose.is_list(written):
        raise refusal(place, "it names no groups", _LEGAL, "write for example [[1, 2, 3, 4], [5, 6, 7, 8]]")
    for position, group in enumerate(loose.elements(written)):
        here = f"{place}[{position}]"
        cards = Fields({"group": group}, here, ("group",)).numbers("group")
        for card in cards:
            if card not in numbers:
                raise refusal(
                    here, f"it names card {card}", f"the cards are {_listed(numbers)}", "name one of these"
                )
            if card in seen:
                raise refusal(here, f"it names card {card} again", "a card is in one group", "name it once")
            seen.add(card)
        groups.append(cards)
    return groups


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) if numbers else "none"
