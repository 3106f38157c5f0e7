"""The labels that say which nodes the operator looks after, and for which product's MXMACA images they are.

gpu-label finds the cards, and takes its labels off while a node is cordoned, which is just when a driver is worked on.
So our own labels are set when cards are found and go only when gpu-label says outright that there are none: a missing
label says nothing. A node that is being changed keeps them until that is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from tangram.services.operator.copies import SeenNode
from tangram.vendors.metax.maca_images import MacaImage, product_served
from tangram.wire.metax_cards import LABEL_PRODUCT
from tangram.wire.operator.names import MACA_PRODUCT, MANAGED
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


def changes(nodes: Iterable[SeenNode], images: Sequence[MacaImage] = ()) -> Iterator[Change]:
    """Nodes whose labels are to change, each with its merge patch, which an older state of the node refuses.

    `images` are the MXMACA images that the spec names.
    """
    for node in nodes:
        managed = _wanted(node)
        now = node.managed if managed is None else managed
        wanted = {MANAGED: now, MACA_PRODUCT: _product(node, now, images)}
        labels = {key: value or None for key, value in wanted.items() if value != node.labels.get(key, "")}
        if labels:
            metadata = {"resourceVersion": node.view.version, "labels": labels}
            yield node.view.name, {"metadata": metadata}


def is_managed(patch: dict[str, Any]) -> bool | None:
    """Whether a node is managed after a patch; None where it changes nothing about that."""
    labels = patch["metadata"]["labels"]
    return labels[MANAGED] is not None if MANAGED in labels else None


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


def _product(node: SeenNode, managed: str, images: Sequence[MacaImage]) -> str:
    """The product whose images are for a node, empty for no label; unchanged where its cards are not known now."""
    now = node.labels.get(MACA_PRODUCT, "")
    if node.view.leaving or node.view.removing:
        return now
    if managed != "true" or not any(image.product for image in images):
        return ""
    cards = node.labels.get(LABEL_PRODUCT, "")
    return product_served(cards, images) if cards else now
