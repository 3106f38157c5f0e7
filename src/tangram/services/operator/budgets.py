"""How many nodes may be taken out of service now for a change of their driver.

Two bounds, because `maxUnavailable` is a promise about what people can use and not about what we do. The nodes that we
hold are never more than it allows. And a node that works is taken only while it and all that are out of service
together, for whatever reason, stay within it; one that does not work anyway costs nobody anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tangram.services.operator.node_views import NodeView
from tangram.wire.operator.spec import UpgradePolicy


def is_out_of_service(view: NodeView) -> bool:
    """By us, because the node is away, or because its driver does not work. A cordon of others is their business."""
    return view.held or not view.ready or view.driver_ready is False


def in_turn(candidates: Iterable[NodeView]) -> list[NodeView]:
    """The order in which nodes are begun: those that serve nobody, then the emptier ones; the same every time."""
    return sorted(candidates, key=lambda view: (not is_out_of_service(view), len(view.pods), view.name))


def may_begin(
    nodes: Sequence[NodeView], candidates: Iterable[NodeView], policy: UpgradePolicy
) -> tuple[list[NodeView], int]:
    """Those of the candidates that fit, in their order, and the bound that they were held to."""
    managed = [view for view in nodes if view.managed or view.held]
    most = policy.most_unavailable(len(managed))
    held = sum(view.held for view in managed)
    out = sum(is_out_of_service(view) for view in managed)
    begun: list[NodeView] = []
    for view in in_turn(candidates):
        costs = not is_out_of_service(view)
        if held >= most or (costs and out >= most):
            continue
        held, out = held + 1, out + costs
        begun.append(view)
    return begun, most
