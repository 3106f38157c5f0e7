"""The columns of kinds that people define: `additionalPrinterColumns`, read by their paths.

A cell is empty where its path finds nothing or something of another type than the column has, never a fault: a table
with a hole is more use than no table. A column whose path cannot be read ends the table before it, as on the real
server, and a kind without columns of its own has its age.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.go_writing import go_json
from tangram.sandbox.apiserver.kinds import Column
from tangram.sandbox.apiserver.printing.ages import INVALID, UNKNOWN, is_timestamp, since
from tangram.sandbox.apiserver.printing.columns import NAME, Cells, Heading, Printer, age_of
from tangram.sandbox.apiserver.printing.jsonpath import Path, PathError, parse
from tangram.sandbox.apiserver.printing.reading import name_of

_AGE: Final = Heading("Age", "date")
Cell = str | int | float | None

_NO_DATE: Final = {"", "null"}


@functools.lru_cache(maxsize=256)
def printer_of(columns: tuple[Column, ...]) -> Printer:
    """What prints a kind with these columns, in this order."""
    if not columns:
        return Printer((NAME, _AGE), lambda thing, now: [name_of(thing), age_of(thing, now)])
    read = _readable(columns)

    def cells(thing: Object, now: datetime) -> Cells:
        return [name_of(thing), *(_cell(thing, column.type, path, now) for column, path in read)]

    return Printer((NAME, *(_heading(column) for column, _ in read)), cells)


def _readable(columns: Sequence[Column]) -> list[tuple[Column, Path]]:
    read: list[tuple[Column, Path]] = []
    for column in columns:
        try:
            read.append((column, parse(column.path)))
        except PathError:
            break
    return read


def _heading(column: Column) -> Heading:
    described = column.description or f"Custom resource definition column (in JSONPath format): {column.path}"
    return Heading(column.name, column.type, column.format, column.priority, described)


def _cell(thing: Object, kind: str, path: Path, now: datetime) -> Cell:
    try:
        found = path.find(thing)
    except PathError:
        return None
    if not found:
        return None
    value = found[0]
    match kind:
        case "string":
            return _printed(value)
        case "boolean":
            return value if isinstance(value, bool) else None
        case "integer" | "number":
            return _counted(value, whole=kind == "integer")
        case "date":
            return _aged(value, now)
        case _:
            return None


def _counted(value: object, *, whole: bool) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    # A number without a fraction is sent without one, whatever its column.
    return int(value) if whole or value == int(value) else value


def _aged(value: object, now: datetime) -> str | None:
    if not isinstance(value, str):
        return None
    if value in _NO_DATE:
        return UNKNOWN
    return since(value, now) if is_timestamp(value) else INVALID


def _printed(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _fraction(value)
    if isinstance(value, int):
        return str(value)
    return go_json(value)


def _fraction(value: float) -> str:
    """As few digits as name it, with an exponent from a million on and below a ten-thousandth, as Go prints it."""
    mantissa, _, power = f"{value!r}".partition("e")
    digits, exponent = _normal(mantissa, int(power or 0))
    sign = "-" if value < 0 else ""
    if not -4 <= exponent < 6 and value:
        rest = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{rest}e{exponent:+03d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, part = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{sign}{whole}.{part}" if part else f"{sign}{whole}"


def _normal(mantissa: str, power: int) -> tuple[str, int]:
    """The significant digits, and the power of ten of the first."""
    whole, _, part = mantissa.lstrip("-").partition(".")
    digits = (whole + part).lstrip("0")
    leading = len(whole + part) - len(digits)
    return digits.rstrip("0") or "0", power + len(whole) - 1 - leading if digits else 0
