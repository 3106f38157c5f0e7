"""What joins every pair of a described node's cards: the links of each group, then whatever pairs say otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import combinations
from typing import Final

from tangram.drivers.pcie import LEVEL_OF_WORD, level_between
from tangram.drivers.simulated.card_groups import Group
from tangram.drivers.simulated.description import CardSpec, Joint
from tangram.drivers.simulated.layouts import Pairs
from tangram.model.cards import Vendor
from tangram.model.topology import LinkKind
from tangram.vendors.wording import either
from tangram.wire.clusterfile.fields import Fields, nearest

OWN_LINK: Final = {Vendor.METAX: LinkKind.METAXLINK, Vendor.MTHREADS: LinkKind.MTLINK}

_PAIR_KEYS = ("cards", "link", "lanes", "pcie")
_MOST_LANES = 16


class _Word(StrEnum):
    METAXLINK = "metaxlink"
    MTLINK = "mtlink"
    NONE = "none"


_KIND = {_Word.METAXLINK: LinkKind.METAXLINK, _Word.MTLINK: LinkKind.MTLINK, _Word.NONE: LinkKind.NONE}


def joints_of(groups: Sequence[Group], fields: Fields) -> tuple[Joint, ...]:
    """Every pair, in order."""
    cards = [card for group in groups for card in group.cards]
    linked = _linked(groups)
    joints = {
        (a, b): _joint(cards[a], cards[b], linked.get((a, b), 0))
        for a, b in combinations(range(len(cards)), 2)
    }
    for at, entry in enumerate(fields.entries("pairs")):
        form = Fields(entry, f"pairs[{at}]", _PAIR_KEYS)
        pair = _pair(form, cards)
        joints[pair] = _changed(form, joints[pair], cards[pair[0]], cards[pair[1]])
    return tuple(joints.values())


def _linked(groups: Sequence[Group]) -> Pairs:
    linked: Pairs = {}
    for group in groups:
        for (a, b), lanes in group.pairs.items():
            linked[group.cards[a].position, group.cards[b].position] = lanes
    return linked


def _joint(one: CardSpec, other: CardSpec, lanes: int) -> Joint:
    kind = OWN_LINK[one.vendor] if lanes else LinkKind.NONE
    level = level_between(one.pcie_path, other.pcie_path, one.numa, other.numa)
    return Joint(one.position, other.position, kind, level, max(lanes, 1))


def _pair(form: Fields, cards: Sequence[CardSpec]) -> tuple[int, int]:
    numbers = sorted(form.numbers("cards"))
    if len(set(numbers)) != 2 or not all(0 <= number < len(cards) for number in numbers):
        legal = f"it is two different cards from 0 to {len(cards) - 1}"
        raise form.no("cards", legal, "write for example cards: [0, 1]")
    return numbers[0], numbers[1]


def _changed(form: Fields, joint: Joint, one: CardSpec, other: CardSpec) -> Joint:
    word = form.word("link", _Word)
    kind = joint.kind if word is None else _KIND[word]
    if kind is not LinkKind.NONE and {OWN_LINK[one.vendor], OWN_LINK[other.vendor]} != {kind}:
        legal = "a link joins two cards of the vendor whose link it is"
        raise form.no("link", legal, "write link: none, or name other cards")
    lanes = form.whole("lanes", least=1, most=_MOST_LANES) or (joint.lanes if kind is joint.kind else 1)
    level = joint.pcie
    if "pcie" in form:
        written = form.text("pcie") or ""
        if written not in LEVEL_OF_WORD:
            raise form.no("pcie", f"it is {either(LEVEL_OF_WORD)}", nearest(written, LEVEL_OF_WORD))
        level = LEVEL_OF_WORD[written]
    return Joint(joint.a, joint.b, kind, level, lanes if kind is not LinkKind.NONE else 1)
