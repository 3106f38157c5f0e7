"""From Kubernetes' protobuf to the object it stands for, as its JSON would say it.

Fields are found by number in `fields.json`. A number that is not there is skipped, as every reader of protobuf does, so
a client newer than this server is understood as far as this server goes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.protobuf.pieces import Unreadable, fraction, numbers_in, pieces_of, signed

MEDIA: Final = "application/vnd.kubernetes.protobuf"
MAGIC: Final = b"k8s\x00"
DEEPEST: Final = 64
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_DEFINED: Final = "io.k8s.apiextensions-apiserver."
_NUMBERS: Final = ("i", "b")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class _Field(NamedTuple):
    name: str
    form: str
    """`*` a list, `%` a map, `&` among the outer fields, or nothing."""
    what: str


def read_protobuf(body: bytes, definition: str) -> Object:
    """The object in a body; `definition` is its type, such as io.k8s.api.core.v1.Pod. Raises `Unreadable`."""
    if not body.startswith(MAGIC):
        raise Unreadable("it does not begin as Kubernetes' protobuf does")
    if definition.startswith(_DEFINED):
        raise Unreadable("definitions of kinds are read as JSON or YAML only")
    head: Object = {}
    raw = memoryview(b"")
    for number, value in pieces_of(memoryview(body)[len(MAGIC) :]):
        if number == 1 and not isinstance(value, int):
            names = {1: "apiVersion", 2: "kind"}
            head = {
                names[field]: _text(text)
                for field, text in pieces_of(value)
                if field in names and not isinstance(text, int)
            }
        elif number == 2 and not isinstance(value, int):
            raw = value
    return {key: value for key, value in head.items() if value} | _message(raw, definition, 0)


def _message(data: memoryview, definition: str, depth: int) -> Object:
    if depth > DEEPEST:
        raise Unreadable(f"it is nested more than {DEEPEST} levels deep")
    fields = _table().get(definition, {})
    found: Object = {}
    for number, piece in pieces_of(data):
        field = fields.get(number)
        if field is None:
            continue
        if field.form == "%":
            key, value = _entry(piece, field.what, depth)
            found.setdefault(field.name, {})[key] = value
            continue
        if field.form == "*" and field.what in _NUMBERS and not isinstance(piece, int):
            # Many numbers in one piece: no client of Kubernetes writes them so, and every reader takes them.
            packed = [_value(number, field.what, depth) for number in numbers_in(piece)]
            found.setdefault(field.name, []).extend(packed)
            continue
        value = _value(piece, field.what, depth)
        match field.form:
            case "*":
                found.setdefault(field.name, []).append(value)
            case "&":
                found |= value
            case _:
                found[field.name] = value
    return found


def _entry(piece: int | memoryview, what: str, depth: int) -> tuple[str, Any]:
    if isinstance(piece, int):
        raise Unreadable("a map is written as a number")
    parts = dict(pieces_of(piece))
    key = parts.get(1, memoryview(b""))
    value = parts.get(2, memoryview(b""))
    return "" if isinstance(key, int) else _text(key), _value(value, what, depth)


def _value(piece: int | memoryview, what: str, depth: int) -> Any:  # noqa: ANN401 - JSON of any shape
    if isinstance(piece, int):
        if what not in _NUMBERS:
            raise Unreadable("a text or an object is written as a number")
        return bool(piece) if what == "b" else signed(piece)
    match what:
        case "s":
            return _text(piece)
        case "y":
            return base64.b64encode(piece).decode()
        case "d":
            return fraction(piece)
        case "i" | "b":
            raise Unreadable("a number is written as a text")
        case _:
            if what in _LISTS:
                return _message(piece, what, depth + 1).get("items", [])
            special = _SPECIAL.get(what)
            return _message(piece, what, depth + 1) if special is None else special(dict(pieces_of(piece)))


def _text(data: memoryview) -> str:
    try:
        return bytes(data).decode()
    except UnicodeDecodeError:
        raise Unreadable("a text is not UTF-8") from None


_Pieces = Mapping[int, "int | memoryview"]


def _number_at(pieces: _Pieces, number: int) -> int:
    found = pieces.get(number, 0)
    return signed(found) if isinstance(found, int) else 0


def _bytes_at(pieces: _Pieces, number: int) -> memoryview:
    found = pieces.get(number, memoryview(b""))
    return memoryview(b"") if isinstance(found, int) else found


def _moment(pieces: _Pieces) -> str | None:
    if not pieces:
        return None
    return _written(_at(_number_at(pieces, 1)), "seconds")


def _exact_moment(pieces: _Pieces) -> str | None:
    if not pieces:
        return None
    return _written(_at(_number_at(pieces, 1), _number_at(pieces, 2) // 1000), "microseconds")


def _written(at: datetime, to_the: str) -> str:
    return at.isoformat(timespec=to_the).replace("+00:00", "Z")


def _at(seconds: int, microseconds: int = 0) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=microseconds)
    except OverflowError:
        raise Unreadable("a time is beyond all calendars") from None


def _number_or_text(pieces: _Pieces) -> int | str:
    return _text(_bytes_at(pieces, 3)) if _number_at(pieces, 1) else _number_at(pieces, 2)


def _json(pieces: _Pieces) -> Any:  # noqa: ANN401 - JSON of any shape
    raw = bytes(_bytes_at(pieces, 1))
    try:
        return json.loads(raw) if raw else None
    except (ValueError, RecursionError):
        raise Unreadable("JSON inside it cannot be read") from None


_LISTS: Final = frozenset(
    {"io.k8s.api.authentication.v1.ExtraValue", "io.k8s.api.authorization.v1.ExtraValue", f"{_META}.Verbs"}
)
"""Messages that JSON writes as the list they hold."""
_SPECIAL: Final[Mapping[str, Callable[[_Pieces], Any]]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": lambda pieces: _text(_bytes_at(pieces, 1)),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _number_or_text,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": _json,
    f"{_META}.FieldsV1": _json,
    f"{_META}.Time": _moment,
    f"{_META}.MicroTime": _exact_moment,
}


@cache
def _table() -> dict[str, dict[int, _Field]]:
    text = files("tangram.sandbox.apiserver.protobuf").joinpath("fields.json").read_text("utf-8")
    table: dict[str, dict[str, str]] = json.loads(text)
    return {
        name: {int(number): _field(each) for number, each in fields.items()} for name, fields in table.items()
    }


def _field(text: str) -> _Field:
    name, _, what = text.partition(" ")
    form = what[0] if what[0] in "*%&" else ""
    return _Field(name, form, what.removeprefix(form))
