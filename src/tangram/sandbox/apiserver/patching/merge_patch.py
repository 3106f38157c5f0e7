"""Merge patches (RFC 7386): an object with the fields that change, null for those that go.

One deviation is the real server's: nulls inside of lists that arrive whole are dropped from their objects too, unless
the list replaces an object.
"""

from __future__ import annotations

from typing import cast

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.patching.copying import Json, duplicate
from tangram.sandbox.apiserver.patching.refusing import json_kind
from tangram.sandbox.apiserver.refusals import bad_request


def apply_merge_patch(target: Object, change: object) -> Object:
    """The patched object; the target is not changed. Raises `Refused`."""
    if change is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(change, dict):
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {json_kind(change)} "
            "into Go value of type map[string]interface {}"
        )
    return _merged(duplicate(target), cast("Object", change))


def _merged(target: Object, change: Object) -> Object:
    for name, value in change.items():
        if value is None:
            target.pop(name, None)
            continue
        held: Json = target.get(name)
        if not isinstance(held, dict):
            target[name] = without_nulls(value)
        elif isinstance(value, dict):
            target[name] = _merged(cast("Object", held), cast("Object", value))
        else:
            target[name] = duplicate(value)
    return target


def without_nulls(value: Json) -> Json:
    """A copy with no field that is null, at any depth."""
    if isinstance(value, dict):
        held = cast("Object", value)
        return {name: without_nulls(each) for name, each in held.items() if each is not None}
    if isinstance(value, list):
        return [without_nulls(each) for each in cast("list[Json]", value)]
    return value
