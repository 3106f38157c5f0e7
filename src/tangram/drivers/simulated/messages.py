"""The records of a driver as JSON and back, for the socket between a simulation and its users.

A missing figure travels as null. Decoding is by the records' own annotations, so a field added to a record needs no
change here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.units.na import NA, NotAvailable
from tangram.wire import loose

_Record = TypeVar("_Record")


def encoded(value: object) -> bytes:
    """One line of JSON, without the line's end."""
    return msgspec.json.encode(value)


def restored(kind: type[_Record], value: object) -> _Record:
    """The value as a record of that kind. Raises `DriverError` for anything that is none."""
    try:
        return cast("_Record", _restored(kind, value))
    except (TypeError, ValueError, KeyError, msgspec.ValidationError) as error:
        raise DriverError(
            Kind.FAILED, f"the simulation answered with something that is no {kind.__name__}: {error}"
        ) from error


def error_fields(error: DriverError) -> dict[str, object]:
    """The error as plain values."""
    return {
        "kind": error.kind,
        "sentence": error.sentence,
        "call": error.call,
        "vendor_code": error.vendor_code,
        "vendor_text": error.vendor_text,
    }


def restored_error(value: object) -> DriverError:
    """The error that was sent; a kind we do not know is a plain failure."""
    fields = loose.members(value)
    kind = loose.text(fields.get("kind"))
    return DriverError(
        Kind(kind) if kind in tuple(Kind) else Kind.FAILED,
        loose.text(fields.get("sentence"), "the simulation gave no reason"),
        call=loose.text(fields.get("call")),
        vendor_code=loose.integer(fields.get("vendor_code")),
        vendor_text=loose.text(fields.get("vendor_text")),
    )


def _restored(kind: Any, value: object) -> object:  # noqa: ANN401 - an annotation has no type of its own
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _one_of(get_args(kind), value)
    if origin is tuple:
        return tuple(_restored(get_args(kind)[0], each) for each in _list(value))
    if origin in (dict, Mapping):
        _, member = get_args(kind)
        return {key: _restored(member, each) for key, each in _map(value).items()}
    if isinstance(kind, type):
        if issubclass(kind, msgspec.Struct):
            hints, given = _annotations(kind), _map(value)
            return kind(**{name: _restored(hints[name], each) for name, each in given.items()})
        if issubclass(kind, Enum):
            return kind(value)
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            message = f"{type(value).__name__} is not {kind.__name__}"
            raise TypeError(message)
        return value
    # What is left are names for plain types, such as a card's uuid.
    return _restored(kind.__supertype__, value)


@cache
def _annotations(kind: type) -> dict[str, Any]:
    # Evaluating them costs more than everything else here together.
    return get_type_hints(kind)


def _one_of(kinds: tuple[Any, ...], value: object) -> object:
    if value is None:
        return NA if NotAvailable in kinds else None
    real = [kind for kind in kinds if kind not in (NotAvailable, type(None))]
    return _restored(real[0], value)


def _list(value: object) -> list[object]:
    if not loose.is_list(value):
        message = "there is no list where one should be"
        raise TypeError(message)
    return loose.elements(value)


def _map(value: object) -> Mapping[str, object]:
    if not loose.is_object(value):
        message = "there is no object where one should be"
        raise TypeError(message)
    return loose.members(value)
