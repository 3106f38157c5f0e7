"""Fields that a request cannot own, because the server puts them back to what they were.

Nobody owns the status through the main resource, or the spec through `status`; and some facts about an object are
nobody's at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.sandbox.apiserver.patching.comparing import Change
from tangram.sandbox.apiserver.patching.elements import field
from tangram.sandbox.apiserver.patching.fields import Fields
from tangram.sandbox.apiserver.shape import Shape


def _at(*paths: str) -> Fields:
    return Fields.of(*(tuple(field(name) for name in path.split(".")) for path in paths))


NEVER_OWNED: Final = _at(
    "apiVersion",
    "kind",
    "metadata",
    "metadata.name",
    "metadata.namespace",
    "metadata.creationTimestamp",
    "metadata.selfLink",
    "metadata.uid",
    "metadata.clusterName",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.resourceVersion",
)
_NOTHING: Final = Fields()
_STATUS: Final = _at("status")
_SPEC: Final = _at("spec")
_DEFINED_BY_PEOPLE: Final = _at("metadata", "spec")
_MORE_BY_STATUS: Final[Mapping[str, Fields]] = {
    "io.k8s.api.core.v1.Pod": _at("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
    "io.k8s.api.apps.v1.Deployment": _at("spec", "metadata.labels"),
}
_ONLY: Final[Mapping[str, Fields]] = {"ephemeralcontainers": _at("spec.ephemeralContainers")}


def ownable(fields: Fields, shape: Shape, subresource: str, *, status_apart: bool) -> Fields:
    """Of these fields, those that a request through the subresource can own."""
    only = _ONLY.get(subresource)
    if only is not None:
        return fields.only_branches(only)
    return fields.without_branches(_reset(shape, subresource, status_apart=status_apart))


def ownable_change(change: Change, shape: Shape, subresource: str, *, status_apart: bool) -> Change:
    """The same of a change."""
    only = _ONLY.get(subresource)
    if only is not None:
        return change.only(only)
    return change.without(_reset(shape, subresource, status_apart=status_apart))


def _reset(shape: Shape, subresource: str, *, status_apart: bool) -> Fields:
    if subresource == "status":
        return _MORE_BY_STATUS.get(shape.definition, _SPEC) if shape.definition else _DEFINED_BY_PEOPLE
    if subresource not in ("", "finalize"):
        return _NOTHING
    has_one = "status" in shape.properties if shape.definition else status_apart
    return _STATUS if has_one else _NOTHING
