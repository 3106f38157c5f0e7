"""How much of each card a pod really holds, given that its containers do not all run at once.

Ordinary init containers run one after another before the rest and then end; sidecars start among them and stay. So the
hold on a card is the larger of the highest moment during init (that container plus the sidecars started before it) and
the sum of sidecars and app containers. Once init is over only the sum counts. Counting sidecars with the init
containers, as peers did, sells memory twice.
"""

from __future__ import annotations

from typing import NamedTuple

from tangram.model.allocations import Allocation, Share
from tangram.model.cards import Card
from tangram.model.pods import Role
from tangram.model.requests import AskKind
from tangram.units.ids import CardUuid


class Hold(NamedTuple):
    """A pod's hold on one card."""

    memory: int
    cores: int
    slots: int

    def or_more(self, other: Hold) -> Hold:
        """Two holds at different times: whichever is larger, quantity by quantity."""
        return Hold(
            max(self.memory, other.memory), max(self.cores, other.cores), max(self.slots, other.slots)
        )


NOTHING = Hold(0, 0, 0)


def holds_of(allocation: Allocation, *, init_done: bool = False) -> dict[CardUuid, Hold]:
    """The hold of an allocation on each card it names."""
    staying: dict[CardUuid, Hold] = {}
    peak: dict[CardUuid, Hold] = {}
    for container in allocation.containers:
        if container.role is Role.INIT and init_done:
            continue
        own: dict[CardUuid, Hold] = {}
        for share in container.shares:
            own[share.card] = plus(own.get(share.card, NOTHING), Hold(share.memory, share.cores, 1))
        for card, hold in own.items():
            together = plus(staying.get(card, NOTHING), hold)
            if container.role is Role.INIT:
                peak[card] = peak.get(card, NOTHING).or_more(together)
            else:
                staying[card] = together
    cards = dict.fromkeys([*staying, *peak])
    return {card: staying.get(card, NOTHING).or_more(peak.get(card, NOTHING)) for card in cards}


def can_serve(card: Card, share: Share) -> bool:
    """Whether a card that is offered as it is now can serve the share: a slice needs a card that is sliced."""
    return share.kind is not AskKind.SLICE or card.offered_sliced


def plus(one: Hold, other: Hold) -> Hold:
    """Two holds at the same time."""
    return Hold(one.memory + other.memory, one.cores + other.cores, one.slots + other.slots)
