"""Changes of a JSON document as the JSON patch (RFC 6902) that makes them.

A patch is applied to the document by somebody else, so each change is made here at the same time: the next one sees
what the last one left, and a change that is already there costs no operation. Only what admission needs is offered:
put a value under a path of maps, and take one away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tangram.wire import loose
from tangram.wire.errors import WireError, shown

Operation = dict[str, Any]
Path = Sequence[str | int]


def pointer(path: Path) -> str:
    """A JSON pointer (RFC 6901), with `~` and `/` escaped: resource names and annotation keys have slashes."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def put(document: dict[str, Any], path: Path, value: str) -> list[Operation]:
    """Set the value at the path, making the maps on the way that are missing or null. The document is changed.

    Raises `WireError` where something that is no map stands in the way.
    """
    operations: list[Operation] = []
    place: object = document
    for depth, step in enumerate(path[:-1], start=1):
        below = _member(place, step, path)
        if below is None:
            below = dict[str, Any]()
            _map(place, path)[str(step)] = below
            operations.append({"op": "add", "path": pointer(path[:depth]), "value": {}})
        place = below
    holder = _map(place, path)
    if holder.get(str(path[-1])) != value:
        holder[str(path[-1])] = value
        operations.append({"op": "add", "path": pointer(path), "value": value})
    return operations


def remove(document: dict[str, Any], path: Path) -> list[Operation]:
    """Take away what is at the path, if anything is. The document is changed. Raises `WireError` like `put`."""
    place: object = document
    for step in path[:-1]:
        place = _member(place, step, path)
        if place is None:
            return []
    holder = _map(place, path)
    if path[-1] not in holder:
        return []
    del holder[str(path[-1])]
    return [{"op": "remove", "path": pointer(path)}]


def _member(place: object, step: str | int, path: Path) -> object:
    if isinstance(step, str):
        return _map(place, path).get(step)
    if not loose.is_list(place):
        raise _in_the_way(place, path)
    elements = loose.elements(place)
    if not 0 <= step < len(elements):
        raise _in_the_way(None, path)
    return elements[step]


def _map(place: object, path: Path) -> dict[str, Any]:
    if not isinstance(place, dict):
        raise _in_the_way(place, path)
    return cast("dict[str, Any]", place)


def _in_the_way(place: object, path: Path) -> WireError:
    return WireError(
        "patch-impossible",
        f"{pointer(path)} cannot be written, as {shown(place)} stands in its way; write a map there, or nothing",
    )
