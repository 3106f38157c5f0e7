"""A body held against the shape of its kind: fields nobody knows, and values of a type that does not fit.

Both are told in the words of the real server, which are those of Go's JSON reader: it names the Go struct and the Go
type where it stopped. Those names come from the definitions' own; what Go calls a text with few legal values
(v1.RestartPolicy) is not in them, and is called string here. Of fields that are unknown or written twice the real
server tells in the order of the document; here each kind of complaint comes by itself.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final, cast

from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.schemas.data import OBJECT_META, built_in
from tangram.sandbox.apiserver.schemas.reading import name_of
from tangram.sandbox.apiserver.shape import Shape

_MOST_TOLD: Final = 100
_NOTHING: Final = Shape()
_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_QUANTITY_FORM: Final = re.compile(r"[+-]?[0-9.]+[eEinumkKMGTP]*[-+]?[0-9]*")
_NOT_A_QUANTITY: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_TIMES: Final = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "2006-01-02T15:04:05Z07:00",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "2006-01-02T15:04:05.000000Z07:00",
}
_TIME_FORM: Final = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d([.,]\d+)?(Z|[+-]\d\d:\d\d)"
)
_MICRO_TIME_FORM: Final = re.compile(_TIME_FORM.pattern.replace(r"([.,]\d+)?", r"[.,]\d{6}"))
_INTEGERS: Final = {"int32": 2**31, "int64": 2**63}
_GO_NAMES: Final = {"boolean": "bool", "number": "float64", "string": "string"}
# Structs that Go keeps inside others: their name stands in the path although no field has it.
_INSIDE: Final = {
    "io.k8s.api.core.v1.Probe": (frozenset({"exec", "grpc", "httpGet", "tcpSocket"}), "ProbeHandler"),
    "io.k8s.api.core.v1.EphemeralContainer": (None, "EphemeralContainerCommon"),
}
_BESIDE: Final = {"EphemeralContainerCommon": frozenset({"targetContainerName"})}


def unknown_fields(thing: object, shape: Shape) -> list[str]:
    """What is to be said of fields the shape does not have, at most a hundred of them.

    In a kind that people defined they are told by name, fields of the metadata first, as the real server does.
    """
    if shape.definition:
        found = list(_unknown(thing, shape, ""))
    else:
        found = sorted(_unknown(thing, shape, ""), key=lambda path: (not path.startswith("metadata."), path))
    return [f'unknown field "{path}"' for path in found[:_MOST_TOLD]]


def wrong_types(thing: object, shape: Shape, kind: Kind) -> str | None:
    """The refusal of a body with a value that its kind cannot hold; None for one that fits."""
    if shape.definition:
        problem = next(_misfits(thing, shape, _Place(kind.kind, "")), None)
    else:
        # Of a defined kind only the metadata is read into Go structs; the rest is for `value_faults`.
        written = cast("dict[str, object]", thing).get("metadata") if isinstance(thing, dict) else None
        problem = next(_misfits(written, built_in(OBJECT_META), _Place("ObjectMeta", "")), None)
    if problem is None:
        return None
    return f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {problem}'


def _unknown(value: object, shape: Shape, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            known = shape.properties.get(key) or shape.values
            below = f"{path}.{key}" if path else key
            if known is not None:
                yield from _unknown(inner, known, below)
            elif not shape.preserve:
                yield below
    elif isinstance(value, list) and (shape.items is not None or not shape.preserve):
        for number, inner in enumerate(cast("list[object]", value)):
            yield from _unknown(inner, shape.items or _NOTHING, f"{path}[{number}]")


class _Place:
    """Where Go's reader stands: the struct it fills, the fields on the way there."""

    __slots__ = ("field", "struct")

    def __init__(self, struct: str, field: str) -> None:
        self.struct = struct
        self.field = field

    def below(self, shape: Shape, key: str) -> _Place:
        struct = shape.definition.rpartition(".")[2] or self.struct
        path = self.field
        fields, inside = _INSIDE.get(shape.definition, (frozenset[str](), ""))
        if inside and (key in fields if fields is not None else key not in _BESIDE[inside]):
            path = f"{path}.{inside}" if path else inside
            struct = inside
        return _Place(struct, f"{path}.{key}" if path else key)

    def misfit(self, value: object, wanted: str, *, shown: bool = False) -> str:
        what = f"number {_number(value)}" if shown else name_of(value)
        if not self.field:
            return f"json: cannot unmarshal {what} into Go value of type {wanted}"
        return (
            f"json: cannot unmarshal {what} into Go struct field {self.struct}.{self.field} of type {wanted}"
        )


def _misfits(value: object, shape: Shape, place: _Place) -> Iterator[str]:
    if value is None:
        return
    if shape.definition == _QUANTITY:
        written = value if isinstance(value, str) else _number(value)
        if not _QUANTITY_FORM.fullmatch(written):
            yield _NOT_A_QUANTITY
    elif shape.int_or_string:
        if not isinstance(value, str):
            yield from _integer(value, "int32", place)
    elif shape.type == "object":
        yield from _object(value, shape, place)
    elif shape.type == "array":
        if not isinstance(value, list):
            yield place.misfit(value, _go_name(shape))
        elif shape.items is not None:
            for each in cast("list[object]", value):
                yield from _misfits(each, shape.items, place)
    else:
        yield from _scalar(value, shape, place)


def _object(value: object, shape: Shape, place: _Place) -> Iterator[str]:
    if not isinstance(value, dict):
        if not shape.preserve:
            yield place.misfit(value, _go_name(shape))
        return
    for key, inner in cast("dict[str, object]", value).items():
        known = shape.properties.get(key)
        if known is not None:
            yield from _misfits(inner, known, place.below(shape, key))
        elif shape.values is not None:
            yield from _misfits(inner, shape.values, place)


def _scalar(value: object, shape: Shape, place: _Place) -> Iterator[str]:
    match shape.type:
        case "string":
            yield from _text(value, shape, place)
        case "integer":
            yield from _integer(value, str(shape.limits.get("format", "int64")), place)
        case "number":
            if isinstance(value, bool) or not isinstance(value, int | float):
                yield place.misfit(value, _go_name(shape))
        case "boolean":
            if not isinstance(value, bool):
                yield place.misfit(value, _go_name(shape))
        case _:
            return


def _text(value: object, shape: Shape, place: _Place) -> Iterator[str]:
    if not isinstance(value, str):
        yield place.misfit(value, _go_name(shape))
        return
    layout = _TIMES.get(shape.definition)
    if layout is not None and not (_TIME_FORM if "." not in layout else _MICRO_TIME_FORM).fullmatch(value):
        yield f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"'
    if shape.limits.get("format") == "byte":
        try:
            base64.b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
        except (binascii.Error, ValueError):
            yield f"illegal base64 data at input byte {_first_odd(value)}"


def _integer(value: object, form: str, place: _Place) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield place.misfit(value, form)
        return
    most = _INTEGERS.get(form, 2**63)
    if isinstance(value, float) or not -most <= value < most:
        yield place.misfit(value, form, shown=True)


def _go_name(shape: Shape) -> str:
    """How Go calls the type of a shape."""
    if shape.definition in _TIMES:
        return "string"
    if shape.definition:
        package, _, name = shape.definition.rpartition(".")
        return f"{package.rpartition('.')[2]}.{name}"
    if shape.type == "array":
        return f"[]{_go_name(shape.items)}" if shape.items is not None else "[]interface {}"
    if shape.type == "object":
        return (
            f"map[string]{_go_name(shape.values)}" if shape.values is not None else "map[string]interface {}"
        )
    form = shape.limits.get("format")
    if form == "byte":
        return "[]uint8"
    return str(form or "int64") if shape.type == "integer" else _GO_NAMES.get(shape.type, "interface {}")


def _first_odd(text: str) -> int:
    """Where a text stops being base64: at a strange letter, or where the last four letters that are not four begin."""
    odd = re.search(r"[^A-Za-z0-9+/]", text.rstrip("="))
    return odd.start() if odd else len(text.rstrip("=")) // 4 * 4


def _number(value: object) -> str:
    return repr(value) if isinstance(value, float) else str(value)
