"""What happens to an object of a defined kind before anybody looks at it: unknown fields go, defaults come.

Nulls are a third kind of value in this: where null is legal it stays, where there is a default it is replaced, and
elsewhere the field counts as not written. Lists keep their length, whatever is in them.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Final, cast

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.shape import MISSING, Shape


def prune(thing: Object, shape: Shape) -> Object:
    """The same object, without fields that its shape does not have."""
    _prune(thing, shape)
    return thing


def fill_defaults(thing: Object, shape: Shape) -> Object:
    """The same object, with defaults where nothing was written, and without nulls that mean nothing."""
    _drop_nulls(thing, shape)
    _fill(thing, shape)
    return thing


def _prune(value: object, shape: Shape) -> None:
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        for key in list(fields):
            known = shape.properties.get(key) or shape.values
            if known is not None:
                _prune(fields[key], known)
            elif not shape.preserve:
                del fields[key]
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            # A list of nobody knows what: of the objects in it no field is known.
            if shape.items is not None:
                _prune(inner, shape.items)
            elif not shape.preserve:
                _prune(inner, _NOTHING)


def _drop_nulls(value: object, shape: Shape) -> None:
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        for key in list(fields):
            known = shape.properties.get(key) or shape.values
            if known is None:
                continue
            if fields[key] is None and not known.nullable and known.default is MISSING and not _unknown(known):
                del fields[key]
            else:
                _drop_nulls(fields[key], known)
    elif isinstance(value, list) and shape.items is not None:
        for inner in cast("list[object]", value):
            _drop_nulls(inner, shape.items)


def _fill(value: object, shape: Shape) -> None:
    # Metadata and what else is built in have no defaults that a schema could ask for.
    if shape.definition:
        return
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        for key, known in shape.properties.items():
            if known.default is MISSING:
                continue
            if key not in fields or (fields[key] is None and not known.nullable):
                fields[key] = deepcopy(known.default)
        for key in fields:
            known = shape.properties.get(key)
            if known is None and shape.values is not None:
                known = shape.values
                fields[key] = _instead_of_null(fields[key], known)
            if known is not None:
                _fill(fields[key], known)
    elif isinstance(value, list) and shape.items is not None:
        items = cast("list[object]", value)
        for number in range(len(items)):
            items[number] = _instead_of_null(items[number], shape.items)
            _fill(items[number], shape.items)


def _instead_of_null(value: object, shape: Shape) -> object:
    """In maps and lists a null stands for the default of what they hold; where there is none it stays."""
    return value if value is not None or shape.nullable or shape.default is MISSING else deepcopy(shape.default)


def _unknown(shape: Shape) -> bool:
    """Nothing is said of such a value, not even that it must be one."""
    return shape.type == "any" and not shape.preserve and not shape.int_or_string


_NOTHING: Final = Shape()
