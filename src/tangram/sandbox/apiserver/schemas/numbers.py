"""The limits of a number: its format's range, multiples, minimum and maximum, as the server's validator compares them.

A whole number is compared with whole limits (a multipleOf of 0.5 becomes 0 and is complained about, as there), any
other with the limits as they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.schemas.faults import NOWHERE, invalid, number_text
from tangram.sandbox.apiserver.shape import Shape

_RANGES: Final = {"int32": 2**31, "int64": 2**63}
_LARGEST_SINGLE: Final = 3.4028235677973366e38
_LARGEST_SAFE: Final = 2**53 - 1
"""Beyond it a number with a fraction and one without look the same."""


def is_whole(value: object) -> bool:
    """Whether a value can stand where an integer is asked for."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (
        isinstance(value, float) and value.is_integer() and abs(value) <= _LARGEST_SAFE
    )


def range_faults(value: float, shape: Shape, path: str) -> Iterator[Fault]:
    """A number that its type cannot hold."""
    form = str(shape.limits.get("format", ""))
    if shape.type == "integer":
        known = form if form in _RANGES else ""
        most = _RANGES[known or "int64"]
        if not is_whole(value) or not -most <= value < most:
            yield _unplaced("integer", known, path)
    elif shape.type == "number" and form == "float" and abs(value) > _LARGEST_SINGLE:
        yield _unplaced("number", form, path)


def number_faults(value: float, limits: Mapping[str, Any], path: str) -> Iterator[Fault]:
    """A number outside the limits of its schema."""
    field = path.removeprefix(".")
    whole = isinstance(value, int)

    def limit(name: str) -> float | None:
        said: float | None = limits.get(name)
        return int(said) if said is not None and whole else said

    factor = limit("multipleOf")
    if factor is not None:
        if factor <= 0:
            shown = number_text(factor)
            yield invalid(field, factor, f"factor MultipleOf declared for {path} must be positive: {shown}")
        elif not _divides(factor, value):
            yield invalid(field, value, f"{path} in body should be a multiple of {number_text(factor)}")
    least = limit("minimum")
    if least is not None:
        beyond = limits.get("exclusiveMinimum") is True
        if value < least or (beyond and value == least):
            how = "greater than" if beyond else "greater than or equal to"
            yield invalid(field, value, f"{path} in body should be {how} {number_text(least)}")
    most = limit("maximum")
    if most is not None:
        below = limits.get("exclusiveMaximum") is True
        if value > most or (below and value == most):
            how = "less than" if below else "less than or equal to"
            yield invalid(field, value, f"{path} in body should be {how} {number_text(most)}")


def _divides(factor: float, value: float) -> bool:
    if isinstance(value, int) and isinstance(factor, int):
        return value % factor == 0
    times = value / factor if factor >= 1 else 1 / factor * value
    # Fractions are never exact: 0.3 is a multiple of 0.1 to everybody but a computer.
    return times == round(times) or abs(times - round(times)) < abs(times) * 1e-9


def _unplaced(kind: str, form: str, path: str) -> Fault:
    how = f"with format {form}" if form else "(default format)"
    return invalid(NOWHERE, "", f"Checked value must be of type {kind} {how} in {path}")
