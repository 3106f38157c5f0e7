"""Events have two faces, of the core group and of events.k8s.io, and some fields a name in each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.kube.objects import Object

NEWER_NAMES: Final[Mapping[str, str]] = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_CORE_NAMES: Final = {newer: core for core, newer in NEWER_NAMES.items()}


def with_core_names(event: Object) -> Object:
    """An event of either face, with its fields under the names of the core group."""
    return {_CORE_NAMES.get(name, name): value for name, value in event.items()}
