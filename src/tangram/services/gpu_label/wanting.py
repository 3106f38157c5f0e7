"""Which labels a node should carry, given what was seen and whether it is in service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from tangram.model.cards import Vendor
from tangram.services.gpu_label.looking import Sight
from tangram.wire import loose, metax_labels, mthreads_labels
from tangram.wire.metax_labels import Choices
from tangram.wire.node_labels import label_changes

_USUAL: Final = Choices()


class Wish(msgspec.Struct, frozen=True):
    """What to do to a node, and what it then carries of ours."""

    changes: dict[str, str | None]
    labels: dict[str, str]
    cordoned: bool = False


def wish_for(node: Mapping[str, object], sight: Sight, choices: Choices = _USUAL) -> Wish:
    """The labels for a Node object as the API server sends it.

    A cordoned node leaves GPU service: all labels of ours go, and with them gpu-device, whose DaemonSet asks for them.
    """
    present = loose.text_map(loose.members(node.get("metadata")).get("labels"))
    cordoned = loose.members(node.get("spec")).get("unschedulable") is True
    wanted = {} if cordoned else wanted_labels(sight, choices=choices)
    return Wish(label_changes(present, wanted, lambda key: is_ours(key, choices)), wanted, cordoned)


def wanted_labels(sight: Sight, choices: Choices = _USUAL) -> dict[str, str]:
    """The labels of the vendors that count, for a node in service."""
    metax = metax_labels.label_set(sight.devices, on_bus=Vendor.METAX in sight.on_bus, choices=choices)
    if Vendor.MTHREADS not in choices.vendors:
        return {**metax}
    return {**metax, **mthreads_labels.label_set(sight.devices, on_bus=Vendor.MTHREADS in sight.on_bus)}


def is_ours(key: str, choices: Choices = _USUAL) -> bool:
    """Whether a label is one that we may change or remove. Those of Moore Threads cards stand under our own prefix, so
    where these cards do not count, what an earlier labeller of ours wrote is removed.
    """
    return metax_labels.is_ours(key, choices) or mthreads_labels.is_ours(key)
