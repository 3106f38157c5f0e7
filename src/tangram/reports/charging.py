"""What a tenant is charged for of a card, so that the parts of a card never cost more than the card.

Peers count cards: a slice of a tenth is one, or none. Here a whole card is one; a virtual function or a shared place is
its part of the card's slots; a slice is the larger of its share of memory and its share of compute, because the larger
is what nobody else can have any more. A slice that reserves no compute is charged for its memory alone. Where the
shares of a card add up to more than the card, as they may when memory and compute are taken by different tenants, all
of them are scaled down together. Everything is whole numbers, so what was added is taken off again to the last digit.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tangram.model.cards import CardMode
from tangram.reports.status_shape import CardStatus, Holder

CARD: Final = 1_000_000
"""One card, in the unit in which cards and compute are charged."""

_COUNTED_BY_SLOT: Final = frozenset({CardMode.VIRTUAL, CardMode.SHARED})


class Charge(NamedTuple):
    card: int
    """Millionths of a card."""
    memory: int
    """Bytes."""
    compute: int
    """Millionths of a card's compute."""

    def plus(self, other: Charge) -> Charge:
        return Charge(self.card + other.card, self.memory + other.memory, self.compute + other.compute)

    def minus(self, other: Charge) -> Charge:
        return Charge(self.card - other.card, self.memory - other.memory, self.compute - other.compute)


NOTHING: Final = Charge(0, 0, 0)


def charges_of(card: CardStatus) -> dict[str, Charge]:
    """What each pod on the card is charged, by `namespace/name`; in all never more than the card has."""
    if len(card.holders) == 1 and card.holders[0].whole and card.mode not in _COUNTED_BY_SLOT:
        # By far the most cards, and quickly told.
        return {card.holders[0].pod: Charge(CARD, max(card.memory, 0), CARD)}
    found: dict[str, Charge] = {}
    for holder in card.holders:
        found[holder.pod] = found.get(holder.pod, NOTHING).plus(_charge(card, holder))
    total = NOTHING
    for charge in found.values():
        total = total.plus(charge)
    return {pod: _limited(charge, total, card) for pod, charge in found.items()}


def holds_whole(card: CardStatus, holder: Holder) -> bool:
    """Whether nobody else can be on the card: a virtual function is asked for like one, and is a part of it."""
    return holder.whole and card.mode not in _COUNTED_BY_SLOT


def _charge(card: CardStatus, holder: Holder) -> Charge:
    if holds_whole(card, holder):
        return Charge(CARD, card.memory, CARD)
    if holder.whole:
        slots, of = max(holder.slots, 1), max(card.slots, 1)
        part = CARD * slots // of
        return Charge(part, card.memory * slots // of, part)
    compute = _part(holder.cores, card.cores)
    return Charge(max(_part(holder.memory, card.memory), compute), max(holder.memory, 0), compute)


def _part(amount: int, of: int) -> int:
    return CARD * max(amount, 0) // of if of > 0 else 0


def _limited(charge: Charge, total: Charge, card: CardStatus) -> Charge:
    return Charge(
        _scaled(charge.card, total.card, CARD),
        _scaled(charge.memory, total.memory, max(card.memory, 0)),
        _scaled(charge.compute, total.compute, CARD),
    )


def _scaled(part: int, total: int, most: int) -> int:
    return part if total <= most else part * most // total
