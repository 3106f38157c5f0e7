"""The slice sizes that Moore Threads' kernel module makes without rounding up.

It rounds any other size up to the next of these and says nothing, so a card sold by what was asked for would hold
less than what was sold. The list is worked out from the card's own memory: powers of two from 1 GiB, and the card.
"""

from collections.abc import Iterable

from tangram.model.cards import Card, Vendor
from tangram.units.memory import SGPU_MEMORY_UNIT, Bytes, from_512mib_units

_SMALLEST_UNITS = 2


def memory_tiers(memory: Bytes) -> tuple[Bytes, ...]:
    """Legal sizes on a card with that much memory, ascending; the last one is the card."""
    if memory <= 0:
        return ()
    below = _powers_below(-(-memory // SGPU_MEMORY_UNIT))
    return (*(size for units in below if (size := from_512mib_units(units)) < memory), memory)


def legal_units(memory_per_card: tuple[int, ...]) -> tuple[int, ...]:
    """Legal `sgpu-memory` numbers on at least one of the shapes of card, ascending."""
    powers = {units for card in memory_per_card for units in _powers_below(card)}
    return tuple(sorted(powers.union(memory_per_card)))


def sizes_of(cards: Iterable[Card]) -> frozenset[int]:
    """The shapes of Moore Threads card among these, in whole units of 512 MiB; what is smaller than one is no shape."""
    return frozenset(card.memory // SGPU_MEMORY_UNIT for card in cards if card.vendor is Vendor.MTHREADS) - {
        0
    }


def _powers_below(units: int) -> list[int]:
    powers: list[int] = []
    power = _SMALLEST_UNITS
    while power < units:
        powers.append(power)
        power *= 2
    return powers
