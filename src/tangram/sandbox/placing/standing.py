"""What a pod and a node say about each other alone: cordons, taints, selectors and node affinity."""

from __future__ import annotations

from collections.abc import Iterable

from tangram.engine import hostrules
from tangram.model.nodes import Taint
from tangram.model.pods import Placing, Toleration
from tangram.sandbox.placing.hosts import NodeFacts

SHUNS = "PreferNoSchedule"
_FORBIDS = ("NoSchedule", "NoExecute")


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether any of them makes up for the taint."""
    return any(hostrules.tolerates(each, taint) for each in tolerations)


def untolerated(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """The first taint that keeps the pod away."""
    return next(
        (each for each in taints if each.effect in _FORBIDS and not tolerates(tolerations, each)), None
    )


def matches_host(node: NodeFacts, placing: Placing) -> bool:
    """Node selector and required node affinity."""
    return hostrules.wants(placing, node.name, node.labels)


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
