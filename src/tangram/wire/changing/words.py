"""The resources of one container, read and written under the names and in the places that its author used.

A cluster may call a resource by another name; an amount stands under limits and perhaps again under requests, as a
number or as text. What is changed stays where and how it was.
"""

from __future__ import annotations

from typing import Any, cast

from tangram.units.memory import GIB, MIB
from tangram.units.quantity import QuantityError, parse_quantity
from tangram.vendors.renaming import Renamed, own_name
from tangram.wire import loose
from tangram.wire.changing.templates import Json, inside


class Words:
    def __init__(self, container: Json, renamed: Renamed) -> None:
        self._container = container
        self._renamed = renamed

    def text(self, usual: str) -> str | None:
        """What is written for a resource, None where it is not named."""
        name = own_name(usual, self._renamed)
        resources = loose.members(self._container.get("resources"))
        for side in ("limits", "requests"):
            amounts = loose.members(resources.get(side))
            if name in amounts:
                return loose.scalar_text(amounts[name]) or ""
        return None

    def has(self, *usual: str) -> bool:
        return any(self.text(name) is not None for name in usual)

    def number(self, usual: str) -> int | None:
        """A whole amount; None where there is none that can be read."""
        text = self.text(usual)
        if text is None:
            return None
        try:
            return parse_quantity(text).value()
        except QuantityError:
            return None

    def put(self, usual: str, amount: int | str) -> None:
        """Under limits, and under requests where it stood there."""
        name = own_name(usual, self._renamed)
        resources = inside(self._container, "resources")
        limits = inside(resources, "limits")
        limits[name] = _like(limits.get(name, next(iter(limits.values()), None)), amount)
        requests = resources.get("requests")
        if isinstance(requests, dict) and name in requests:
            requests[name] = _like(requests[name], amount)

    def remove(self, *usual: str) -> None:
        resources = self._container.get("resources")
        for side in ("limits", "requests"):
            amounts = loose.members(resources).get(side)
            if isinstance(amounts, dict):
                for name in usual:
                    cast("Json", amounts).pop(own_name(name, self._renamed), None)


def memory_quantity(amount: int) -> str:
    """An amount of card memory as Kubernetes writes it, never rounded up."""
    return f"{amount // GIB}Gi" if amount % GIB == 0 else f"{amount // MIB}Mi"


def _like(before: Any, amount: int | str) -> int | str:  # noqa: ANN401 - whatever stood there
    """A number where one stood there or beside it; the API server hands every amount out as text."""
    return amount if isinstance(amount, str) or isinstance(before, int) else str(amount)
