"""The parts of a Kubernetes Node that every source of cards looks at, read once.

Kubelet's Capacity is what a plugin ever registered and Allocatable what of it is healthy. A scheduler that counts
capacity keeps sending pods to cards that have failed, so both numbers travel together from here on.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tangram.units.ids import NodeName
from tangram.units.quantity import Quantity, QuantityError, parse_quantity
from tangram.vendors.renaming import NOTHING_RENAMED, Renamed, with_usual_names
from tangram.wire import loose
from tangram.wire.errors import Problem, shown

MOST_CARDS = 128
"""Sixteen cards of eight virtual functions each. More is a slip of the pen that would fill the memory of the reader."""


class Counted(msgspec.Struct, frozen=True):
    """How much of a resource a node announces, and how much of that is usable."""

    announced: int = 0
    usable: int = 0


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    name: NodeName
    labels: dict[str, str]
    annotations: dict[str, str]
    capacity: Mapping[str, object]
    allocatable: Mapping[str, object]
    problems: list[Problem]
    """What could not be read so far; every reader adds to it."""

    def complain(self, code: str, sentence: str) -> None:
        self.problems.append(Problem(code, f"node {self.name}: {sentence}"))

    def counted(self, resource: str) -> Counted:
        """A countable resource; unreadable numbers count as none."""
        capacity, allocatable = (self._whole(side, resource) for side in (self.capacity, self.allocatable))
        # The API server copies capacity where nobody wrote allocatable at all.
        usable = allocatable if self.allocatable else capacity
        return Counted(max(capacity, usable), usable)

    def amount(self, resource: str, largest: int) -> Quantity | None:
        """An amount of the host; None where nobody said, or said nonsense."""
        side = self.allocatable if resource in self.allocatable else self.capacity
        quantity = self._quantity(side, resource)
        if quantity is not None and not 0 <= quantity.value() <= largest:
            self.complain("node-quantity", f"{resource} {shown(side.get(resource))} is out of all proportion")
            return None
        return quantity

    def _whole(self, side: Mapping[str, object], resource: str) -> int:
        quantity = self._quantity(side, resource)
        if quantity is None:
            return 0
        if quantity.sign < 0 or not quantity.is_integer or quantity.value() > 10**9:
            self.complain(
                "node-quantity", f"{resource} is {shown(side.get(resource))}: it is a number from 0"
            )
            return 0
        return quantity.value()

    def _quantity(self, side: Mapping[str, object], resource: str) -> Quantity | None:
        written = side.get(resource)
        if written is None:
            return None
        try:
            return parse_quantity(loose.scalar_text(written) or "")
        except QuantityError:
            self.complain("node-quantity", f"{resource} is {shown(written)}: it is a quantity")
            return None


def read_facts(manifest: Mapping[str, object], renamed: Renamed = NOTHING_RENAMED) -> NodeFacts:
    """The facts of a Node object, with resources under their usual names. Never raises."""
    metadata = loose.members(manifest.get("metadata"))
    status = loose.members(manifest.get("status"))
    facts = NodeFacts(
        name=NodeName(loose.text(metadata.get("name"))),
        labels=loose.text_map(metadata.get("labels")),
        annotations=loose.text_map(metadata.get("annotations")),
        capacity=with_usual_names(loose.members(status.get("capacity")), renamed),
        allocatable=with_usual_names(loose.members(status.get("allocatable")), renamed),
        problems=[],
    )
    if not facts.name:
        facts.complain("node-unnamed", "the object has no metadata.name")
    return facts


def stand_in_id(node: NodeName, vendor_word: str, index: int) -> str:
    """The id HAMi makes up for a card that is only counted, never listed."""
    return f"{node}-{vendor_word}-{index}"
