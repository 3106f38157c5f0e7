"""Lists whose elements must differ: sets, and maps written as lists (x-kubernetes-list-type).

A repeated element is told once, at its second place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.schemas.faults import compact, duplicate, invalid
from tangram.sandbox.apiserver.shape import Shape


def list_faults(value: object, shape: Shape, path: str) -> Iterator[Fault]:
    """The repeated elements in an object's lists."""
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            named = shape.properties.get(key)
            if named is not None and not named.definition:
                yield from list_faults(inner, named, f"{path}.{key}" if path else key)
            elif named is None and shape.values is not None:
                yield from list_faults(inner, shape.values, f"{path}[{key}]")
    elif isinstance(value, list):
        items = cast("list[object]", value)
        if shape.list_type == "set":
            yield from _repeated(items, path)
        elif shape.list_type == "map":
            yield from _repeated_keys(items, shape.list_keys, path)
        if shape.items is not None:
            for number, inner in enumerate(items):
                yield from list_faults(inner, shape.items, f"{path}[{number}]")


def _repeated_keys(items: Sequence[object], keys: Sequence[str], path: str) -> Iterator[Fault]:
    found: list[object] = []
    for number, each in enumerate(items):
        if each is not None and not isinstance(each, dict):
            yield invalid(f"{path}[{number}]", each, "must be an object for an array of list-type map")
            return
        fields = cast("dict[str, object]", each or {})
        found.append({key: fields[key] for key in keys if key in fields})
    yield from _repeated(found, path)


def _repeated(items: Sequence[object], path: str) -> Iterator[Fault]:
    seen: dict[str, int] = {}
    for number, each in enumerate(items):
        text = compact(each)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield duplicate(f"{path}[{number}]", each)
