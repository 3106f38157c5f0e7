"""Which service writes which label and annotation of a node, and under which name.

Who wrote a field last is known from the API server, and decides. This is for what it does not know: of a node that many
write to it keeps the last ten names, and calls all others by one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tangram.services.installation.workloads import (
    DEVICE,
    DRIVER_MANAGER,
    LABEL,
    OPERATOR,
    RUNTIME,
    SCHEDULER,
)
from tangram.wire import metax_labels, mthreads_labels
from tangram.wire.agent_state import AGENT
from tangram.wire.inventory import INVENTORY
from tangram.wire.koordinator.node_resources import NODE_LABELS
from tangram.wire.metax_listing import NODE_DEVICES
from tangram.wire.metax_topology import LOSSES, SCORES, ZONES
from tangram.wire.mthreads_cards import LABEL_COUNT, LABEL_SLICED
from tangram.wire.nodelock import OWNER
from tangram.wire.operator import names

WRITERS: Final[Mapping[str, str]] = {
    LABEL: "tangram-gpu-label",
    DEVICE: "tangram-gpu-device",
    SCHEDULER: "tangram-scheduler",
    OPERATOR: "tangram-operator",
    DRIVER_MANAGER: "tangram-driver-manager",
    RUNTIME: "tangram-container-runtime",
}
"""The name under which each service writes."""
OUR_NAMES: Final = frozenset(WRITERS.values())
FORGOTTEN: Final = frozenset({"ancient-changes", "before-first-apply"})
"""What the API server calls those whose names it keeps no more."""
CONDITIONS: Final[Mapping[str, str]] = {
    "GpuModeChangePending": DEVICE,
    names.DRIVER_CHANGE_PENDING: DRIVER_MANAGER,
}
"""Types of conditions that nobody but this service writes."""

_OF_OUR_DOMAIN: Final[Mapping[str, str]] = {
    AGENT: DEVICE,
    INVENTORY: DEVICE,
    OWNER: SCHEDULER,
    **dict.fromkeys(mthreads_labels.OURS, LABEL),
    **dict.fromkeys((*names.OPERATOR_LABELS, *names.OPERATOR_ANNOTATIONS), OPERATOR),
    **dict.fromkeys(names.DRIVER_MANAGER_ANNOTATIONS, DRIVER_MANAGER),
    **dict.fromkeys(names.RUNTIME_ANNOTATIONS, RUNTIME),
}
_OF_THE_VENDORS: Final[Mapping[str, str]] = {
    **dict.fromkeys(names.DRIVER_MANAGER_LABELS, DRIVER_MANAGER),
    **dict.fromkeys(names.RUNTIME_LABELS, RUNTIME),
    # Of a driver's two labels gpu-label writes the same where there is no operator.
    **dict.fromkeys(metax_labels.OURS, LABEL),
    **dict.fromkeys((NODE_DEVICES, SCORES, LOSSES, ZONES, LABEL_COUNT, LABEL_SLICED), DEVICE),
}
_CARD_MEMORY: Final = re.compile(r"mthreads\.com/gpu[0-9]{1,9}\.memory")


def ours_alone(key: str) -> str | None:
    """The service that writes a key which nobody else has any business with."""
    return _OF_OUR_DOMAIN.get(key)


def kept_up(key: str) -> str | None:
    """The service that keeps a key true for as long as it runs, though others may have written it before."""
    if _CARD_MEMORY.fullmatch(key):
        return DEVICE
    return _OF_OUR_DOMAIN.get(key) or _OF_THE_VENDORS.get(key)


def writer_of(key: str) -> str | None:
    """The service that may have written a key: one that it keeps up, or one that Koordinator writes as well."""
    return DEVICE if key in NODE_LABELS else kept_up(key)
