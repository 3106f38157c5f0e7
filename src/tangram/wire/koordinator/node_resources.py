"""What a `Device` adds up to on its node: resources and labels, as koord-manager writes them.

Only healthy cards count. With none left every known name is to be removed from the node, or pods keep arriving for
cards that are gone; a name that is in `KNOWN_RESOURCES` and not in the answer is therefore removed, never left alone.
"""

from __future__ import annotations

from typing import Final

from tangram.units.quantity import Quantity, QuantityError, parse_quantity
from tangram.vendors.names import (
    KOORDINATOR_CORE,
    KOORDINATOR_GPU,
    KOORDINATOR_MEMORY,
    KOORDINATOR_RATIO,
    KOORDINATOR_SHARED,
)
from tangram.wire.koordinator import names
from tangram.wire.koordinator.device import Device

KNOWN_RESOURCES: Final = (
    KOORDINATOR_GPU,
    KOORDINATOR_CORE,
    "huawei.com/npu-core",
    "huawei.com/npu-cpu",
    "huawei.com/npu-dvpp",
    KOORDINATOR_MEMORY,
    KOORDINATOR_RATIO,
    KOORDINATOR_SHARED,
)
NODE_LABELS: Final = (names.LABEL_VENDOR, names.LABEL_MODEL, names.LABEL_DRIVER_VERSION)

_COUNTED_AS_GPU = frozenset({"", "nvidia"})
"""Vendors whose compute is also offered as `koordinator.sh/gpu`; MetaX is not one of them."""


def node_resources(device: Device, *, shares: bool) -> dict[str, str]:
    """Allocatable and capacity of the node, which are the same here.

    `shares` is Koordinator's gate `EnableSyncGPUSharedResource`: without it nothing offers `gpu.shared`.
    """
    healthy = [entry for entry in device.entries if entry.kind == names.GPU and entry.health]
    totals: dict[str, Quantity] = {}
    for entry in healthy:
        for name, text in entry.resources.items():
            amount = _readable(text)
            if name in KNOWN_RESOURCES and amount is not None:
                totals[name] = totals[name] + amount if name in totals else amount
    if not healthy:
        return {}
    if device.labels.get(names.LABEL_VENDOR, "") in _COUNTED_AS_GPU and KOORDINATOR_CORE in totals:
        totals[KOORDINATOR_GPU] = totals[KOORDINATOR_CORE]
    if shares:
        totals[KOORDINATOR_SHARED] = Quantity.whole(100 * len(healthy))
    return {name: totals[name].canonical() for name in sorted(totals)}


def node_labels(device: Device) -> dict[str, str]:
    """The labels copied to the node; they are set and never removed."""
    return {name: device.labels[name] for name in NODE_LABELS if name in device.labels}


def _readable(text: str) -> Quantity | None:
    try:
        return parse_quantity(text)
    except QuantityError:
        return None
