"""How much of each resource a pod holds at its busiest: whole numbers, cpu in thousandths and the rest in ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.units.quantity import QuantityError, parse_quantity
from tangram.wire import loose
from tangram.wire.busiest import add, busiest

CPU: Final = "cpu"
MEMORY: Final = "memory"
STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"

Amounts = dict[str, int]

UNSAID: Final[Mapping[str, int]] = {CPU: 100, MEMORY: 200 * 1024 * 1024}
"""What a container that says nothing counts for when nodes are compared, and only then."""


def read_amounts(written: object) -> Amounts:
    """A list of resources; what is no quantity counts as nothing, as no API server lets it pass."""
    found: Amounts = {}
    for name, value in loose.members(written).items():
        text = loose.scalar_text(value)
        try:
            quantity = parse_quantity(text) if text is not None else None
        except QuantityError:
            continue
        if quantity is not None:
            found[name] = quantity.milli_value() if name == CPU else quantity.value()
    return found


def requests_of(spec: Mapping[str, object], unsaid: Mapping[str, int] | None = None) -> Amounts:
    """What a pod of this spec needs; `unsaid` is counted for containers that do not name such a resource."""

    def asked(container: Mapping[str, object]) -> Amounts:
        return {**(unsaid or {}), **read_amounts(loose.members(container.get("resources")).get("requests"))}

    total = busiest(spec, asked)
    for name, value in read_amounts(loose.members(spec.get("resources")).get("requests")).items():
        if name in (CPU, MEMORY) or name.startswith("hugepages-"):
            total[name] = value
    add(total, read_amounts(spec.get("overhead")))
    return total


def take(total: Amounts, less: Mapping[str, int]) -> None:
    """Make the total smaller by these."""
    for name, value in less.items():
        total[name] = total.get(name, 0) - value
