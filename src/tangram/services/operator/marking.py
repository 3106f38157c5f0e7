"""The label that says which nodes the operator looks after.

gpu-label finds the cards, and takes its labels off while a node is cordoned, which is just when a driver is worked on.
So our own label is set when cards are found and goes only when gpu-label says outright that there are none: a missing
label says nothing. A node that is being changed keeps it until that is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tangram.services.operator.copies import SeenNode
from tangram.wire.operator.names import MANAGED
from tangram.wire.operator.node_states import Phase


def changes(nodes: Iterable[SeenNode]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Nodes whose label is to change, each with its merge patch, which an older state of the node refuses."""
    for node in nodes:
        wanted = _wanted(node)
        if wanted == node.managed or wanted is None:
            continue
        metadata = {"resourceVersion": node.view.version, "labels": {MANAGED: wanted or None}}
        yield node.view.name, {"metadata": metadata}


def _wanted(node: SeenNode) -> str | None:
    """The value, an empty one for no label; None where it stays as it is."""
    view = node.view
    if view.leaving:
        return None
    if node.installed == "true":
        return "true"
    working = view.driver is not None and view.driver.phase is Phase.WORKING
    if node.installed == "false" and not view.held and not working and not view.removing:
        return ""
    return None
