"""What a pod and a node say about each other alone: cordons, taints, selectors and node affinity."""

from __future__ import annotations

from collections.abc import Iterable

from tangram.model.nodes import Taint
from tangram.model.pods import LabelRule, Placing, Toleration
from tangram.sandbox.placing.hosts import NodeFacts

CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
SHUNS = "PreferNoSchedule"
_FORBIDS = ("NoSchedule", "NoExecute")


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether any of them makes up for the taint."""
    return any(_tolerates(each, taint) for each in tolerations)


def untolerated(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """The first taint that keeps the pod away."""
    return next(
        (each for each in taints if each.effect in _FORBIDS and not tolerates(tolerations, each)), None
    )


def matches_host(node: NodeFacts, placing: Placing) -> bool:
    """Node selector and required node affinity."""
    if any(node.labels.get(key) != value for key, value in placing.node_selector):
        return False
    return not placing.required or any(all_match(node, term) for term in placing.required)


def all_match(node: NodeFacts, rules: tuple[LabelRule, ...]) -> bool:
    """Whether the node is meant by a term; an empty one means none."""
    return bool(rules) and all(_matches(node, rule) for rule in rules)


def named_nodes(placing: Placing) -> frozenset[str] | None:
    """The only nodes that the affinity can mean, where every term names some; None where any may do."""
    found: frozenset[str] = frozenset()
    for term in placing.required:
        sets = [
            frozenset(rule.values) for rule in term if rule.is_field and rule.operator == "In" and rule.values
        ]
        if not sets:
            return None
        found |= sets[0].intersection(*sets[1:])
    return found if placing.required else None


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator == "Equal" and toleration.value == taint.value


def _matches(node: NodeFacts, rule: LabelRule) -> bool:
    value = node.name if rule.is_field else node.labels.get(rule.key)
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
            return value is not None and _compares(value, rule)
        case _:
            return False


def _compares(value: str, rule: LabelRule) -> bool:
    try:
        here, there = int(value), int(rule.values[0])
    except (ValueError, IndexError):
        return False
    return here > there if rule.operator == "Gt" else here < there
