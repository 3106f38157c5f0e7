"""The older OpenAPI document as protocol buffers: the form in which every kubectl fetches it.

The message is gnostic's openapi_v2.Document. Of its many fields only those that our documents use are written, each by
its number; a word without a number here is refused rather than lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from struct import pack
from typing import Any, Final

Value = Mapping[str, Any]

_TEXT_OF_SCHEMA: Final = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_NUMBERS_OF_SCHEMA: Final = {"multipleOf": 6, "maximum": 7, "minimum": 9}
_SWITCHES_OF_SCHEMA: Final = {"exclusiveMaximum": 8, "exclusiveMinimum": 10, "uniqueItems": 16}
_COUNTS_OF_SCHEMA: Final = {
    "maxLength": 11, "minLength": 12, "maxItems": 14, "minItems": 15, "maxProperties": 17, "minProperties": 18,
}  # fmt: skip
_METHODS: Final = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}
_SAID_ELSEWHERE: Final = frozenset({"example", "externalDocs"})
"""Of interest to people who read the schema itself."""


def encoded(document: Value) -> bytes:
    """The whole document."""
    paths = _each(2, document["paths"], _path)
    definitions = _each(1, document["definitions"], _schema)
    return b"".join(
        [
            _text(1, document["swagger"]),
            _bytes(2, _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])),
            _bytes(8, paths),
            _bytes(9, definitions),
        ]
    )


def _path(item: Value) -> bytes:
    parts = [_bytes(_METHODS[method], _operation(item[method])) for method in _METHODS if method in item]
    parts += [_bytes(9, _parameter(each)) for each in item.get("parameters", ())]
    return b"".join(parts)


def _operation(operation: Value) -> bytes:
    responses = _each(1, operation["responses"], _response)
    return b"".join(
        [
            *_texts(1, operation.get("tags", ())),
            _text(5, operation["operationId"]),
            *_texts(6, operation.get("produces", ())),
            *_texts(7, operation.get("consumes", ())),
            *(_bytes(8, _parameter(each)) for each in operation.get("parameters", ())),
            _bytes(9, responses),
            *_extensions(13, operation),
        ]
    )


def _parameter(parameter: Value) -> bytes:
    if parameter["in"] == "body":
        body = b"".join(
            [_text(2, parameter["name"]), _text(3, "body"), _bytes(5, _schema(parameter["schema"]))]
        )
        return _bytes(1, _bytes(1, body))
    in_path = parameter["in"] == "path"
    said = b"".join(
        [
            _switch(1, on=bool(parameter.get("required"))),
            _text(2, parameter["in"]),
            _text(4, parameter["name"]),
            _text(5 if in_path else 6, parameter["type"]),
            _switch(19 if in_path else 20, on=bool(parameter.get("uniqueItems"))),
        ]
    )
    return _bytes(1, _bytes(2, _bytes(4 if in_path else 3, said)))


def _response(response: Value) -> bytes:
    said = _text(1, response["description"]) + _bytes(2, _bytes(1, _schema(response["schema"])))
    return _bytes(1, said)


def _schema(schema: Value) -> bytes:
    return b"".join(part for name, value in schema.items() for part in _word(name, value))


def _word(name: str, value: Any) -> Iterator[bytes]:  # noqa: ANN401 - any JSON value
    if name in _TEXT_OF_SCHEMA:
        yield _text(_TEXT_OF_SCHEMA[name], value)
    elif name in _NUMBERS_OF_SCHEMA:
        yield _key(_NUMBERS_OF_SCHEMA[name], 1) + pack("<d", value)
    elif name in _SWITCHES_OF_SCHEMA:
        yield _switch(_SWITCHES_OF_SCHEMA[name], on=value)
    elif name in _COUNTS_OF_SCHEMA:
        yield _key(_COUNTS_OF_SCHEMA[name], 0) + _varint(value)
    elif name.startswith("x-"):
        yield _bytes(31, _text(1, name) + _bytes(2, _any(value)))
    elif name not in _SAID_ELSEWHERE:
        yield from _structure(name, value)


def _structure(name: str, value: Any) -> Iterator[bytes]:  # noqa: ANN401 - the same
    match name:
        case "required":
            yield from _texts(19, value)
        case "enum":
            yield from (_bytes(20, _any(each)) for each in value)
        case "additionalProperties":
            yield _bytes(21, _switch(2, on=value) if isinstance(value, bool) else _bytes(1, _schema(value)))
        case "type":
            yield _bytes(22, _text(1, value))
        case "items":
            yield _bytes(23, _bytes(1, _schema(value)))
        case "properties":
            yield _bytes(25, _each(1, value, _schema))
        case _:
            raise ValueError(f"a schema uses the word {name!r}, which the older OpenAPI has no place for")


def _each(number: int, named: Value, encode: Callable[[Value], bytes]) -> bytes:
    """A map, which that message writes as a list of names with values."""
    return b"".join(
        _bytes(number, _text(1, name) + _bytes(2, encode(value))) for name, value in named.items()
    )


def _extensions(number: int, holder: Value) -> Iterator[bytes]:
    for name, value in holder.items():
        if name.startswith("x-"):
            yield _bytes(number, _text(1, name) + _bytes(2, _any(value)))


def _any(value: object) -> bytes:
    """A value of whatever type stands there as YAML, and JSON is that."""
    return _text(2, json.dumps(value, separators=(",", ":")) + "\n")


def _texts(number: int, values: Iterable[str]) -> Sequence[bytes]:
    return [_text(number, each) for each in values]


def _text(number: int, text: str) -> bytes:
    return _bytes(number, text.encode("utf-8", errors="replace"))


def _bytes(number: int, content: bytes) -> bytes:
    return _key(number, 2) + _varint(len(content)) + content


def _switch(number: int, *, on: bool) -> bytes:
    return _key(number, 0) + b"\x01" if on else b""


def _key(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(number: int) -> bytes:
    # Negative numbers are written as the 64-bit ones they would be.
    left = number & (2**64 - 1)
    made = bytearray()
    while left > 0x7F:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    made.append(left)
    return bytes(made)
