"""A pod's containers laid onto every node of a batch, one ask after another.

The same function serves a filter over five thousand nodes and an explanation of one, so the two cannot disagree. App
containers and sidecars add up; ordinary init containers run before them and are given the pod's own cards again when
those suffice, because the kubelet hands an init container's devices on to the containers after it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np

from tangram.engine.arrange import Arrangement, Step, arrange
from tangram.engine.choose import Choice, Floats, by_order, by_set, online_keys, order_keys, reach_of
from tangram.engine.columns import (
    CLASS_NUMBER,
    QOS_NUMBER,
    VENDOR_NUMBER,
    Bools,
    CardUse,
    Int32s,
    Int64s,
    copy_of,
)
from tangram.engine.fit import Needs, Rules, card_rules
from tangram.engine.view import View
from tangram.model.cards import AppClass
from tangram.model.pods import Role
from tangram.model.requests import Ask, AskKind, CardOrder, NodePolicy, Request
from tangram.model.topology import TopologyScope
from tangram.model.verdicts import CardRule, NodeRule

Order = tuple[CardOrder, ...]


class Defaults(msgspec.Struct, frozen=True):
    """What the cluster's administrator chose for pods that do not say."""

    node_policy: NodePolicy = NodePolicy.BINPACK
    card_order: tuple[CardOrder, ...] = (CardOrder.SPREAD,)
    zone_aware: bool = False


class StepChoice(NamedTuple):
    step: Step
    choice: Choice
    needs: Needs
    rules: Rules


class Together(NamedTuple):
    """What the containers that share one card take of it at their highest moment."""

    memory: Int64s
    cores: Int32s
    slots: int


@dataclass(slots=True)
class Placement:
    """Where every node of the batch would put the pod, or the first thing that stopped it."""

    rule: Rules
    """`NodeRule` per row."""
    failed_step: Int32s
    """Index into the request's steps, where the rule is about cards."""
    card_rule: Rules
    """`CardRule` per card at the step that failed (or the last one tried)."""
    choices: list[StepChoice] = field(default_factory=list)
    arrangement: Arrangement = field(default_factory=lambda: Arrangement([]))
    together: Together | None = None
    """Set when containers were tried as one, on one card: those of the arrangement's group."""

    @property
    def fits(self) -> Bools:
        return self.rule == NodeRule.FITS

    def together_at(self, step: int) -> Together | None:
        """What is needed of one card for the step and all that share the card with it; None if none does."""
        return self.together if step in self.arrangement.group else None


def place(view: View, request: Request, defaults: Defaults, start: Rules) -> Placement:
    """Try the request on every row whose `start` rule is `FITS`."""
    arrangement = arrange(request)
    steps, group = arrangement.steps, arrangement.group
    placement = Placement(
        rule=start.copy(),
        failed_step=np.zeros(view.height, np.int32),
        card_rule=np.zeros(view.facts.present.shape, np.uint8),
        arrangement=arrangement,
    )
    staying = _Working(view.use, shared=True)
    order = request.card_order or defaults.card_order
    scope = request.required_scope if request.required_scope is not TopologyScope.NODE else None
    for number, step in enumerate(steps):
        if number in group:
            if number == group.start:
                within = _within(view, placement, scope)
                _place_on_one_card(view, staying.use, request, placement, order=order, within=within)
            if step.role is not Role.INIT and group.stop < len(steps):
                staying.add(placement.choices[number].choice, placement.choices[number].needs, request)
            continue
        use = staying.use if step.role is not Role.INIT else _during_init(view, request, placement, step).use
        own = _own_cards(placement) if step.role is Role.INIT else None
        within = _within(view, placement, scope)
        result = _take(view, use, request, step, order=order, own=own, within=within)
        _note(view, placement, number, step, result)
        placement.choices.append(StepChoice(step, result.choice, result.needs, result.rules))
        if step.role is not Role.INIT and number + 1 < len(steps):
            staying.add(result.choice, result.needs, request)
    if arrangement.several:
        placement.rule[placement.fits & ~view.nodes.managed] = NodeRule.CARD_PER_CONTAINER
    return placement


class _Taken(NamedTuple):
    rules: Rules
    needs: Needs
    choice: Choice
    outside_scope: Bools | None


class _Working:
    """Card use that grows while containers are laid down; copied on the first change."""

    def __init__(self, use: CardUse, *, shared: bool) -> None:
        self.use = use
        self._shared = shared

    def add(self, choice: Choice, needs: Needs, request: Request) -> None:
        if self._shared:
            self.use, self._shared = copy_of(self.use), False
        use, units, taken = self.use, choice.units, choice.taken
        use.memory += units * needs.memory
        use.cores += (units * needs.cores).astype(np.int32)
        use.slots += units.astype(np.int32)
        use.classes[:, :, CLASS_NUMBER[request.app_class]] += taken
        if request.qos is not None and request.app_class is not AppClass.ONLINE:
            use.qos[:, :, QOS_NUMBER[request.qos]] += taken


def _during_init(view: View, request: Request, placement: Placement, step: Step) -> _Working:
    """What an init container finds: the node as it was, plus the sidecars started before it."""
    working = _Working(view.use, shared=True)
    for earlier in placement.choices:
        if earlier.step.role is Role.SIDECAR and earlier.step.container < step.container:
            working.add(earlier.choice, earlier.needs, request)
    return working


def _within(view: View, placement: Placement, scope: TopologyScope | None) -> Bools | None:
    """The cards within the required scope of those taken so far; None where there is nothing to be near to."""
    held = None if scope is None else _own_cards(placement)
    return None if scope is None or held is None else reach_of(view, held, scope)


def _own_cards(placement: Placement) -> Bools | None:
    taken = [each.choice.taken for each in placement.choices]
    return np.logical_or.reduce(taken) if taken else None


def _take(
    view: View,
    use: CardUse,
    request: Request,
    step: Step,
    *,
    order: Order,
    own: Bools | None,
    within: Bools | None,
) -> _Taken:
    """Fit one ask and take its cards: only those `within` reach of the pod's other cards where a scope demands it, and
    the pod's own cards (`own`) where those suffice.
    """
    ask = step.ask
    rules, needs = card_rules(view, use, ask, request, mutex=CardOrder.MUTEX in order, only=within)
    fits = rules == CardRule.FITS
    units_free = _units_free(view, use, ask)
    if own is not None:
        units = 1 if units_free is None else units_free
        sufficient = ((fits & own) * units).sum(axis=1) >= ask.count
        fits &= own | ~sufficient[:, None]

    def ordered() -> Choice:
        return by_order(fits, units_free, ask.count, keys_of(view, use, needs, request, order))

    scope = request.required_scope if request.required_scope is not TopologyScope.NODE else None
    as_set = chosen_as_set(view, request, ask, order)
    if not as_set.any():
        return _Taken(rules, needs, *_inside_one_card(ordered(), scope))
    choice, outside = by_set(
        view, fits & as_set[:, None], ask.count, least_damage=least_damage(request, ask), scope=scope
    )
    if not as_set.all():
        other, other_outside = _inside_one_card(ordered(), scope)
        choice = _rowwise(as_set, choice, other)
        outside = np.where(as_set, outside, other_outside)
    return _Taken(rules, needs, choice, outside)


def keys_of(view: View, use: CardUse, needs: Needs, request: Request, order: Order) -> list[Floats]:
    """What cards are ranked by where no connections decide, as keys of which larger is better."""
    keys = order_keys(view, use, needs, order=order, weights=request.weights, numa_first=request.numa_first)
    return [*online_keys(view), *keys] if request.app_class is AppClass.ONLINE else keys


def _inside_one_card(choice: Choice, scope: TopologyScope | None) -> tuple[Choice, Bools]:
    """Cards that no table tells the distance of: only units of one card are known to lie within a scope."""
    several = choice.enough & (choice.taken.sum(axis=1) > 1) & (scope is not None)
    return choice._replace(enough=choice.enough & ~several), several


def _rowwise(where: Bools, one: Choice, other: Choice) -> Choice:
    """The first choice in the rows marked, the second elsewhere."""
    cells = where[:, None]
    return Choice(
        np.where(where, one.enough, other.enough),
        np.where(cells, one.turn, other.turn),
        np.where(cells, one.units, other.units),
    )


def chosen_as_set(view: View, request: Request, ask: Ask, order: Order) -> Bools:
    """Per row, whether connections decide. Parts of cards go by the person's order unless links were asked for."""
    tabled = view.nodes.table >= 0
    if ask.kind is AskKind.WHOLE:
        return tabled & ~view.facts.several_units.any(axis=1)
    if ask.count > 1 and (CardOrder.TOPOLOGY in order or request.required_scope is not None):
        return tabled
    if request.app_class is not None:
        return np.zeros(view.height, np.bool_)
    if ask.cores is None:
        return tabled
    own = view.facts.vendor == VENDOR_NUMBER[ask.vendor]
    return tabled & (np.where(own, view.facts.cores, 0).max(axis=1, initial=0) <= ask.cores)


def least_damage(request: Request, ask: Ask) -> bool:
    """Whether the damage to other cards comes before how the pod's own are joined.

    Only the person's own word about cards puts it there, and for whole cards alone: exclusive slices follow the links
    whatever order of cards is asked for. The node's policy says which node it is and nothing about its cards.
    """
    packing = [word for word in request.card_order if word in (CardOrder.BINPACK, CardOrder.SPREAD)]
    links = CardOrder.TOPOLOGY in request.card_order
    return ask.kind is AskKind.WHOLE and packing[:1] == [CardOrder.BINPACK] and not links


def _units_free(view: View, use: CardUse, ask: Ask) -> Int32s | None:
    if ask.kind is AskKind.SLICE or not view.facts.several_units.any():
        return None
    facts = view.facts
    free = facts.slots - use.slots
    # A card may hold more than its units add up to, when its mode changed under a tenant or a guess was charged to it.
    for left, unit in (
        (facts.memory - use.memory, facts.unit_memory),
        (facts.cores - use.cores, facts.unit_cores),
    ):
        free = np.where(unit > 0, np.minimum(free, left // np.maximum(unit, 1)), free)
    return np.where(facts.several_units, free, 1).astype(np.int32)


def _note(view: View, placement: Placement, number: int, step: Step, result: _Taken) -> None:
    """Record what this step did to the rows that were still in the running."""
    running = placement.rule == NodeRule.FITS
    failing = running & ~result.choice.enough
    if not failing.any():
        return
    offered = (result.rules == CardRule.FITS) | (result.rules > CardRule.MODE)
    units = np.where(view.facts.several_units, view.facts.slots, 1)
    too_few = failing & ((offered * units).sum(axis=1) < step.ask.count)
    placement.rule[failing] = NodeRule.CARDS
    placement.rule[too_few] = NodeRule.NO_SUCH_CARDS
    if result.outside_scope is not None:
        placement.rule[failing & result.outside_scope] = NodeRule.SCOPE
    placement.failed_step[failing] = number
    placement.card_rule[failing] = result.rules[failing]


def _place_on_one_card(
    view: View, use: CardUse, request: Request, placement: Placement, *, order: Order, within: Bools | None
) -> None:
    """The containers of the group on the same card: it must fit each of them, and all of them together."""
    group = placement.arrangement.group
    steps = placement.arrangement.steps[group.start : group.stop]
    mutex = CardOrder.MUTEX in order
    rules = np.zeros(view.facts.present.shape, np.uint8)
    each_needs: list[Needs] = []
    for step in reversed(steps):
        own_rules, needs = card_rules(view, use, step.ask, request, mutex=mutex, only=within)
        np.copyto(rules, own_rules, where=own_rules != CardRule.FITS)
        each_needs.insert(0, needs)
    placement.together = memory, cores, slots = _peak(view, steps, each_needs)
    facts = view.facts
    passing = rules == CardRule.FITS
    for rule, short in (
        (CardRule.CORES, facts.cores - use.cores < cores),
        (CardRule.MEMORY, facts.memory - use.memory < memory),
        (CardRule.SLOTS, facts.slots - use.slots < slots),
    ):
        np.putmask(rules, passing & short, rule.value)
    needs = Needs(memory, cores)
    keys = order_keys(view, use, needs, order=order, weights=request.weights, numa_first=request.numa_first)
    choice = by_order(rules == CardRule.FITS, None, 1, keys)
    _note(view, placement, group.start, steps[0], _Taken(rules, needs, choice, None))
    placement.choices.extend(
        StepChoice(step, choice, needs, rules) for step, needs in zip(steps, each_needs, strict=True)
    )


def _peak(view: View, steps: list[Step], needs: list[Needs]) -> Together:
    """The largest hold of all containers on one card, as `usage.holds_of` would count it."""
    zero = np.zeros(view.facts.present.shape, np.int64)
    memory, cores, slots = zero.copy(), zero.copy(), 0
    init_memory, init_cores, init_slots = zero.copy(), zero.copy(), 0
    for step, need in zip(steps, needs, strict=True):
        if step.role is not Role.INIT:
            memory, cores, slots = memory + need.memory, cores + need.cores, slots + 1
    for step, need in zip(steps, needs, strict=True):
        if step.role is Role.INIT:
            before = [
                mate_need
                for mate, mate_need in zip(steps, needs, strict=True)
                if mate.role is Role.SIDECAR and mate.container < step.container
            ]
            init_memory = np.maximum(init_memory, need.memory + sum((each.memory for each in before), zero))
            init_cores = np.maximum(init_cores, need.cores + sum((each.cores for each in before), zero))
            init_slots = max(init_slots, 1 + len(before))
    return Together(
        np.maximum(memory, init_memory),
        np.maximum(cores, init_cores).astype(np.int32),
        max(slots, init_slots),
    )
