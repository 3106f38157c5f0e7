"""An object as the server writes it: no nulls, no empty lists, quantities in their canonical spelling.

The real server reads into Go structs and writes those, so what people send and what they get back differ in ways no
default explains: `labels: {}` disappears, `resources` appears as `{}`, `cpu: 0.5` becomes `500m`. Which fields do what
stands in `gofields.json`. Fields that are not in it are left alone: whether to refuse or drop those is for whoever
reads the request.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple, cast

from tangram.kube.objects import Object
from tangram.units.quantity import Quantity, QuantityError, parse_quantity

_QUANTITY: Final = "quantity"
_TIME: Final = re.compile(r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$")
_MILLI: Final = 10**6


class Fields(NamedTuple):
    """Of one type."""

    known: dict[str, tuple[str, bool, str]]
    """A field to what it is, whether it is written when empty (a struct: left out), and what is in it."""
    always: tuple[tuple[str, str, str], ...]
    """The fields that are written though nobody set them."""


def as_written(thing: Object, definition: str) -> None:
    """Rewrite a whole object in place. `definition` is its type, such as io.k8s.api.core.v1.Pod."""
    name = definition.removeprefix("io.k8s.")
    if name in _table():
        _rewrite(thing, name)


@cache
def _table() -> dict[str, Fields]:
    text = files("tangram.sandbox.apiserver.rules").joinpath("gofields.json").read_text("utf-8")
    raw = cast("dict[str, dict[str, str]]", json.loads(text))
    return {name: _fields(fields) for name, fields in raw.items()}


def _fields(told: dict[str, str]) -> Fields:
    known: dict[str, tuple[str, bool, str]] = {}
    for field, text in told.items():
        what, _, of = text.partition(":")
        known[field] = (what[0], what.endswith("!"), of)
    # A struct is always written unless it is marked, anything else only when it is.
    always = [(field, what, of) for field, (what, marked, of) in known.items() if marked is (what != "s")]
    return Fields(known, tuple(always))


def _rewrite(thing: Object, name: str) -> None:
    fields = _table()[name]
    for field, value in list(thing.items()):
        entry = fields.known.get(field)
        if entry is None:
            continue
        if value is None:
            del thing[field]
        else:
            what, marked, of = entry
            _rewrite_field(thing, field, what, of, marked=marked)
    for field, what, of in fields.always:
        if field not in thing:
            thing[field] = {} if what == "s" else _empty(what)
            if what == "s":
                _rewrite(thing[field], of)


def _empty(what: str) -> Any:  # noqa: ANN401 - any JSON
    """What Go writes for a field nobody set and that is always written."""
    return {"v": "", "i": 0, "b": False, "x": 0, "q": "0", "d": "0s"}.get(what)


def _rewrite_field(thing: Object, field: str, what: str, of: str, *, marked: bool) -> None:
    value = thing[field]
    if what in "rs" and isinstance(value, dict):
        _rewrite(cast("Object", value), of)
        if what == "s" and marked and not value:
            del thing[field]
    elif what == "l" and isinstance(value, list):
        _rewrite_list(thing, field, cast("list[Any]", value), of, marked=marked)
    elif what == "m" and isinstance(value, dict):
        _rewrite_map(cast("Object", value), of)
        if not value and not marked:
            del thing[field]
    elif what in "vib" and not marked and value in ("", 0, False):
        del thing[field]
    elif what == "q":
        thing[field] = quantity_text(value)
    elif what in "tu":
        thing[field] = time_text(value, micro=what == "u")


def _rewrite_list(thing: Object, field: str, values: list[Any], of: str, *, marked: bool) -> None:
    if of:
        for position, each in enumerate(values):
            if each is None:
                values[position] = {}
            if isinstance(values[position], dict):
                _rewrite(cast("Object", values[position]), of)
    if not values:
        if marked:
            thing[field] = None
        else:
            del thing[field]


def _rewrite_map(values: Object, of: str) -> None:
    for key, each in values.items():
        if of == _QUANTITY:
            values[key] = quantity_text(each, to_milli=True)
        elif of and isinstance(each, dict):
            _rewrite(cast("Object", each), of)


def quantity_text(value: object, *, to_milli: bool = False) -> Any:  # noqa: ANN401 - any JSON
    """In canonical spelling. Lists of resources are kept to a thousandth, rounded up; what is no quantity stays."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    try:
        read = parse_quantity(value if isinstance(value, str) else repr(value))
    except QuantityError:
        return value
    if to_milli and read.nanos % _MILLI:
        read = Quantity(-(-read.nanos // _MILLI) * _MILLI, read.format)
    return str(read)


def time_text(value: object, *, micro: bool = False) -> Any:  # noqa: ANN401 - any JSON
    """In UTC, to the second or the microsecond; what is no time stays."""
    if not isinstance(value, str) or not _TIME.match(value):
        return value
    try:
        read = datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        return value
    return read.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")
