"""How much of each resource a pod holds at its busiest moment, in whole numbers: cpu in thousandths, the rest in ones.

Containers and sidecars run together; init containers one after the other, each beside the sidecars before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.units.quantity import QuantityError, parse_quantity
from tangram.wire import loose

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

    total: Amounts = {}
    for each in loose.elements(spec.get("containers")):
        add(total, asked(loose.members(each)))
    sidecars: Amounts = {}
    highest: Amounts = {}
    for container in map(loose.members, loose.elements(spec.get("initContainers"))):
        own = asked(container)
        if container.get("restartPolicy") == "Always":
            add(total, own)
            add(sidecars, own)
            own = dict(sidecars)
        else:
            add(own, sidecars)
        _raise_to(highest, own)
    _raise_to(total, highest)
    for name, value in read_amounts(loose.members(spec.get("resources")).get("requests")).items():
        if name in (CPU, MEMORY) or name.startswith("hugepages-"):
            total[name] = value
    add(total, read_amounts(spec.get("overhead")))
    return total


def add(total: Amounts, more: Mapping[str, int]) -> None:
    """Make the total larger by these."""
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def take(total: Amounts, less: Mapping[str, int]) -> None:
    """Make the total smaller by these."""
    for name, value in less.items():
        total[name] = total.get(name, 0) - value


def _raise_to(total: Amounts, least: Mapping[str, int]) -> None:
    for name, value in least.items():
        total[name] = max(total.get(name, 0), value)
