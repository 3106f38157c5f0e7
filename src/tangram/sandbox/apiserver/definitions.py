"""CustomResourceDefinitions at work: a kind is served as soon as its definition is stored, and no longer than it is.

The real server takes a moment to accept names and another to serve; here both have happened when the definition is
answered for the first time it is looked at again. Conversion between versions by webhook is not done: versions share
their fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.kinds import SCALE, STATUS, Column, Kind
from tangram.sandbox.apiserver.registry import Registry
from tangram.sandbox.apiserver.schemas import shape_of_crd
from tangram.sandbox.apiserver.store import Change, Resource, Spot, Store
from tangram.wire import loose
from tangram.wire.timestamps import to_second

DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""In the order in which the real server tells them of defined kinds."""


class Definitions:
    """Listens to the store and keeps the registry true."""

    def __init__(self, store: Store, registry: Registry, now: Callable[[], datetime]) -> None:
        self._store = store
        self._registry = registry
        self._now = now
        store.listeners.append(self._heard)

    def load(self) -> None:
        """Serve what a journal brought back."""
        for definition in self._store.all(DEFINITIONS):
            self._serve(definition)

    def _heard(self, change: Change) -> None:
        if change.spot.resource != DEFINITIONS:
            return
        if change.type == "DELETED":
            self._end(change.thing)
            return
        definition = change.thing
        if definition["metadata"].get("deletionTimestamp"):
            self._clean_up(change.spot, definition)
            return
        if change.before is None or change.before.get("spec") != definition.get("spec"):
            self._serve(definition)
        wanted = self._accepted(definition)
        if wanted != definition:
            self._store.put(change.spot, wanted)

    def _serve(self, definition: Object) -> None:
        self._registry.forget(self._registry.defined(*_defined(definition)))
        for kind, schema in _kinds(definition["spec"]):
            self._registry.define(kind, shape_of_crd(schema), schema)

    def _end(self, definition: Object) -> None:
        resource = _defined(definition)
        self._empty(resource)
        self._registry.forget(self._registry.defined(*resource))
        self._store.end_watches(resource)

    def _clean_up(self, spot: Spot, definition: Object) -> None:
        """A definition that is being deleted takes its objects along, whoever holds on to them."""
        finalizers = definition["metadata"].get("finalizers", [])
        if CLEANUP not in finalizers:
            return
        self._empty(_defined(definition))
        left = [each for each in finalizers if each != CLEANUP]
        metadata = {**definition["metadata"], "finalizers": left}
        if left:
            self._store.put(spot, {**definition, "metadata": metadata})
        else:
            self._store.remove(spot)

    def _empty(self, resource: Resource) -> None:
        for thing in list(self._store.all(resource)):
            metadata = thing["metadata"]
            self._store.remove(Spot(resource, metadata.get("namespace", ""), metadata["name"]))

    def _accepted(self, definition: Object) -> Object:
        spec, status = definition["spec"], definition.get("status", {})
        names = {key: value for key, value in spec["names"].items() if value}
        stored = [each["name"] for each in spec["versions"] if each.get("storage")]
        known = status.get("storedVersions", [])
        wanted: Object = {
            **status,
            "acceptedNames": names,
            "storedVersions": [*known, *(each for each in stored if each not in known)],
        }
        if not status.get("conditions"):
            now = to_second(self._now())
            wanted["conditions"] = [
                _condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
                _condition(
                    "Established", "InitialNamesAccepted", "the initial names have been accepted", now
                ),
            ]
        finalizers = definition["metadata"].get("finalizers", [])
        metadata = definition["metadata"]
        if CLEANUP not in finalizers:
            metadata = {**metadata, "finalizers": [*finalizers, CLEANUP]}
        return {**definition, "metadata": metadata, "status": wanted}


def _defined(definition: Object) -> Resource:
    spec = definition["spec"]
    return spec["group"], spec["names"]["plural"]


def _condition(name: str, reason: str, message: str, now: str) -> Object:
    return {"type": name, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}


def _kinds(spec: Object) -> Iterator[tuple[Kind, Object]]:
    names = spec["names"]
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        parts = loose.members(version.get("subresources"))
        columns = tuple(_columns(version.get("additionalPrinterColumns") or ()))
        yield (
            Kind(
                group=spec["group"],
                version=version["name"],
                kind=names["kind"],
                plural=names["plural"],
                singular=names.get("singular") or names["kind"].lower(),
                namespaced=spec.get("scope") == "Namespaced",
                short=tuple(names.get("shortNames") or ()),
                categories=tuple(names.get("categories") or ()),
                subresources=(
                    *([STATUS] if "status" in parts else ()),
                    *([SCALE] if "scale" in parts else ()),
                ),
                columns=columns,
                verbs=_VERBS,
            ),
            dict(loose.members(loose.members(version.get("schema")).get("openAPIV3Schema")))
            or {"type": "object"},
        )


def _columns(written: list[Object] | tuple[()]) -> Iterator[Column]:
    if not written:
        yield Column(name="Age", type="date", path=".metadata.creationTimestamp")
    for each in written:
        yield Column(
            name=each["name"],
            type=each["type"],
            path=each["jsonPath"],
            format=each.get("format") or "",
            description=each.get("description") or "",
            priority=each.get("priority") or 0,
        )
