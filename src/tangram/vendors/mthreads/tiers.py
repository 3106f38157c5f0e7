"""The slice sizes that Moore Threads' kernel module makes without rounding up.

It rounds any other size up to the next of these and says nothing, so a card sold by what was asked for would hold
less than what was sold. The list is worked out from the card's own memory: powers of two from 1 GiB, and the card.

Pods write sizes in units of 512 MiB, and a kubelet counts whole units. A card whose memory is no multiple of one
(49,140 MiB of 49,152) is offered, asked for and checked as its whole units, which `card_units` alone works out: for
the webhook, the scheduler and the agent.
"""

from collections.abc import Iterable

from tangram.model.cards import Card, Vendor
from tangram.units.memory import SGPU_MEMORY_UNIT, Bytes, from_512mib_units

_SMALLEST_UNITS = 2


def card_units(memory: Bytes) -> int:
    """How many units all of a card with that much memory is; 0 for less than one."""
    return memory // SGPU_MEMORY_UNIT


def memory_tiers(memory: Bytes) -> tuple[Bytes, ...]:
    """Legal sizes on a card with that much memory, ascending; the last one is the card.

    Its whole units are legal as well where they are a little less: who asks for so many means all of it.
    """
    if memory <= 0:
        return ()
    units = card_units(memory)
    sizes = {from_512mib_units(each) for each in (*_powers_below(units), units) if each >= _SMALLEST_UNITS}
    return tuple(sorted({*sizes, memory}))


def legal_units(memory_per_card: tuple[int, ...]) -> tuple[int, ...]:
    """Legal `sgpu-memory` numbers on at least one of the shapes of card, ascending."""
    powers = {units for card in memory_per_card for units in _powers_below(card)}
    return tuple(sorted(powers.union(memory_per_card)))


def sizes_of(cards: Iterable[Card]) -> frozenset[int]:
    """The shapes of Moore Threads card among these, in whole units of 512 MiB; what is smaller than one is no shape."""
    return frozenset(card_units(card.memory) for card in cards if card.vendor is Vendor.MTHREADS) - {0}


def sizes_in_use(given: tuple[int, ...] | None, known: Iterable[int]) -> tuple[int, ...]:
    """The shapes of card that pods are read by: those that a configuration gives, or else those of the cards known.

    A configuration gives the size on the box. Where no card has it and some have one unit less, these are meant.
    """
    there = frozenset(known)
    if given is None:
        return tuple(sorted(there))
    return tuple(sorted({size - 1 if size not in there and size - 1 in there else size for size in given}))


def _powers_below(units: int) -> list[int]:
    powers: list[int] = []
    power = _SMALLEST_UNITS
    while power < units:
        powers.append(power)
        power *= 2
    return powers
