"""What a pod holds at its busiest moment, of whatever its containers are asked for.

Containers and sidecars run together; init containers one after the other, each beside the sidecars before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from tangram.units.quantity import Quantity
from tangram.wire import loose

Amount = TypeVar("Amount", int, Quantity)


def busiest(
    spec: Mapping[str, object], asked: Callable[[Mapping[str, object]], Mapping[str, Amount]]
) -> dict[str, Amount]:
    """By resource. `asked` is what one container asks for; what the pod itself costs is not counted."""
    total: dict[str, Amount] = {}
    for container in map(loose.members, loose.elements(spec.get("containers"))):
        add(total, asked(container))
    sidecars: dict[str, Amount] = {}
    highest: dict[str, Amount] = {}
    for container in map(loose.members, loose.elements(spec.get("initContainers"))):
        own = dict(asked(container))
        if container.get("restartPolicy") == "Always":
            add(total, own)
            add(sidecars, own)
        else:
            add(own, sidecars)
            _raise_to(highest, own)
    _raise_to(total, highest)
    return total


def add(total: dict[str, Amount], more: Mapping[str, Amount]) -> None:
    """Make the total larger by these."""
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: dict[str, Amount], least: Mapping[str, Amount]) -> None:
    for name, amount in least.items():
        total[name] = max(total[name], amount) if name in total else amount
