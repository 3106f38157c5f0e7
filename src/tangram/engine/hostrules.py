"""What the host around the cards allows: cordons, taints, selectors and affinities.

kube-scheduler has already applied the hard ones when it asks us live; offline nobody has, and an `explain` that ignored
them would send people to nodes their pod can never use. The soft ones are ours to honour, because a filter that returns
one node leaves kube-scheduler nothing to prefer. Pod affinity, volumes and ports are not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangram.model.nodes import Node, Taint
from tangram.model.pods import LabelRule, Placing, Toleration
from tangram.model.verdicts import NodeRule

PREFER_NOT_PENALTY = 100
"""A `PreferNoSchedule` taint weighs as much as the strongest preferred affinity term."""

_REMEMBERED = 64

CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


class PlacingVerdicts(NamedTuple):
    rule: NDArray[np.uint8]
    """`NodeRule` per row; `FITS` where nothing of the host forbids the pod."""
    preference: NDArray[np.int32]
    """Larger is better liked."""


class PlacingRules:
    """Host rules of all rows, worked out once per distinct `Placing` and node state."""

    def __init__(self) -> None:
        self._nodes: list[Node | None] = []
        self._version = 0
        self._known: dict[Placing, tuple[int, PlacingVerdicts]] = {}

    def put_node(self, row: int, node: Node) -> None:
        while len(self._nodes) <= row:
            self._nodes.append(None)
        before = self._nodes[row]
        self._nodes[row] = node
        if before is None or _host_side(before) != _host_side(node):
            self._version += 1

    def remove_node(self, row: int) -> None:
        self._nodes[row] = None
        self._version += 1

    def verdicts(self, placing: Placing) -> PlacingVerdicts:
        version, found = self._known.get(placing, (-1, None))
        if found is None or version != self._version:
            found = self._work_out(placing)
            self._known.pop(placing, None)
            self._known[placing] = (self._version, found)
            if len(self._known) > _REMEMBERED:
                del self._known[next(iter(self._known))]
        return found

    def _work_out(self, placing: Placing) -> PlacingVerdicts:
        rule = np.zeros(len(self._nodes), np.uint8)
        preference = np.zeros(len(self._nodes), np.int32)
        plain = placing == Placing()
        for row, node in enumerate(self._nodes):
            if node is None or (plain and not node.taints and not node.unschedulable):
                continue
            rule[row] = first_broken_rule(node, placing)[0]
            preference[row] = preference_for(node, placing)
        return PlacingVerdicts(rule, preference)


def _host_side(node: Node) -> tuple[object, ...]:
    return node.name, node.labels, node.taints, node.unschedulable


def first_broken_rule(node: Node, placing: Placing) -> tuple[NodeRule, str]:
    """The first host rule that keeps the pod off the node, with what it stumbled over."""
    if node.unschedulable and not any(tolerates(each, CORDONED) for each in placing.tolerations):
        return NodeRule.UNSCHEDULABLE, "the node is cordoned"
    for key, value in placing.node_selector:
        if node.labels.get(key) != value:
            found = node.labels.get(key)
            has = "has no such label" if found is None else f"has {found!r}"
            return NodeRule.SELECTOR, f"nodeSelector wants {key}={value}, the node {has}"
    if placing.required and not any(term_holds(term, node.name, node.labels) for term in placing.required):
        return NodeRule.AFFINITY, "no required node affinity term matches"
    for taint in node.taints:
        if taint.effect != "PreferNoSchedule" and not any(
            tolerates(each, taint) for each in placing.tolerations
        ):
            return NodeRule.TAINT, f"taint {taint_text(taint)}"
    return NodeRule.FITS, ""


def taint_text(taint: Taint) -> str:
    """A taint as `kubectl taint` spells it."""
    return f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"


def preference_for(node: Node, placing: Placing) -> int:
    """How much the pod's soft wishes like this node."""
    liked = sum(term.weight for term in placing.preferred if term_holds(term.rules, node.name, node.labels))
    shunned = sum(
        1
        for taint in node.taints
        if taint.effect == "PreferNoSchedule"
        and not any(tolerates(each, taint) for each in placing.tolerations)
    )
    return liked - shunned * PREFER_NOT_PENALTY


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration makes up for one taint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return not toleration.key or toleration.key == taint.key
    return toleration.key == taint.key and toleration.value == taint.value


def wants(placing: Placing, name: str, labels: Mapping[str, str]) -> bool:
    """Whether node selector and required node affinity are content with a node of this name with these labels."""
    if any(labels.get(key) != value for key, value in placing.node_selector):
        return False
    return not placing.required or any(term_holds(term, name, labels) for term in placing.required)


def term_holds(rules: tuple[LabelRule, ...], name: str, labels: Mapping[str, str]) -> bool:
    """Whether a node of this name with these labels is one that a term means."""
    # Kubernetes reads an empty term as matching nothing.
    return bool(rules) and all(rule_holds(rule, name, labels) for rule in rules)


def rule_holds(rule: LabelRule, name: str, labels: Mapping[str, str]) -> bool:
    """Whether a node of this name with these labels is one that a rule means."""
    value = name if rule.is_field else labels.get(rule.key)
    match rule.operator:
        case "In":
            return value is not None and value in rule.values
        case "NotIn":
            return value is None or value not in rule.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and _number_compares(value, rule)
        case _:
            return False


def _number_compares(value: str, rule: LabelRule) -> bool:
    try:
        here, there = int(value), int(rule.values[0])
    except (ValueError, IndexError):
        return False
    return here > there if rule.operator == "Gt" else here < there
