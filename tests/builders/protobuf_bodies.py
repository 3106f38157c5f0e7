"""Kubernetes' protobuf, written: the other direction of what the sandbox's API server reads, for tests alone.

It goes by the same table of fields, and by protobuf's grammar as its specification has it.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import struct
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from tangram.kube.objects import Object

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
NUMBER_OR_TEXT = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
RAW = "io.k8s.apimachinery.pkg.runtime.RawExtension"
LISTS = (
    "io.k8s.api.authentication.v1.ExtraValue",
    "io.k8s.api.authorization.v1.ExtraValue",
    f"{META}.Verbs",
)


class Field(NamedTuple):
    number: int
    name: str
    form: str
    what: str


def body_of(thing: Object, definition: str) -> bytes:
    """A whole body, with the mark in front and the kind around it."""
    rest = {key: value for key, value in thing.items() if key not in ("apiVersion", "kind")}
    head = b"".join(
        piece(number, str(thing.get(key, "")).encode())
        for number, key in enumerate(("apiVersion", "kind"), 1)
    )
    return b"k8s\x00" + piece(1, head) + piece(2, message(rest, definition))


def message(thing: Object, definition: str) -> bytes:
    """One message; raises `KeyError` for a field that the table does not have."""
    known = {each.name for each in reachable(definition)}
    if unknown := thing.keys() - known:
        raise KeyError(f"{definition} has no {sorted(unknown)}")
    found = b""
    for field in fields_of(definition):
        if field.form == "&":
            names = {each.name for each in reachable(field.what)}
            inner = {key: value for key, value in thing.items() if key in names}
            found += piece(field.number, message(inner, field.what))
        elif field.name not in thing:
            continue
        elif field.form == "*":
            found += b"".join(_valued(field.number, each, field.what) for each in thing[field.name])
        elif field.form == "%":
            for key, value in thing[field.name].items():
                found += piece(field.number, piece(1, key.encode()) + _valued(2, value, field.what))
        else:
            found += _valued(field.number, thing[field.name], field.what)
    return found


def piece(number: int, content: bytes) -> bytes:
    """Bytes under a number."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """A number in sevens of bits, the lowest first."""
    value &= (1 << 64) - 1
    found = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        found.append(low | (0x80 if value else 0))
        if not value:
            return bytes(found)


def numeral(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


@cache
def fields_of(definition: str) -> tuple[Field, ...]:
    """The fields that the table has of a message."""
    rows = table()[definition].items()
    return tuple(_field(int(number), text) for number, text in rows)


def reachable(definition: str) -> list[Field]:
    """Every field that JSON has of a message, those of messages inside its own included."""
    found: list[Field] = []
    for field in fields_of(definition):
        found += reachable(field.what) if field.form == "&" else [field]
    return found


@cache
def table() -> dict[str, dict[str, str]]:
    """By message, then by number."""
    text = files("tangram.sandbox.apiserver.protobuf").joinpath("fields.json").read_text("utf-8")
    read: dict[str, dict[str, str]] = json.loads(text)
    return read


def _field(number: int, text: str) -> Field:
    name, what = text.split()
    form = what[0] if what[0] in "*%&" else ""
    return Field(number, name, form, what[len(form) :])


def _valued(number: int, value: Any, what: str) -> bytes:  # noqa: ANN401 - JSON of any shape
    match what:
        case "i" | "b":
            return numeral(number, int(value))
        case "d":
            return varint(number << 3 | 1) + struct.pack("<d", value)
        case "s":
            return piece(number, value.encode())
        case "y":
            return piece(number, base64.b64decode(value))
        case _:
            return piece(number, _inside(value, what))


def _inside(value: Any, what: str) -> bytes:  # noqa: ANN401 - JSON of any shape
    if what in LISTS:
        return b"".join(piece(1, each.encode()) for each in value)
    if what == QUANTITY:
        return piece(1, value.encode())
    if what == NUMBER_OR_TEXT:
        texts = isinstance(value, str)
        return (
            numeral(1, int(texts))
            + numeral(2, 0 if texts else value)
            + piece(3, value.encode() if texts else b"")
        )
    if what in (RAW, f"{META}.FieldsV1"):
        return b"" if value is None else piece(1, json.dumps(value).encode())
    if what in (f"{META}.Time", f"{META}.MicroTime"):
        return b"" if value is None else _moment(value)
    return message(value, what)


def _moment(text: str) -> bytes:
    since = dt.datetime.fromisoformat(text) - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    seconds, rest = divmod(since, dt.timedelta(seconds=1))
    return numeral(1, seconds) + numeral(2, rest.microseconds * 1000)
