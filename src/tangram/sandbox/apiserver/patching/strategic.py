"""Strategic merge patches: merge patches that know which lists are merged by key, and that carry directives.

`kubectl apply`, `edit`, `label` and many controllers send these for built-in kinds. The shape says how each list is
merged; the directives in the patch say the rest: `$patch` (replace or delete the map it is in), `$retainKeys` (drop
every other key), `$deleteFromPrimitiveList/NAME` and `$setElementOrder/NAME`. What happens inside of lists is in
`strategic_lists`. Nothing given is changed.
"""

from __future__ import annotations

from typing import Final, cast

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.go_writing import go_text
from tangram.sandbox.apiserver.patching.copying import Json, duplicate
from tangram.sandbox.apiserver.patching.facets import below, item_shape
from tangram.sandbox.apiserver.patching.merge_patch import without_nulls
from tangram.sandbox.apiserver.patching.refusing import json_kind, server_error
from tangram.sandbox.apiserver.patching.strategic_lists import (
    DIRECTIVE,
    NOTHING,
    Merge,
    arranged,
    deleted_from,
    element_type,
    merged_lists,
    refuse_other_order,
    without_directives,
)
from tangram.sandbox.apiserver.refusals import Refused, bad_request
from tangram.sandbox.apiserver.shape import ANYTHING, Shape

_RETAIN: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_ORDER: Final = "$setElementOrder"
_GO_TYPES: Final = {
    "object": "map[string]interface {}",
    "array": "[]interface {}",
    "number": "int64",
    "string": "string",
    "bool": "bool",
}


def apply_strategic(target: Object, change: object, shape: Shape) -> Object:
    """The patched object. Raises `Refused`."""
    if not isinstance(change, dict):
        raise bad_request(
            f"json: cannot unmarshal {json_kind(change)} into Go value of type map[string]interface {{}}"
        )
    return _merged(duplicate(target), duplicate(cast("Object", change)), shape)


def _merged(original: Object, patch: Object, shape: Shape) -> Object:
    """Both are ours to change."""
    if DIRECTIVE in patch:
        return _directed(patch)
    if _RETAIN in patch:
        _retain(original, patch)
    for key in [key for key in patch if key.startswith(_ORDER)]:
        _arrange(original, patch, key, shape)
    for key, value in patch.items():
        if key.startswith(_DELETE_FROM):
            _delete_from(original, _named(key, _DELETE_FROM), value, shape)
        elif value is None:
            original.pop(key, None)
        else:
            _set(original, key, value, shape)
    return original


def _directed(patch: Object) -> Object:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != DIRECTIVE}
    if directive == "delete":
        return {}
    raise server_error(f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")


def _retain(original: Object, patch: Object) -> None:
    kept = patch.pop(_RETAIN)
    malformed = bad_request("invalid patch format of retainKeys")
    if not isinstance(kept, list):
        raise malformed
    for key, value in patch.items():
        if value is not None and not key.startswith((_DELETE_FROM, _ORDER)) and key not in kept:
            raise malformed
    for key in [key for key in original if key not in kept]:
        del original[key]


def _set(original: Object, key: str, value: Json, shape: Shape) -> None:
    held = original.get(key)
    if isinstance(held, dict) and isinstance(value, dict):
        known = _known(shape, key)
        whole = "replace" in known.strategies
        original[key] = value if whole else _merged(cast("Object", held), cast("Object", value), known)
    elif isinstance(held, list) and isinstance(value, list):
        known = _known(shape, key)
        if "merge" in known.strategies:
            original[key] = merged_lists(
                cast("list[Json]", held), cast("list[Json]", value), known, _merge_element(known)
            )
        else:
            original[key] = value
    elif without_directives(value) is NOTHING:
        original.pop(key, None)
    else:
        original[key] = without_directives(without_nulls(value))


def _delete_from(original: Object, key: str, value: Json, shape: Shape) -> None:
    held = original.get(key)
    if value is None:
        original.pop(key, None)
    elif isinstance(held, list) and isinstance(value, list):
        known = _known(shape, key)
        original[key] = deleted_from(
            cast("list[Json]", held), cast("list[Json]", value), known, _merge_element(known)
        )


def _arrange(original: Object, patch: Object, directive: str, shape: Shape) -> None:
    """Merge the list of a `$setElementOrder` directive, if there is one, and put it in the order asked for."""
    order = patch.pop(directive)
    if not isinstance(order, list):
        raise _wrong_type(order)
    key = _named(directive, _ORDER)
    held, added = original.get(key), patch.get(key)
    for each in (held, added):
        if each is not None and not isinstance(each, list):
            raise _wrong_type(each)
    if key not in original and key not in patch:
        return
    known = _known(shape, key)
    old, new = cast("list[Json]", held or []), cast("list[Json]", added or [])
    asked = cast("list[Json]", order)
    refuse_other_order(new, asked, known.merge_key)
    if key not in patch:
        joined = old
    elif key not in original:
        joined = without_directives(new)
    elif "merge" in known.strategies:
        joined = merged_lists(old, new, known, _merge_element(known))
    else:
        joined = new
    element_type(old, new)
    original[key] = arranged(joined, asked, old, known.merge_key)
    patch.pop(key, None)


def _merge_element(known: Shape) -> Merge:
    def merge(original: Object, patch: Object) -> Object:
        return _merged(original, patch, item_shape(known))

    return merge


def _named(directive: str, prefix: str) -> str:
    name = directive.removeprefix(f"{prefix}/")
    if name == directive:
        what = "primitive list" if prefix == _DELETE_FROM else "setElementOrder list"
        raise bad_request(f"invalid patch format of {what}")
    return name


def _known(shape: Shape, key: str) -> Shape:
    """The shape of a field whose value is merged and not just replaced."""
    if shape.values is not None and not shape.properties:
        raise server_error("merging an object in json but data type is not struct, instead is: map")
    known = below(shape, key)
    if known is None:
        struct = shape.definition.rpartition(".")[2]
        raise server_error(f'unable to find api field in struct {struct} for the json field "{key}"')
    return known if known is not ANYTHING else Shape(preserve=True)


def _wrong_type(value: object) -> Refused:
    found = _GO_TYPES[json_kind(value)] if value is not None else "%!s(<nil>)"
    return server_error(f"expected a []interface {{}}, but received a {found}")
