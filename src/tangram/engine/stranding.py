"""How much of a card's remainder will never be used, if the expected slices keep coming.

A card with 30 % left is nearly worthless when pods ask for halves and nearly whole when they ask for tenths. For every
remainder the table holds the part expected to stay idle for good, assuming the card takes or refuses each arriving
slice so as to waste least, and gives up after about a hundred arrivals. It is worked out from small remainders to
large ones: taking a slice leads to a smaller remainder whose worth is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import floor

import numpy as np
from numpy.typing import NDArray

STEPS = 1000
"""Remainders are thousandths of a card."""
PATIENCE = 100
"""Arrivals after which a remainder nobody took counts as wasted."""


def stranded(slices: Iterable[tuple[int, float]]) -> NDArray[np.float64]:
    """Per remainder from 0 to `STEPS`, the thousandths expected to stay idle.

    `slices` are the expected sizes in thousandths of a card, each with how often it comes.
    """
    often: dict[int, float] = {}
    for size, weight in slices:
        if 0 < size <= STEPS and weight > 0:
            often[size] = often.get(size, 0.0) + weight
    total = sum(often.values())
    table = list(range(STEPS + 1))
    if total == 0:
        return np.array(table, np.float64)
    for left in range(1, STEPS + 1):
        waste, arrivals = left * total, total
        least = waste / arrivals
        # The least wasteful slices first: waiting for the others only pays while it lowers the mean.
        for after, weight in sorted(
            (table[left - size], weight) for size, weight in often.items() if size <= left
        ):
            waste += PATIENCE * after * weight
            arrivals += PATIENCE * weight
            least = min(least, waste / arrivals)
        table[left] = floor(least + 0.5)
    return np.array(table, np.float64)
