"""Which of the cards that fit are taken, on every node of a batch at once.

Two ways. *By order*: cards are ranked by the person's policy and taken from the best, as slices are. *By set*: cards
are chosen together from the topology tables, as whole and exclusive cards are. Ties go to the highest card number,
which is the order HAMi hands cards out in, so the same manifest lands on the same cards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangram.engine.columns import CLASS_NUMBER, Bools, CardUse, Int32s, Int64s
from tangram.engine.fit import Needs
from tangram.engine.layout import MOST_CARDS, CardSet
from tangram.engine.view import View
from tangram.model.cards import AppClass
from tangram.model.requests import CardOrder, CardWeights
from tangram.model.topology import TopologyScope

Floats = NDArray[np.float64]


class Choice(NamedTuple):
    """Cards taken for one ask, node by node. Only rows where `enough` holds mean anything."""

    enough: Bools
    turn: Int32s
    """0 for a card not taken, else its place in the order they were taken."""
    units: Int64s
    """How many units of the card were taken; more than one only for virtual functions and shared cards."""

    @property
    def taken(self) -> Bools:
        return self.turn > 0


def by_order(fits: Bools, units_free: Int32s | None, count: int, keys: list[Floats]) -> Choice:
    """Take cards from the best of the order down until the count is met.

    `units_free` is None when every card has exactly one unit to give.
    """
    left = fits.copy()
    wanted = np.full(fits.shape[0], count, np.int32)
    turn = np.zeros_like(fits, np.int32)
    # 64 bits: units are multiplied with bytes.
    units = np.zeros_like(fits, np.int64)
    rows = np.arange(fits.shape[0], dtype=np.intp)
    for place in range(1, count + 1):
        best = _best_column(left, keys)
        open_rows = (wanted > 0) & left[rows, best]
        if not open_rows.any():
            break
        at = (rows[open_rows], best[open_rows])
        got = (
            np.ones(at[0].size, np.int32)
            if units_free is None
            else np.minimum(units_free[at], wanted[open_rows])
        )
        turn[at] = place
        units[at] = got
        wanted[open_rows] -= got
        left[at] = False
    return Choice(wanted == 0, turn, units)


def _best_column(candidates: Bools, keys: list[Floats]) -> NDArray[np.intp]:
    """Per row, the candidate that is largest by the keys in turn; the highest column of those that tie."""
    tied = candidates
    for key in keys:
        masked = np.where(tied, key, -np.inf)
        tied = tied & (masked == masked.max(axis=1)[:, None])
    best = np.zeros(tied.shape[0], np.intp)
    for column in range(1, tied.shape[1]):
        best[tied[:, column]] = column
    return best


def order_keys(
    view: View,
    use: CardUse,
    needs: Needs,
    *,
    order: tuple[CardOrder, ...],
    weights: CardWeights,
    numa_first: bool,
) -> list[Floats]:
    """The ranking of cards under a policy, as keys of which larger is better."""
    numa = view.facts.numa.astype(np.float64)
    score = card_scores(view, use, needs, weights)
    if order == (CardOrder.MUTEX,):
        return [-use.slots.astype(np.float64), numa]
    ranked = [each for each in order if each in (CardOrder.BINPACK, CardOrder.SPREAD, CardOrder.NUMA)]
    if len(order) > 1 or CardOrder.NUMA in order:
        ranked = ranked or [CardOrder.SPREAD]
        if numa_first:
            ranked = [CardOrder.NUMA, *(each for each in ranked if each is not CardOrder.NUMA)]
        by_word = {CardOrder.BINPACK: score, CardOrder.SPREAD: -score, CardOrder.NUMA: numa}
        return [by_word[each] for each in ranked]
    if CardOrder.BINPACK in ranked:
        return [-numa, score] if numa_first else [score, numa]
    return [numa, -score] if numa_first else [-score, numa]


def online_keys(view: View) -> list[Floats]:
    """What online slices look at first: cards where they suspend nobody, then those with the fewest neighbours."""
    online = view.use.classes[:, :, CLASS_NUMBER[AppClass.ONLINE]].astype(np.float64)
    offline = view.use.classes[:, :, CLASS_NUMBER[AppClass.OFFLINE]].astype(np.float64)
    suspends = (online == 0) & (offline > 0)
    return [-suspends.astype(np.float64), -np.where(suspends, offline, online), -offline]


def card_scores(view: View, use: CardUse, needs: Needs, weights: CardWeights) -> Floats:
    """How full each card would be with the ask on it: HAMi's formula, up to 30 for equal weights."""
    facts = view.facts
    with np.errstate(divide="ignore", invalid="ignore"):
        # Divided before they are weighed: a weight may be as large as 32 bits allow, and whole numbers would overflow.
        score = (
            weights.slot * ((1 + use.slots) / facts.slots)
            + weights.core * ((needs.cores + use.cores) / facts.cores)
            + weights.memory * ((needs.memory + use.memory) / facts.memory)
        )
    return 10 * np.where(np.isfinite(score), score, 0.0)


def by_set(
    view: View, fits: Bools, count: int, *, least_damage: bool, scope: TopologyScope | None
) -> tuple[Choice, Bools]:
    """Take the best connected set of each node; also says where enough cards fit but not within the scope."""
    free = masks_of(fits)
    enough = (fits.sum(axis=1) >= count) & (view.nodes.table >= 0)
    taken_masks = np.zeros(free.size, np.int64)
    rows = np.flatnonzero(enough)
    if rows.size:
        key = (view.nodes.table[rows].astype(np.int64) << MOST_CARDS) | free[rows]
        distinct, back = np.unique(key, return_inverse=True)
        sets = [
            _best_set(view, int(each), count, least_damage=least_damage, scope=scope) for each in distinct
        ]
        found = np.array([0 if each is None else each.mask for each in sets], np.int64)
        taken_masks[rows] = found[back]
    outside_scope = enough & (taken_masks == 0)
    taken = cells_of(taken_masks, fits.shape[1])
    # Places count down from the highest card, the order in which they would have been walked.
    turn = np.where(taken, np.cumsum(taken[:, ::-1], axis=1, dtype=np.int32)[:, ::-1], 0).astype(np.int32)
    return Choice(enough & ~outside_scope, turn, taken.astype(np.int64)), outside_scope


def _best_set(
    view: View, key: int, count: int, *, least_damage: bool, scope: TopologyScope | None
) -> CardSet | None:
    table = view.tables[key >> MOST_CARDS]
    return table.best(key & ((1 << MOST_CARDS) - 1), count, least_damage=least_damage, scope=scope)


def reach_of(view: View, taken: Bools, scope: TopologyScope) -> Bools:
    """The cards that may join those taken without leaving the scope; where no table tells, only those taken.

    Rows that have taken nothing yet may take anything.
    """
    masks = masks_of(taken)
    key = (view.nodes.table.astype(np.int64) << MOST_CARDS) | masks
    distinct, back = np.unique(key, return_inverse=True)
    reached = np.array(
        [
            view.tables[int(each) >> MOST_CARDS].reach(int(each) & ((1 << MOST_CARDS) - 1), scope)
            if each >= 0
            else 0
            for each in distinct
        ],
        np.int64,
    )
    untouched = masks == 0
    return cells_of(reached[back], taken.shape[1]) | taken | untouched[:, None]


def masks_of(cells: Bools) -> Int64s:
    """Per row, the marked columns as the bits of a number. Rows wider than a table are cut; they have no table."""
    width = min(cells.shape[1], MOST_CARDS)
    return cells[:, :width] @ (1 << np.arange(width, dtype=np.int64))


def cells_of(masks: Int64s, width: int) -> Bools:
    """The opposite of `masks_of`."""
    columns = np.minimum(np.arange(width, dtype=np.int64), MOST_CARDS)
    return ((masks[:, None] >> columns) & 1).astype(np.bool_)
