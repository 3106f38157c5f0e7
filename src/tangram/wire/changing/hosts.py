"""Less processor time or host memory: every container gives up the same share of what it asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tangram.units.quantity import QuantityError, parse_quantity
from tangram.vendors.host import CPU, MEMORY
from tangram.wire import loose
from tangram.wire.changing.templates import Json, Template, inside

_MIB: Final = 2**20


def less_host(template: Template, change: Mapping[str, str]) -> None:
    """So much that what is there is enough. `change` names the resource, and what is needed and there of it."""
    resource, need, have = change.get("resource"), int(change.get("need", 0)), int(change.get("have", 0))
    if resource not in (CPU, MEMORY) or not 0 < have < need:
        return
    spelled: Callable[[int], str] = _cpu if resource == CPU else _memory
    for container in template.containers():
        asked = _asked(container, resource)
        if asked:
            requests = inside(inside(container, "resources"), "requests")
            requests[resource] = spelled(asked * have // need)


def _asked(container: Json, resource: str) -> int:
    """In thousandths of a processor or in bytes. A limit without a request is one."""
    resources = loose.members(container.get("resources"))
    written: object = None
    for side in ("requests", "limits"):
        amounts = loose.members(resources.get(side))
        if written is None:
            written = amounts.get(resource)
    try:
        quantity = parse_quantity(loose.scalar_text(written) or "0")
    except QuantityError:
        return 0
    return quantity.milli_value() if resource == CPU else quantity.value()


def _cpu(milli: int) -> str:
    return f"{milli}m"


def _memory(amount: int) -> str:
    # A number nobody would write, such as 8589934591, says less than the MiB below it.
    return f"{amount // _MIB}Mi" if amount >= _MIB else str(amount)
