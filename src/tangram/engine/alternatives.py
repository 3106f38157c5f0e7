"""The cards a pod has or would get on one node, and the best ones that it was not given, each with what it is worth.

Where connections decide, the set that does the least damage is among them, because what was paid for the links of the
chosen one is the difference between the two.

Nothing here decides. The set that is chosen is what the filter chooses there; the runner-up is the best other set by
the measure that chose: connections where cards are taken together, the room that is left under `frag`, and else the
order in which cards are tried. What several containers get is told as one set; the runner-up is then what the pod would
get if its first container with cards could not have the last of its own.

A pod that holds its cards already is weighed as if it did not. Pods have come and gone since, so what it holds may by
now be worth less than the other set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from tangram.engine.arrange import Step
from tangram.engine.filter import Candidates, Outcome, filter_nodes, uses_frag
from tangram.engine.fit import Needs
from tangram.engine.frag import FragScores, slice_to_move
from tangram.engine.layout import CardSet
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults, chosen_as_set, keys_of, least_damage
from tangram.engine.topology import TopologyTable
from tangram.model.allocations import Allocation
from tangram.model.nodes import Node
from tangram.model.requests import Request
from tangram.model.topology import TopologyScope
from tangram.model.verdicts import CardRule
from tangram.units.ids import CardUuid, NodeName

Units = Counter[int]
"""How much of each column of the node the first container with cards takes."""


class Weighed(NamedTuple):
    cards: tuple[CardUuid, ...]
    """Of all containers."""
    chosen: bool
    score: float
    """Larger is better, and comparable with the other set alone."""
    loss: float = 0.0
    least_loss: bool = False
    """No other set that may be taken cuts less from the cards that stay. Only where connections chose."""


def alternatives(
    ledger: Ledger,
    request: Request,
    name: NodeName,
    defaults: Defaults,
    *,
    frag: FragScores | None = None,
) -> tuple[Weighed, ...]:
    """What the pod holds or would get on that node, then the runner-up, then the set with the least loss if that is
    another. Empty where there is nothing to choose.
    """
    node, holding = ledger.node(name), ledger.holding(request.pod.uid)
    elsewhere = holding is not None and holding.bound and holding.tenant.allocation.node != name
    if node is None or elsewhere or not request.asks_for_cards:
        return ()
    held = None if holding is None else holding.tenant.allocation
    here = held if held is not None and held.node == name and held.cards else None
    weighing = _Weighing(ledger, request, node, defaults, frag, host_checked=here is not None)
    given = here or weighing.now.allocation
    if given is None or not given.cards:
        return ()
    other = weighing.other(given)
    return () if other is None else weighing.compared(given, other)


class _Weighing:
    """One node as the request finds it."""

    def __init__(
        self,
        ledger: Ledger,
        request: Request,
        node: Node,
        defaults: Defaults,
        frag: FragScores | None,
        *,
        host_checked: bool,
    ) -> None:
        self._ledger = ledger
        self._request = request
        self._node = node
        self._defaults = defaults
        self._frag = frag
        self._here = Candidates(names=(node.name,), host_checked=host_checked)
        self._columns = {card.uuid: column for column, card in enumerate(node.cards)}
        self.now = self._filter(request)
        self._step: Step = self.now.placement.choices[0].step

    def other(self, given: Allocation) -> Allocation | tuple[CardUuid, ...] | None:
        """The best set of cards that is not the one given."""
        now = self.now.allocation
        if now is not None and set(now.cards) != set(given.cards):
            # It holds what would not be chosen any more.
            return now
        # In the order in which they would be taken, which is not always the one they were written down in.
        units = self._units(now or given)
        table = self._table()
        if table is not None and len(self.now.placement.choices) == 1:
            found = table.other(
                self._free() | _mask(units),
                self._step.ask.count,
                than=_mask(units),
                least_damage=self._least_damage,
                scope=self._scope,
            )
            return found and self._cards_of(found)
        return self._without_one(given, units, every=table is not None)

    def compared(self, given: Allocation, other: Allocation | tuple[CardUuid, ...]) -> tuple[Weighed, ...]:
        """The sets with what they are worth by the measure that chose."""
        cards = other.cards if isinstance(other, Allocation) else other
        one, two = self._units(given), self._units(other)
        table = self._table()
        if table is not None:
            return self._by_connections(table, given.cards, _mask(one), cards, _mask(two))
        ours, theirs = self._by_room(given.cards, cards) if self._moved else self._by_order(one, two)
        return Weighed(given.cards, True, ours), Weighed(cards, False, theirs)  # noqa: FBT003 - a record's field

    # --- the measures --------------------------------------------------------------------------------------------

    @property
    def _moved(self) -> bool:
        """Whether `frag` chose the card."""
        return (
            uses_frag(self._request, self._defaults)
            and slice_to_move(self._request, self.now.placement) is not None
        )

    def _by_connections(
        self,
        table: TopologyTable,
        given: tuple[CardUuid, ...],
        one: int,
        other: tuple[CardUuid, ...],
        two: int,
    ) -> tuple[Weighed, ...]:
        first, second = (table.worth(each, self._free()) for each in (one, two))
        mildest = self._mildest(table, one)
        least = None if mildest is None else mildest.loss
        found = [
            Weighed(given, True, first.score, first.loss, first.loss == least),  # noqa: FBT003 - a record's field
            Weighed(other, False, second.score, second.loss, second.loss == least),  # noqa: FBT003 - a record's field
        ]
        if mildest is not None and not any(each.least_loss for each in found):
            cards = self._cards_of(mildest)
            found.append(Weighed(cards, False, mildest.score, mildest.loss, True))  # noqa: FBT003 - a record's field
        return tuple(found)

    def _mildest(self, table: TopologyTable, given: int) -> CardSet | None:
        """The set with the least loss. None for several containers, each of which does damage of its own, and where
        nothing is known of how the cards are joined: then nothing can be said of what a choice costs.
        """
        if len(self.now.placement.choices) > 1 or not any(table.layout.weights):
            return None
        free, count = self._free() | given, self._step.ask.count
        return table.best(free, count, least_damage=True, scope=self._scope)

    @property
    def _least_damage(self) -> bool:
        return least_damage(self._request, self._step.ask)

    @property
    def _scope(self) -> TopologyScope | None:
        scope = self._request.required_scope
        return None if scope is TopologyScope.NODE else scope

    def _table(self) -> TopologyTable | None:
        """Where connections chose the cards of the first container."""
        view, order = self.now.view, self._request.card_order or self._defaults.card_order
        if self.now.placement.together_at(0) is not None or self._moved:
            return None
        as_set = chosen_as_set(view, self._request, self._step.ask, order)
        return view.tables[int(view.nodes.table[0])] if bool(as_set[0]) else None

    def _by_room(self, *sets: tuple[CardUuid, ...]) -> list[float]:
        """What `frag` would give each for the room it leaves; nothing for one that could not be taken now."""
        found = [self._filter(self._only(frozenset(cards))) for cards in sets]
        return [float(each.score[0]) if each.node is not None else 0.0 for each in found]

    def _by_order(self, one: Units, other: Units) -> tuple[float, float]:
        """Both by the first key that tells them apart."""
        view, placement = self.now.view, self.now.placement
        order = self._request.card_order or self._defaults.card_order
        together = placement.together_at(0)
        needs = placement.choices[0].needs if together is None else Needs(together.memory, together.cores)
        worths = (0.0, 0.0)
        for key in keys_of(view, view.use, needs, self._request, order):
            worths = _sum(key[0], one), _sum(key[0], other)
            if worths[0] != worths[1]:
                break
        return worths

    # --- asking the filter ---------------------------------------------------------------------------------------

    def _filter(self, request: Request) -> Outcome:
        return filter_nodes(self._ledger, request, self._defaults, self._here, frag=self._frag)

    def _without_one(self, given: Allocation, units: Units, *, every: bool) -> Allocation | None:
        """What the filter gives when a card may not be taken: the last one of an order, or of a set each in turn."""
        last = next((column for column in reversed(units)), None)
        table = self._table()
        best: tuple[tuple[int, ...], Allocation] | None = None
        for column in units if every else () if last is None else (last,):
            found = self._filter(self._forbidding(self._node.cards[column].uuid)).allocation
            if found is None or set(found.cards) == set(given.cards):
                continue
            mask = _mask(self._units(found))
            worth = (
                (mask,) if table is None else table.rank(mask, self._free(), least_damage=self._least_damage)
            )
            if best is None or worth > best[0]:
                best = worth, found
        return None if best is None else best[1]

    def _forbidding(self, card: CardUuid) -> Request:
        cards = self._request.cards
        return replace(self._request, cards=replace(cards, not_uuids=cards.not_uuids | {card}))

    def _only(self, wanted: frozenset[CardUuid]) -> Request:
        return replace(self._request, cards=replace(self._request.cards, only_uuids=wanted))

    def _cards_of(self, found: CardSet) -> tuple[CardUuid, ...]:
        return tuple(card.uuid for column, card in enumerate(self._node.cards) if found.mask >> column & 1)

    def _free(self) -> int:
        fits = self.now.placement.choices[0].rules[0] == CardRule.FITS
        return _mask(np.flatnonzero(fits[: len(self._node.cards)]).tolist())

    def _units(self, given: Allocation | tuple[CardUuid, ...]) -> Units:
        """Of the first container with cards; of a bare set each card once."""
        if not isinstance(given, Allocation):
            return Counter(self._columns[card] for card in given)
        position = self._step.container
        shares = given.containers[position].shares if position < len(given.containers) else ()
        return Counter(self._columns[share.card] for share in shares if share.card in self._columns)


def _mask(columns: Iterable[int]) -> int:
    return sum(1 << column for column in set(columns))


def _sum(key: np.ndarray[tuple[int, ...], np.dtype[np.float64]], units: Units) -> float:
    return float(sum(key[column] * times for column, times in units.items()))
