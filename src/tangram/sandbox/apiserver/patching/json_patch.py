"""JSON patches (RFC 6902), applied as the API server applies them.

It is more lenient than the standard in four ways that clients rely on: `replace` sets a key that is not there yet, a
negative index counts from the end, `test` takes what is missing for null, and `copy` of what is missing copies null.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.go_writing import go_json
from tangram.sandbox.apiserver.patching.copying import Json, duplicate
from tangram.sandbox.apiserver.patching.refusing import does_not_apply, json_kind
from tangram.sandbox.apiserver.refusals import Refused, bad_request

MOST_OPERATIONS: Final = 10_000
_INDEX: Final = re.compile(r"[+-]?[0-9]+")
_APPEND: Final = "-"
_ROOT: Final = "root"


def apply_json_patch(target: Object, operations: object) -> Object:
    """The patched object; the target is not changed. Raises `Refused`."""
    wanted = _operations(operations)
    if len(wanted) > MOST_OPERATIONS:
        raise Refused(
            413,
            "RequestEntityTooLarge",
            "Request entity is too large: The allowed maximum operations in a JSON patch is "
            f"{MOST_OPERATIONS}, got {len(wanted)}",
        )
    # The object hangs in a map of its own, so that replacing the whole of it is like replacing a field.
    holder: Object = {_ROOT: duplicate(target)}
    for operation in wanted:
        _apply(holder, operation)
    patched = holder[_ROOT]
    if not isinstance(patched, dict):
        raise does_not_apply()
    return cast("Object", patched)


def _operations(operations: object) -> Sequence[Object]:
    if not isinstance(operations, list):
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {json_kind(operations)} "
            "into Go value of type []handlers.jsonPatchOp"
        )
    read = cast("list[object]", operations)
    for operation in read:
        if not isinstance(operation, dict):
            raise bad_request(
                f"error decoding patch: json: cannot unmarshal {json_kind(operation)} "
                "into Go value of type handlers.jsonPatchOp"
            )
        _refuse_odd_texts(cast("Object", operation))
    return cast("list[Object]", read)


def _refuse_odd_texts(operation: Object) -> None:
    for name in ("op", "path", "from"):
        value = operation.get(name)
        if value is not None and not isinstance(value, str):
            raise bad_request(
                f"error decoding patch: json: cannot unmarshal {json_kind(value)} "
                f"into Go struct field jsonPatchOp.{name} of type string"
            )


def _apply(holder: Object, operation: Object) -> None:
    kind = _KINDS.get(operation.get("op") or "")
    path = operation.get("path")
    if kind is None or path is None:
        raise does_not_apply()
    kind(holder, path, operation)


def _add(holder: Object, path: str, operation: Object) -> None:
    _put(holder, path, duplicate(operation.get("value")))


def _remove(holder: Object, path: str, _: Object) -> None:
    place, key = _find(holder, path)
    if isinstance(place, list):
        del place[_index(key, len(place))]
    elif key in place:
        del place[key]
    else:
        raise does_not_apply()


def _replace(holder: Object, path: str, operation: Object) -> None:
    value = duplicate(operation.get("value"))
    if not path:
        holder[_ROOT] = value
        return
    place, key = _find(holder, path)
    if isinstance(place, list):
        place[_index(key, len(place))] = value
    else:
        place[key] = value


def _move(holder: Object, path: str, operation: Object) -> None:
    start = _from(operation)
    value = _get(holder, start)
    _remove(holder, start, operation)
    _put(holder, path, value)


def _copy(holder: Object, path: str, operation: Object) -> None:
    _put(holder, path, duplicate(_get(holder, _from(operation))))


def _test(holder: Object, path: str, operation: Object) -> None:
    held = _get(holder, path) if path else holder[_ROOT]
    if go_json(held) != go_json(operation.get("value")):
        raise does_not_apply()


_KINDS: Final[Mapping[str, Callable[[Object, str, Object], None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _from(operation: Object) -> str:
    start = operation.get("from")
    if start is None:
        raise does_not_apply()
    return start


def _put(holder: Object, path: str, value: object) -> None:
    place, key = _find(holder, path)
    if not isinstance(place, list):
        place[key] = value
    elif key == _APPEND:
        place.append(value)
    else:
        place.insert(_index(key, len(place) + 1), value)


def _get(holder: Object, path: str) -> Json:
    place, key = _find(holder, path)
    return place[_index(key, len(place))] if isinstance(place, list) else place.get(key)


def _find(holder: Object, path: str) -> tuple[Object | list[Json], str]:
    """What the path leads to the last step of, and that step."""
    if "/" not in path:
        raise does_not_apply()
    steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")]
    place: Json = holder[_ROOT]
    for step in steps[1:-1]:
        if isinstance(place, list):
            held = cast("list[Json]", place)
            place = held[_index(step, len(held))]
        else:
            place = cast("Object", place).get(step)
        if not isinstance(place, dict | list):
            raise does_not_apply()
    return cast("Object | list[Json]", place), steps[-1]


def _index(step: str, length: int) -> int:
    if not _INDEX.fullmatch(step):
        raise does_not_apply()
    index = int(step)
    if not -length <= index < length:
        raise does_not_apply()
    return index % length
