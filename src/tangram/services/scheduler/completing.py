"""What admission adds to a pod, as the JSON patch that the API server applies.

Limits are written into requests too, as Koordinator's webhook does: Kubernetes mirrors only names that requests lack,
and would refuse a pod in which the two differ. What other limits have replaced leaves both. What is there already costs
nothing: a pod that is reviewed twice is changed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tangram.units.refusal import quoted
from tangram.vendors.protocol import Mutation, RemoveResource, SetAnnotation, SetLimit
from tangram.wire import json_patch, loose
from tangram.wire.admission_review import Object
from tangram.wire.errors import WireError
from tangram.wire.json_patch import Operation

_SIDES = ("limits", "requests")


def patch_for(manifest: Object, mutations: Iterable[Mutation], scheduler_name: str | None) -> list[Operation]:
    """The operations that complete a pod and name its scheduler, unless that is None. The manifest is changed.

    Raises `WireError` for a manifest that is no pod.
    """
    operations = [operation for mutation in mutations for operation in _operations(manifest, mutation)]
    if scheduler_name is not None:
        operations += json_patch.put(manifest, ("spec", "schedulerName"), scheduler_name)
    return operations


def containers_of(manifest: Object) -> Iterator[tuple[str, int, Mapping[str, object]]]:
    """Every container as it is written, with the list it is in and its position there."""
    spec = loose.members(manifest.get("spec"))
    for field in ("initContainers", "containers"):
        for position, entry in enumerate(loose.elements(spec.get(field))):
            yield field, position, loose.members(entry)


def _operations(manifest: Object, mutation: Mutation) -> list[Operation]:
    match mutation:
        case SetAnnotation(key=key, value=value):
            return json_patch.put(manifest, ("metadata", "annotations", key), value)
        case SetLimit(container=container, resource=resource, value=value):
            place = (*_place(manifest, container), "resources")
            put = json_patch.put
            return [each for side in _SIDES for each in put(manifest, (*place, side, resource), value)]
        case RemoveResource(container=container, resource=resource):
            place = (*_place(manifest, container), "resources")
            remove = json_patch.remove
            return [each for side in _SIDES for each in remove(manifest, (*place, side, resource))]


def _place(manifest: Object, container: str) -> tuple[str, str, int]:
    """Where a container stands in the manifest. Raises `WireError` for one that has gone missing."""
    for field, position, entry in containers_of(manifest):
        # The name that stands in for a missing one is that of `wire.pods`.
        if (loose.text(entry.get("name")) or f"spec.{field}[{position}]") == container:
            return ("spec", field, position)
    raise WireError("container-missing", f"the pod has no container {quoted(container)} to change")
