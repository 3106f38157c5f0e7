"""Why a pod goes where it goes, or waits: for every node and card the first failing rule, and by how much.

Nothing is worked out a second way. An explanation runs the filter and reads what the filter found, so the two agree by
construction.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tangram.engine.allocate import allocation_at
from tangram.engine.columns import CLASS_NUMBER, QOS_NUMBER
from tangram.engine.filter import Outcome, lacking_counted
from tangram.engine.hostrules import first_broken_rule
from tangram.engine.ledger import Ledger
from tangram.engine.place import Placement, StepChoice
from tangram.engine.usage import Hold, plus
from tangram.engine.view import View
from tangram.model.cards import AppClass, Card, CardMode, QosPolicy
from tangram.model.counted import COUNTED, Counted
from tangram.model.nodes import Node
from tangram.model.pods import Role
from tangram.model.requests import Ask, AskKind, Request
from tangram.model.verdicts import CardRule, CardVerdict, Explanation, NodeRule, NodeVerdict
from tangram.units.quantity import Format, Quantity

_HOST_RULES = (NodeRule.UNSCHEDULABLE, NodeRule.SELECTOR, NodeRule.AFFINITY, NodeRule.TAINT)


def explanation_of(ledger: Ledger, request: Request, outcome: Outcome, rows: Iterable[int]) -> Explanation:
    """The filter's decision with its reasons, for the nodes at those rows of its view, in the order of their names.

    Suggestions are `suggest`'s part.
    """
    verdicts = [node_verdict(ledger, request, outcome, at) for at in rows]
    return Explanation(
        chosen=outcome.node,
        allocation=outcome.allocation,
        nodes=tuple(sorted(verdicts, key=lambda verdict: verdict.node)),
    )


def node_verdict(ledger: Ledger, request: Request, outcome: Outcome, at: int) -> NodeVerdict:
    """What the filter found about the node at that row of its view."""
    node = ledger.node_at(int(outcome.view.rows[at]))
    rule = NodeRule(int(outcome.placement.rule[at]))
    view = outcome.view
    if rule is NodeRule.FITS:
        return NodeVerdict(
            node=node.name,
            rule=rule,
            cards=_card_verdicts(node, request, outcome, at),
            score=float(outcome.score[at]),
            allocation=allocation_at(node, request, outcome.placement, at),
        )
    if rule in _HOST_RULES:
        return NodeVerdict(node=node.name, rule=rule, detail=first_broken_rule(node, request.placing)[1])
    if rule is NodeRule.HOST_CPU:
        free = int(view.nodes.cpu_free[at])
        return NodeVerdict(node=node.name, rule=rule, need=request.host.cpu_milli, have=free)
    if rule is NodeRule.HOST_MEMORY:
        free = int(view.nodes.memory_free[at])
        return NodeVerdict(node=node.name, rule=rule, need=request.host.memory, have=free)
    if rule is NodeRule.HOST_PODS:
        return NodeVerdict(node=node.name, rule=rule, need=1)
    if rule is NodeRule.HOST_COUNTED:
        return _counted_verdict(node, request, view, at)
    if rule is NodeRule.CARD_PER_CONTAINER:
        return NodeVerdict(node=node.name, rule=rule, cards=_card_verdicts(node, request, outcome, at))
    failed = int(outcome.placement.failed_step[at])
    step = outcome.placement.arrangement.steps[failed]
    cells = _cells(node, outcome, at)
    return NodeVerdict(
        node=node.name,
        rule=rule,
        container="" if outcome.placement.together_at(failed) else request.containers[step.container].name,
        need=step.ask.count,
        have=_offered(node, step.ask) if rule is NodeRule.NO_SUCH_CARDS else _usable(cells, node, step.ask),
        detail="" if request.required_scope is None else request.required_scope.value,
        cards=_card_verdicts(node, request, outcome, at),
    )


def _counted_verdict(node: Node, request: Request, view: View, at: int) -> NodeVerdict:
    """The first of Koordinator's amounts that the node's kubelet would stumble over."""
    lacking = lacking_counted(view, request)[at]
    first = int(np.flatnonzero(lacking)[0])
    stated, free = node.host.counted[first] or 0, int(view.nodes.counted_free[at, first])
    need = request.host.counted[first]
    amounts = (stated, stated - free, need)
    said, taken, asked = (_counted_text(COUNTED[first], amount) for amount in amounts)
    return NodeVerdict(
        node=node.name,
        rule=NodeRule.HOST_COUNTED,
        need=need,
        have=free,
        detail=f"states {COUNTED[first]} {said}, its pods request {taken} and this one {asked}: "
        "its kubelet would refuse the pod",
    )


def _counted_text(name: Counted, amount: int) -> str:
    return Quantity.whole(
        amount, Format.BINARY_SI if name is Counted.MEMORY else Format.DECIMAL_SI
    ).canonical()


def _card_verdicts(node: Node, request: Request, outcome: Outcome, at: int) -> tuple[CardVerdict, ...]:
    """Every card at the step that failed, or at the first one where nothing did."""
    cells = _cells(node, outcome, at) if outcome.placement.choices else []
    return tuple(_card_verdict(cell, card, request) for cell, card in zip(cells, node.cards, strict=False))


def _cells(node: Node, outcome: Outcome, at: int) -> list[_Cell]:
    return [_Cell(outcome, at, column) for column in range(len(node.cards))]


def _offered(node: Node, ask: Ask) -> int:
    whole = ask.kind is AskKind.WHOLE
    return sum(
        card.slots if _in_units(card) else 1
        for card in node.cards
        if card.vendor is ask.vendor and (card.offered_whole if whole else card.offered_sliced)
    )


def _usable(cells: list[_Cell], node: Node, ask: Ask) -> int:
    """How many of the cards, or units of cards, pass."""
    passing = [
        (cell, card) for cell, card in zip(cells, node.cards, strict=True) if cell.rule is CardRule.FITS
    ]
    if ask.kind is AskKind.SLICE:
        return len(passing)
    return sum(card.slots - _used_before(cell).slots if _in_units(card) else 1 for cell, card in passing)


def _in_units(card: Card) -> bool:
    return card.mode in (CardMode.VIRTUAL, CardMode.SHARED)


class _Cell(NamedTuple):
    """One card of one node in an outcome."""

    outcome: Outcome
    row: int
    column: int

    @property
    def rule(self) -> CardRule:
        placement = self.outcome.placement
        passed = placement.rule[self.row] in (NodeRule.FITS, NodeRule.CARD_PER_CONTAINER)
        rules = placement.choices[0].rules if passed else placement.card_rule
        return CardRule(int(rules[self.row, self.column]))


def _card_verdict(cell: _Cell, card: Card, request: Request) -> CardVerdict:
    rule = cell.rule
    used, needed = _used_before(cell), _needed(cell)
    holders = int(cell.outcome.view.use.classes[cell.row, cell.column].sum())
    size = _illegal_size(cell, card) if rule is CardRule.MEMORY_TIER else 0
    amounts: dict[CardRule, tuple[int, int]] = {
        CardRule.MEMORY: (needed.memory, card.memory - used.memory),
        CardRule.CORES: (needed.cores, card.cores - used.cores),
        CardRule.COMPUTE_TAKEN: (needed.cores, card.cores - used.cores),
        CardRule.SLOTS: (needed.slots, card.slots - used.slots),
        CardRule.EXCLUSIVE: (0, max(holders, 1)),
        CardRule.MUTEX: (0, max(holders, 1)),
        CardRule.MEMORY_TIER: (size, max((tier for tier in card.memory_tiers if tier <= size), default=0)),
    }
    need, have = amounts.get(rule, (0, 0))
    detail = _detail(cell, card, request)
    return CardVerdict(card.uuid, card.index, rule, need, have, detail, _sliceable(rule, need, card))


def _sliceable(rule: CardRule, need: int, card: Card) -> int:
    """What slices of the card can have. A sliced card refuses only slices for memory, and so does any card for more
    memory than it has: one unit of a whole card never needs that much.
    """
    if rule is not CardRule.MEMORY:
        return 0
    return card.memory if card.mode is CardMode.SLICED or need > card.memory else 0


def _needed(cell: _Cell) -> Hold:
    """What the filter looked for on this card: one unit of the failing ask, or the whole pod where it goes as one."""
    placement, at = cell.outcome.placement, (cell.row, cell.column)
    together = placement.together_at(int(placement.failed_step[cell.row]))
    if together is not None:
        memory, cores, slots = together
        return Hold(int(memory[at]), int(cores[at]), slots)
    return _one_unit(placement.choices[int(placement.failed_step[cell.row])], cell)


def _one_unit(chosen: StepChoice, cell: _Cell) -> Hold:
    memory, cores = (
        need if isinstance(need, int) else int(need[cell.row, cell.column]) for need in chosen.needs
    )
    return Hold(memory, cores, 1)


def _illegal_size(cell: _Cell, card: Card) -> int:
    """The first slice size of the pod that the card cannot make."""
    placement = cell.outcome.placement
    failed = int(placement.failed_step[cell.row])
    group = placement.arrangement.group if placement.together_at(failed) else range(failed, failed + 1)
    tried = placement.choices[group.start : group.stop]
    sizes = [_one_unit(chosen, cell).memory for chosen in tried]
    return next((size for size in sizes if size not in card.memory_tiers), 0)


def _detail(cell: _Cell, card: Card, request: Request) -> str:
    match cell.rule:
        case CardRule.QOS:
            counts = cell.outcome.view.use.qos[cell.row, cell.column]
            others = [
                policy for policy in QosPolicy if policy is not request.qos and counts[QOS_NUMBER[policy]]
            ]
            return ", ".join(others)
        case CardRule.APP_CLASS:
            counts = cell.outcome.view.use.classes[cell.row, cell.column]
            return ", ".join(each or "unclassed" for each in (*AppClass, None) if counts[CLASS_NUMBER[each]])
        case CardRule.HEALTH:
            return card.health_reason
        case CardRule.MODE:
            return card.mode
        case CardRule.VENDOR:
            return card.vendor
        case CardRule.PRODUCT:
            return card.product
        case _:
            return ""


def _used_before(cell: _Cell) -> Hold:
    """What was in use when the failing container was tried: tenants, and this pod's containers before it."""
    use, placement = cell.outcome.view.use, cell.outcome.placement
    at = (cell.row, cell.column)
    used = Hold(int(use.memory[at]), int(use.cores[at]), int(use.slots[at]))
    for chosen in _in_effect(placement, int(placement.failed_step[cell.row])):
        for _ in range(int(chosen.choice.units[at])):
            used = plus(used, _one_unit(chosen, cell))
    return used


def _in_effect(placement: Placement, failed_step: int) -> list[StepChoice]:
    """Choices that were standing when a step was tried: for an init container only the sidecars before it."""
    if failed_step >= len(placement.choices):
        return []
    step = placement.choices[failed_step].step
    earlier = placement.choices[:failed_step]
    if step.role is not Role.INIT:
        return earlier
    return [
        each for each in earlier if each.step.role is Role.SIDECAR and each.step.container < step.container
    ]
