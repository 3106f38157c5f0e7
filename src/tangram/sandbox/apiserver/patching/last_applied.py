"""The annotation in which `kubectl apply` remembers what it applied, for objects that move to server-side apply.

`kubectl` may take over, without a conflict, what its own annotation proves it wrote and nobody has changed since; and
the annotation is kept up to date, so that going back to client-side apply works. Both are for the manager named
`kubectl` alone, and both are the server's doing.
"""

from __future__ import annotations

import json
from typing import Any, Final, cast

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.go_writing import go_json
from tangram.sandbox.apiserver.patching.claiming import claimed, faults
from tangram.sandbox.apiserver.patching.comparing import compared
from tangram.sandbox.apiserver.patching.facets import fields_of
from tangram.sandbox.apiserver.patching.fields import Fields
from tangram.sandbox.apiserver.shape import Shape

KUBECTL: Final = "kubectl"
_ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MOST_BYTES: Final = 256 * 1024


def applied_before(live: Object, shape: Shape, api_version: str) -> Fields:
    """What the annotation states and the object still has as stated. Nothing if there is no annotation to trust."""
    said = _annotations(live).get(_ANNOTATION)
    if not isinstance(said, str) or not said:
        return Fields()
    try:
        read = json.loads(said)
    except ValueError:
        return Fields()
    last = cast("Object", read) if isinstance(read, dict) else {}
    if last.get("apiVersion") != api_version:
        return Fields()
    if faults(last, shape) or faults(live, shape):
        return Fields()
    change = compared(last, live, shape)
    return claimed(last, shape) - change.modified - change.added - change.removed


def brought_up_to_date(thing: Object, wanted: Object) -> Object:
    """With the annotation, if there is one, stating what was applied now."""
    noted = dict(_annotations(thing))
    if not noted.get(_ANNOTATION):
        return thing
    noted[_ANNOTATION] = f"{go_json(_without_annotation(wanted))}\n"
    if sum(len(name.encode()) + len(str(value).encode()) for name, value in noted.items()) > _MOST_BYTES:
        del noted[_ANNOTATION]
    return {**thing, "metadata": {**thing["metadata"], "annotations": noted}}


def _without_annotation(wanted: Object) -> Object:
    annotations = _annotations(wanted)
    if _ANNOTATION not in annotations:
        return wanted
    kept = {name: value for name, value in annotations.items() if name != _ANNOTATION}
    return {**wanted, "metadata": {**wanted["metadata"], "annotations": kept}}


def _annotations(thing: Object) -> dict[str, Any]:
    return fields_of(fields_of(thing.get("metadata")).get("annotations"))
