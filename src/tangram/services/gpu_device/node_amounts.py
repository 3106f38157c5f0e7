"""What Koordinator's scheduler and a kubelet count by: four amounts in the node's status, and two labels.

A kubelet that registers with an empty folder of plugins may set every amount of others to 0, and refuses pods that ask
for one that is 0 or too little; one that is absent it leaves out of account. So they are put right as soon as they
differ, and removed when no card is left, never left at 0. No other name is ever touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.kube.api import Object
from tangram.units.ids import NodeName
from tangram.units.quantity import QuantityError, parse_quantity
from tangram.vendors.names import (
    KOORDINATOR_CORE,
    KOORDINATOR_MEMORY,
    KOORDINATOR_RATIO,
    KOORDINATOR_SHARED,
)
from tangram.wire import loose
from tangram.wire.managed_fields import fields_of

NAMES: Final = (KOORDINATOR_CORE, KOORDINATOR_MEMORY, KOORDINATOR_RATIO, KOORDINATOR_SHARED)
_SIDES: Final = ("capacity", "allocatable")


def amounts_change(node: Object, wanted: Mapping[str, str]) -> Object | None:
    """The merge patch of the node's status after which it states exactly these amounts; None when it does."""
    change: dict[str, dict[str, str | None]] = {}
    for side, stated in _stated(node).items():
        missing: dict[str, str | None] = {
            name: wanted[name]
            for name in NAMES
            if name in wanted and not _same(stated.get(name), wanted[name])
        }
        missing |= {name: None for name in NAMES if name in stated and name not in wanted}
        if missing:
            change[side] = missing
    return {"status": change} if change else None


def stated_amounts(node: NodeName, wanted: Mapping[str, str]) -> Object:
    """The part of the node's status that is ours to apply."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node},
        "status": {side: dict(wanted) for side in _SIDES},
    }


def withdrawal(node: Object, manager: str) -> Object | None:
    """The merge patch that removes the amounts we once wrote, for when nobody keeps them true any more.

    One that a kubelet has set to 0 counts as ours: there is no Koordinator, and it keeps pods out for nothing.
    """
    ours = fields_of(node, manager, "status", "capacity")
    change: dict[str, dict[str, None]] = {}
    for side, stated in _stated(node).items():
        gone = [name for name in NAMES if name in stated and (name in ours or _same(stated[name], "0"))]
        if gone:
            change[side] = dict.fromkeys(gone)
    return {"status": change} if change else None


def labels_change(node: Object, wanted: Mapping[str, str]) -> Object | None:
    """The merge patch that sets these labels; none is ever removed, as with Koordinator itself."""
    present = loose.text_map(loose.members(node.get("metadata")).get("labels"))
    missing = {key: value for key, value in wanted.items() if present.get(key) != value}
    return {"metadata": {"labels": missing}} if missing else None


def _stated(node: Object) -> dict[str, dict[str, str]]:
    status = loose.members(node.get("status"))
    return {side: loose.text_map(status.get(side)) for side in _SIDES}


def _same(stated: str | None, wanted: str) -> bool:
    if stated is None:
        return False
    try:
        return parse_quantity(stated) == parse_quantity(wanted)
    except QuantityError:
        return False
