"""Why a pod goes where it goes, or waits: for every node and card the first failing rule, and by how much.

Nothing is worked out a second way. An explanation runs the filter and reads what the filter found, so the two agree by
construction.
"""

from __future__ import annotations

from typing import NamedTuple

from tangram.engine.allocate import allocation_at
from tangram.engine.columns import CLASS_NUMBER, QOS_NUMBER
from tangram.engine.filter import EVERY_NODE, Candidates, Outcome, filter_nodes
from tangram.engine.frag import FragScores
from tangram.engine.hostrules import first_broken_rule
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults, Placement, StepChoice, steps_of
from tangram.engine.usage import Hold, plus
from tangram.model.cards import AppClass, Card, QosPolicy
from tangram.model.nodes import Node
from tangram.model.pods import Role
from tangram.model.requests import Ask, AskKind, Request
from tangram.model.verdicts import CardRule, CardVerdict, Explanation, NodeRule, NodeVerdict

_HOST_RULES = (NodeRule.UNSCHEDULABLE, NodeRule.SELECTOR, NodeRule.AFFINITY, NodeRule.TAINT)


def explain(
    ledger: Ledger,
    request: Request,
    defaults: Defaults,
    candidates: Candidates = EVERY_NODE,
    *,
    frag: FragScores | None = None,
) -> Explanation:
    """The filter's decision with its reasons, nodes in the order of their names. Suggestions are `suggest`'s part."""
    outcome = filter_nodes(ledger, request, defaults, candidates, frag=frag)
    verdicts = [
        node_verdict(ledger, request, outcome, at)
        for at in range(outcome.view.height)
        if outcome.view.nodes.live[at]
    ]
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
        allocation = allocation_at(node, request, outcome.placement, at)
        return NodeVerdict(node=node.name, rule=rule, score=float(outcome.score[at]), allocation=allocation)
    if rule in _HOST_RULES:
        return NodeVerdict(node=node.name, rule=rule, detail=first_broken_rule(node, request.placing)[1])
    if rule is NodeRule.HOST_CPU:
        free = int(view.nodes.cpu_free[at])
        return NodeVerdict(node=node.name, rule=rule, need=request.host.cpu_milli, have=free)
    if rule is NodeRule.HOST_MEMORY:
        free = int(view.nodes.memory_free[at])
        return NodeVerdict(node=node.name, rule=rule, need=request.host.memory, have=free)
    step = steps_of(request)[int(outcome.placement.failed_step[at])]
    cards = tuple(
        _card_verdict(_Cell(outcome, at, column), card, request, step.ask)
        for column, card in enumerate(node.cards)
    )
    passing = sum(1 for card in cards if card.rule is CardRule.FITS)
    return NodeVerdict(
        node=node.name,
        rule=rule,
        container=request.containers[step.container].name,
        need=step.ask.count,
        have=_offered(node, step.ask) if rule is NodeRule.NO_SUCH_CARDS else passing,
        detail="" if request.required_scope is None else request.required_scope.value,
        cards=cards,
    )


def _offered(node: Node, ask: Ask) -> int:
    whole = ask.kind is AskKind.WHOLE
    return sum(
        1
        for card in node.cards
        if card.vendor is ask.vendor and (card.offered_whole if whole else card.offered_sliced)
    )


class _Cell(NamedTuple):
    """One card of one node in an outcome."""

    outcome: Outcome
    row: int
    column: int

    @property
    def rule(self) -> CardRule:
        return CardRule(int(self.outcome.placement.card_rule[self.row, self.column]))


def _card_verdict(cell: _Cell, card: Card, request: Request, ask: Ask) -> CardVerdict:
    rule = cell.rule
    used = _used_before(cell)
    amounts: dict[CardRule, tuple[int, int]] = {
        CardRule.MEMORY: (ask.memory_on(card), card.memory - used.memory),
        CardRule.CORES: (ask.cores_on(card), card.cores - used.cores),
        CardRule.COMPUTE_TAKEN: (ask.cores_on(card), card.cores - used.cores),
        CardRule.SLOTS: (1, card.slots - used.slots),
        CardRule.EXCLUSIVE: (0, used.slots),
        CardRule.MUTEX: (0, used.slots),
        CardRule.MEMORY_TIER: (
            ask.memory_on(card),
            max((tier for tier in card.memory_tiers if tier <= ask.memory_on(card)), default=0),
        ),
    }
    need, have = amounts.get(rule, (0, 0))
    return CardVerdict(card.uuid, card.index, rule, need, have, _detail(cell, card, request))


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
        units = int(chosen.choice.units[at])
        memory, cores = (
            need if isinstance(need, int) else int(need[at])
            for need in (chosen.needs.memory, chosen.needs.cores)
        )
        used = plus(used, Hold(units * memory, units * cores, units))
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
