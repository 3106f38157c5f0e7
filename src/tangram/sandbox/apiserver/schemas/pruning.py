"""What happens to an object before anybody looks at it: fields that nobody knows go, defaults of its schema come.

Nulls are a third kind of value in this: where null is legal it stays, where there is a default it is replaced, and
elsewhere the field counts as not written. Lists keep their length, whatever is in them. Objects are never changed:
what comes back is new wherever it differs, and may share the rest with what was given.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final, cast

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.shape import MISSING, Shape

_NOTHING: Final = Shape()
"""Of a value nobody described, no field is known."""


def prune(thing: Object, shape: Shape) -> Object:
    """The object without fields that its shape does not have."""
    return _pruned(thing, shape)


def fill_defaults(thing: Object, shape: Shape) -> Object:
    """The object of a defined kind with defaults where nothing was written, and without nulls that mean nothing."""
    return _filled(_without_nulls(thing, shape), shape)


def _pruned(value: Any, shape: Shape) -> Any:  # noqa: ANN401 - any JSON value, and the same kind of it again
    if isinstance(value, dict):
        kept: Object = {}
        for key, inner in cast("Object", value).items():
            known = shape.properties.get(key) or shape.values
            if known is not None:
                kept[key] = _pruned(inner, known)
            elif shape.preserve:
                kept[key] = inner
        return kept
    if isinstance(value, list):
        within = shape.items or (shape if shape.preserve else _NOTHING)
        return [_pruned(inner, within) for inner in cast("list[Any]", value)]
    return value


def _without_nulls(value: Any, shape: Shape) -> Any:  # noqa: ANN401 - the same
    if isinstance(value, dict):
        kept: Object = {}
        for key, inner in cast("Object", value).items():
            known = shape.properties.get(key) or shape.values
            if known is None:
                kept[key] = inner
            elif inner is not None or known.nullable or known.default is not MISSING or _undescribed(known):
                kept[key] = _without_nulls(inner, known)
        return kept
    if isinstance(value, list) and shape.items is not None:
        return [_without_nulls(inner, shape.items) for inner in cast("list[Any]", value)]
    return cast("Any", value)


def _filled(value: Any, shape: Shape) -> Any:  # noqa: ANN401 - the same
    # Metadata and whatever else is built in has no defaults that a schema could have asked for.
    if shape.definition:
        return value
    if isinstance(value, dict):
        fields = dict(cast("Object", value))
        for key, known in shape.properties.items():
            if known.default is not MISSING and (
                key not in fields or (fields[key] is None and not known.nullable)
            ):
                fields[key] = deepcopy(known.default)
        for key, inner in fields.items():
            known = shape.properties.get(key)
            if known is not None:
                fields[key] = _filled(inner, known)
            elif shape.values is not None:
                fields[key] = _filled(_instead_of_null(inner, shape.values), shape.values)
        return fields
    if isinstance(value, list) and shape.items is not None:
        within = shape.items
        return [_filled(_instead_of_null(inner, within), within) for inner in cast("list[Any]", value)]
    return cast("Any", value)


def _instead_of_null(value: Any, shape: Shape) -> Any:  # noqa: ANN401 - the same
    """In maps and lists a null stands for the default of what they hold; where there is none it stays."""
    return (
        value if value is not None or shape.nullable or shape.default is MISSING else deepcopy(shape.default)
    )


def _undescribed(shape: Shape) -> bool:
    """Nothing is said of such a value, not even that it must be one (additionalProperties: true)."""
    return shape.type == "any" and not shape.preserve and not shape.int_or_string
