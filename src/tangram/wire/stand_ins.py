"""The ids that HAMi makes up for cards it knows by their number alone: `node-1-metax-3`, `node-1-mthreads-0`.

It counts a pod's whole MetaX cards and all Moore Threads ones by these ids and passes over any others. So they are what
we write where HAMi reads, with the real ids in a key beside it; and they are matched to cards when they are read.
"""

from __future__ import annotations

import re

from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.nodes import Node
from tangram.wire.metax_cards import STAND_IN as METAX
from tangram.wire.mthreads_cards import STAND_IN as MTHREADS
from tangram.wire.node_facts import stand_in_id

_STAND_IN = re.compile(rf"(.*)-({METAX}|{MTHREADS})-([0-9]{{1,4}})", re.DOTALL)
_ONE_UNIT = (CardMode.WHOLE, CardMode.UNDECIDED)


def counted_as(node: Node, card: Card) -> str:
    """The id by which HAMi counts this card of the node when a pod has it.

    The card's own where HAMi makes up none for it: for slices of MetaX cards; and where whole cards are announced in
    parts, since which part a pod has is not ours to say.
    """
    if card.vendor is Vendor.MTHREADS:
        return stand_in_id(node.name, MTHREADS, card.index)
    whole = _whole_metax(node)
    if card.vendor is not Vendor.METAX or any(each.mode not in _ONE_UNIT for each in whole):
        return str(card.uuid)
    turn = next((turn for turn, each in enumerate(whole) if each.uuid == card.uuid), None)
    return str(card.uuid) if turn is None else stand_in_id(node.name, METAX, turn)


def behind(node: Node, identity: str) -> Card | None:
    """The card of the node that is meant; none where the id is no stand-in of this node, or one too many."""
    made_up = _STAND_IN.fullmatch(identity)
    if made_up is None or made_up[1] != node.name:
        return None
    number = int(made_up[3])
    if made_up[2] == MTHREADS:
        numbered = (card for card in node.cards if card.vendor is Vendor.MTHREADS and card.index == number)
        return next(numbered, None)
    whole = _whole_metax(node)
    return whole[number] if number < len(whole) else None


def is_stand_in(node: str | None, identity: str) -> bool:
    """Whether HAMi made the id up for a card of that node."""
    made_up = _STAND_IN.fullmatch(identity)
    return made_up is not None and made_up[1] == node


def hide_real_ids(node: Node) -> bool:
    """Whether cards of the node go by such ids themselves, as they do where no agent tells the real ones."""
    return any(is_stand_in(node.name, card.uuid) for card in node.cards)


def number_of(identity: str) -> int | None:
    """The number in an id that was made up, of any node; none in any other id."""
    made_up = _STAND_IN.fullmatch(identity)
    return int(made_up[3]) if made_up else None


def _whole_metax(node: Node) -> list[Card]:
    return [card for card in node.cards if card.vendor is Vendor.METAX and card.offered_whole]
