"""The values of an object of a defined kind, held against its schema; every fault is told, in the server's words.

The odd ones are on purpose: a fault that several rules together find has no field (`<nil>`), a number outside its
format is told apart from one outside its limits, and of several failed alternatives the first is explained. Rules in
CEL are not evaluated. Metadata is checked elsewhere but for what the schema itself asks of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, cast

from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.schemas.data import OBJECT_META
from tangram.sandbox.apiserver.schemas.faults import (
    NOWHERE,
    compact,
    invalid,
    not_supported,
    quote,
    required,
    too_long,
    too_many,
    wrong_type,
)
from tangram.sandbox.apiserver.schemas.formats import fits
from tangram.sandbox.apiserver.schemas.lists import list_faults
from tangram.sandbox.apiserver.schemas.numbers import is_whole, number_faults, range_faults
from tangram.sandbox.apiserver.schemas.regexes import translated
from tangram.sandbox.apiserver.shape import Shape

_NAMED: Final = ("name", "generateName")
_NUMERIC: Final = frozenset({"integer", "number"})


def value_faults(thing: object, shape: Shape, path: str = "") -> list[Fault]:
    """Everything that is wrong with the values of an object."""
    return [
        *_faults(thing, shape, path),
        *_embedded_faults(thing, shape, path),
        *list_faults(thing, shape, path),
    ]


def _faults(value: object, shape: Shape, path: str) -> Iterator[Fault]:
    if value is None:
        if _types(shape) and not shape.nullable:
            yield _misfit(path, ",".join(_types(shape)), "null")
        yield from _enum_faults(value, shape, path)
        return
    yield from _type_faults(value, shape, path)
    yield from _choice_faults(value, shape, path)
    if isinstance(value, str):
        yield from _text_faults(value, shape, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from range_faults(value, shape, path)
        yield from number_faults(value, shape.limits, path)
    elif isinstance(value, list):
        yield from _array_faults(cast("list[object]", value), shape, path)
    yield from _enum_faults(cast("object", value), shape, path)
    if isinstance(value, dict):
        yield from _object_faults(cast("dict[str, object]", value), shape, path)


def _types(shape: Shape) -> tuple[str, ...]:
    if shape.int_or_string:
        return ("integer", "string")
    return () if shape.type == "any" else (shape.type,)


def _type_faults(value: object, shape: Shape, path: str) -> Iterator[Fault]:
    wanted = _types(shape)
    form = _kept_format(shape)
    if not wanted and not form:
        return
    found, found_form = _json_type(value)
    right = (
        found in wanted
        or ("integer" in wanted and is_whole(value))
        or (found == "integer" and "number" in wanted)
    )
    if form and found not in ("string", "array") and not right and found_form != form:
        yield _misfit(path, form, found_form)
        return
    if form and found in ("string", "array") and not _NUMERIC.intersection(wanted):
        return
    if not right:
        yield _misfit(path, ",".join(wanted), found)


def _kept_format(shape: Shape) -> str:
    """The format, if the server knows it for this type; others are as if they were not written."""
    form = str(shape.limits.get("format", ""))
    match shape.type:
        case "integer":
            return form if form in ("int32", "int64") else ""
        case "number":
            return form if form in ("float", "double") else ""
        case "string" | "any":
            return form
        case _:
            return ""


def _json_type(value: object) -> tuple[str, str]:
    """The type of a value, and the format that a value of this type has by itself."""
    match value:
        case bool():
            return "boolean", ""
        case int():
            return "integer", "int64"
        case float():
            return "number", "float64"
        case str():
            return "string", ""
        case list():
            return "array", ""
        case _:
            return "object", ""


def _misfit(path: str, wanted: str, found: str) -> Fault:
    return wrong_type(_field(path), found, f"{path} in body must be of type {wanted}: {quote(found)}")


def _choice_faults(value: object, shape: Shape, path: str) -> Iterator[Fault]:
    limits = shape.limits
    if "anyOf" in limits:
        tried = [list(_faults(value, each, path)) for each in limits["anyOf"]]
        if all(tried):
            yield _unplaced(f"{quote(path)} must validate at least one schema (anyOf)")
            yield from tried[0]
    if "oneOf" in limits:
        tried = [list(_faults(value, each, path)) for each in limits["oneOf"]]
        valid = sum(not each for each in tried)
        if valid != 1:
            how = f"Found {valid} valid alternatives" if valid else "Found none valid"
            yield _unplaced(f"{quote(path)} must validate one and only one schema (oneOf). {how}")
            yield from [] if valid else tried[0]
    if "allOf" in limits:
        tried = [list(_faults(value, each, path)) for each in limits["allOf"]]
        yield from (fault for each in tried for fault in each)
        if any(tried):
            none = ". None validated" if all(tried) else ""
            yield _unplaced(f"{quote(path)} must validate all the schemas (allOf){none}")
    if "not" in limits and not list(_faults(value, limits["not"], path)):
        yield _unplaced(f"{quote(path)} must not validate the schema (not)")


def _unplaced(text: str) -> Fault:
    return invalid(NOWHERE, "", text)


def _text_faults(text: str, shape: Shape, path: str) -> Iterator[Fault]:
    limits = shape.limits
    most, least, pattern = limits.get("maxLength"), limits.get("minLength"), limits.get("pattern")
    # One fault at most: too long, else too short, else the pattern.
    if most is not None and len(text) > most:
        yield too_long(_field(path), most)
    elif least is not None and len(text) < least:
        yield invalid(_field(path), text, f"{path} in body should be at least {least} chars long")
    elif pattern and not _search(pattern, text):
        yield invalid(_field(path), text, f"{path} in body should match '{pattern}'")
    form = _kept_format(shape)
    if form and not fits(text, form):
        yield wrong_type(_field(path), text, f"{path} in body must be of type {form}: {quote(text)}")


def _search(pattern: str, text: str) -> bool:
    compiled = _compiled(pattern)
    return compiled is None or compiled.search(text) is not None


@lru_cache(maxsize=500)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """None for what this machine cannot read: such a pattern was refused with its definition, or holds nothing up."""
    try:
        return re.compile(translated(pattern))
    except (re.error, OverflowError, RecursionError):
        return None


def _array_faults(items: list[object], shape: Shape, path: str) -> Iterator[Fault]:
    if shape.items is not None:
        for number, each in enumerate(items):
            yield from _faults(each, shape.items, f"{path}[{number}]")
    least, most = shape.limits.get("minItems"), shape.limits.get("maxItems")
    if least is not None and len(items) < least:
        yield invalid(_field(path), len(items), f"{path} in body should have at least {least} items")
    if most is not None and len(items) > most:
        yield too_many(_field(path), len(items), most)
    if shape.limits.get("uniqueItems") is True and len({compact(each) for each in items}) != len(items):
        yield invalid(_field(path), "", f"{path} in body shouldn't contain duplicates")


def _enum_faults(value: object, shape: Shape, path: str) -> Iterator[Fault]:
    legal: list[object] | None = shape.limits.get("enum")
    if legal and not any(_same(value, each) for each in legal):
        yield not_supported(_field(path), value, legal)


def _same(value: object, legal: object) -> bool:
    # In Python True is 1; in JSON it is not. Nothing is ever the same as null.
    return value is not None and isinstance(value, bool) == isinstance(legal, bool) and value == legal


def _object_faults(fields: dict[str, object], shape: Shape, path: str) -> Iterator[Fault]:
    limits = shape.limits
    least, most = limits.get("minProperties"), limits.get("maxProperties")
    if least is not None and len(fields) < least:
        yield invalid(_field(path), len(fields), f"{path} in body should have at least {least} properties")
    if most is not None and len(fields) > most:
        yield too_many(_field(path), len(fields), most)
    if shape.values is not None:
        for key, inner in fields.items():
            if key not in shape.properties:
                yield from _faults(inner, shape.values, f"{path}.{key}")
    for key, known in _checked(shape).items():
        if key in fields:
            yield from _faults(fields[key], known, f"{path}.{key}" if path else key)
    for key in shape.required:
        if key not in fields:
            yield required(_field(f"{path}.{key}"))


def _checked(shape: Shape) -> dict[str, Shape]:
    if not shape.definition:
        return {
            key: known for key, known in shape.properties.items() if not known.definition or key == "metadata"
        }
    if shape.definition == OBJECT_META:
        return {key: shape.properties[key] for key in _NAMED}
    return {}


def _embedded_faults(value: object, shape: Shape, path: str) -> Iterator[Fault]:
    """A whole object inside another must say what it is."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        for key in ("apiVersion", "kind") if shape.embedded else ():
            if not fields.get(key):
                yield required(_field(f"{path}.{key}"))
        for key, inner in fields.items():
            known = shape.properties.get(key) or shape.values
            if known is not None and not known.definition:
                yield from _embedded_faults(inner, known, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and shape.items is not None:
        for number, inner in enumerate(cast("list[object]", value)):
            yield from _embedded_faults(inner, shape.items, f"{path}[{number}]")


def _field(path: str) -> str:
    return path.removeprefix(".")
