"""Whether values are legal by a chart's `values.schema.json`, without helm: the few words of JSON Schema it uses.

A word that is not known here is an error and never passed over, so a schema that learns one makes tests fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

Schema = Mapping[str, Any]
Json = Any
"""Whatever a file may hold."""
Check = Callable[[Json, Json, str, Schema], Iterator[str]]


def complaints(schema: Json, value: Json, at: str = "") -> Iterator[str]:
    """What is wrong, each with its place; nothing of legal values."""
    if isinstance(schema, bool):
        yield from () if schema else (f"{at}: nothing may be here",)
        return
    if "if" in schema:
        holds = not any(complaints(schema["if"], value, at))
        yield from complaints(schema.get("then" if holds else "else", True), value, at)
    for word, said in schema.items():
        if word not in ("if", "then", "else", "$schema"):
            yield from _WORDS[word](said, value, at, schema)


def _is(kind: str, value: object) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, _TYPES[kind])


_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "boolean": bool,
}


def _members(value: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def _elements(value: Json) -> list[Json]:
    return cast("list[Json]", value) if isinstance(value, list) else []


def _same(one: object, other: object) -> bool:
    """Equality of JSON, in which true is no number."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _told(wrong: bool, at: str, sentence: object) -> Iterator[str]:  # noqa: FBT001 - a condition
    if wrong:
        yield f"{at}: {sentence}"


def _type(said: Json, value: Json, at: str, _: Schema) -> Iterator[str]:
    kinds = [said] if isinstance(said, str) else said
    yield from _told(not any(_is(kind, value) for kind in kinds), at, f"is no {said}")


def _properties(said: Json, value: Json, at: str, _: Schema) -> Iterator[str]:
    for key in said.keys() & _members(value).keys():
        yield from complaints(said[key], value[key], f"{at}.{key}")


def _others(said: Json, value: Json, at: str, schema: Schema) -> Iterator[str]:
    for key in _members(value).keys() - schema.get("properties", {}).keys():
        yield from complaints(said, value[key], f"{at}.{key}")


def _names(said: Json, value: Json, at: str, _: Schema) -> Iterator[str]:
    for key in _members(value):
        yield from complaints(said, key, f"{at}.{key}")


def _items(said: Json, value: Json, at: str, _: Schema) -> Iterator[str]:
    for index, each in enumerate(_elements(value)):
        yield from complaints(said, each, f"{at}[{index}]")


def _required(said: Json, value: Json, at: str, _: Schema) -> Iterator[str]:
    yield from _told(_is("object", value) and not set(said) <= set(_members(value)), at, f"needs {said}")


def _unique(said: Json, value: Json, at: str, _: Schema) -> Iterator[str]:
    found = _elements(value)
    twice = any(_same(each, other) for index, each in enumerate(found) for other in found[:index])
    yield from _told(said and twice, at, "has one twice")


def _pattern(said: Json, value: Json, at: str, _: Schema) -> Iterator[str]:
    """As Go reads it: the end is the end, and letters are those of ASCII."""
    if isinstance(value, str):
        found = re.search(said.replace("$", r"\Z"), value, re.ASCII)
        yield from _told(found is None, at, f"is not {said}")


def _bound(kind: type | tuple[type, ...], wrong: Callable[[Any, Any], bool], word: str) -> Check:
    def check(said: Json, value: Json, at: str, _: Schema) -> Iterator[str]:
        fits = isinstance(value, kind) and not isinstance(value, bool)
        yield from _told(fits and wrong(value, said), at, f"is {word} {said}")

    return check


_NUMBERS: Final = (int, float)
_WORDS: Final[Mapping[str, Check]] = {
    "type": _type,
    "properties": _properties,
    "additionalProperties": _others,
    "propertyNames": _names,
    "items": _items,
    "required": _required,
    "uniqueItems": _unique,
    "pattern": _pattern,
    "enum": lambda said, value, at, _: _told(
        not any(_same(value, each) for each in said), at, f"not in {said}"
    ),
    "const": lambda said, value, at, _: _told(not _same(value, said), at, f"is not {said}"),
    "not": lambda said, value, at, _: _told(not any(complaints(said, value, at)), at, f"must not be {said}"),
    "anyOf": lambda said, value, at, _: _told(
        all(any(complaints(each, value, at)) for each in said), at, "is none of several"
    ),
    "minimum": _bound(_NUMBERS, lambda value, said: value < said, "less than"),
    "maximum": _bound(_NUMBERS, lambda value, said: value > said, "more than"),
    "minItems": _bound(list, lambda value, said: len(value) < said, "shorter than"),
    "maxItems": _bound(list, lambda value, said: len(value) > said, "longer than"),
    "maxLength": _bound(str, lambda value, said: len(value) > said, "longer than"),
}
