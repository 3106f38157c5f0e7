"""The label that says which nodes the operator looks after.

gpu-label finds the cards, and takes its labels off while a node is cordoned, which is just when a driver is worked on.
So our own label is set when cards are found and goes only when gpu-label says outright that there are none: a missing
label says nothing. A node that is being changed keeps it until that is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from tangram.services.operator.copies import SeenNode
from tangram.wire.operator.names import MANAGED
from tangram.wire.operator.node_states import Phase

AGAIN_S: Final = 10.0

Change = tuple[str, dict[str, Any]]


class Pace:
    """No node is written twice in a moment: whoever keeps taking the label off must not become a load."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._done: dict[str, float] = {}

    def due(self, wanted: Iterable[Change]) -> Iterator[Change]:
        now = self._clock()
        self._done = {node: at for node, at in self._done.items() if now - at < AGAIN_S}
        return (change for change in wanted if change[0] not in self._done)

    def done(self, node: str) -> None:
        self._done[node] = self._clock()


def changes(nodes: Iterable[SeenNode]) -> Iterator[Change]:
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
    working = view.driver is not None and view.driver.phase is Phase.WORKING
    if node.installed == "true" or (working and not view.removing):
        # Taken off in the middle of a change, it would leave nobody there to bring that to an end.
        return "true"
    if node.installed == "false" and not view.held and not view.removing:
        return ""
    return None
