"""How validation words a fault: an opening word, the value it saw, and what is wrong with it.

The form is that of Kubernetes' field errors, because kubectl, controllers and people match on it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Final

from tangram.sandbox.apiserver.refusals import Fault

NOWHERE: Final = "<nil>"
"""How the real server names the field of a fault that it cannot place."""


def required(field: str, detail: str = "") -> Fault:
    """Something is missing."""
    return Fault(field, "FieldValueRequired", f"Required value{_detail(detail)}")


def invalid(field: str, value: object, detail: str) -> Fault:
    """Something is there and wrong."""
    return Fault(field, "FieldValueInvalid", f"Invalid value: {shown(value)}{_detail(detail)}")


def wrong_type(field: str, value: object, detail: str) -> Fault:
    """Something is there and of another type than it must be."""
    return Fault(field, "FieldValueTypeInvalid", f"Invalid value: {shown(value)}{_detail(detail)}")


def not_supported(field: str, value: object, legal: Iterable[object]) -> Fault:
    """Not one of a few values."""
    quoted = ", ".join(quote(each if isinstance(each, str) else compact(each)) for each in legal)
    return Fault(
        field,
        "FieldValueNotSupported",
        f"Unsupported value: {shown(value)}{_detail(quoted and 'supported values: ' + quoted)}",
    )


def forbidden(field: str, detail: str) -> Fault:
    """It may not be there."""
    return Fault(field, "FieldValueForbidden", f"Forbidden{_detail(detail)}")


def duplicate(field: str, value: object) -> Fault:
    """It is there twice."""
    return Fault(field, "FieldValueDuplicate", f"Duplicate value: {shown(value)}")


def too_long(field: str, most: int) -> Fault:
    """More characters than may be."""
    return Fault(
        field,
        "FieldValueTooLong",
        f"Too long: may not be more than {most} {'byte' if most == 1 else 'bytes'}",
    )


def too_many(field: str, found: int, most: int) -> Fault:
    """More elements than may be."""
    detail = f"must have at most {most} {'item' if most == 1 else 'items'}"
    return Fault(field, "FieldValueTooMany", f"Too many: {found}: {detail}")


def shown(value: object) -> str:
    """A value as messages show it."""
    if isinstance(value, str):
        return quote(value)
    return (
        number_text(value)
        if isinstance(value, int | float) and not isinstance(value, bool)
        else compact(value)
    )


def quote(text: str) -> str:
    """A text in quotes, as Go quotes it."""
    return json.dumps(text, ensure_ascii=False)


def compact(value: object) -> str:
    """A value as JSON, keys in order."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def number_text(value: float) -> str:
    """A number as Go prints it: no fraction where there is none, an exponent only for the very large and small."""
    if isinstance(value, int):
        return str(value)
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    text = repr(value)
    if "e" not in text or math.isnan(value):
        return text
    digits, _, exponent = text.partition("e")
    power = int(exponent)
    return f"{digits.removesuffix('.0')}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _detail(text: str) -> str:
    return f": {text}" if text else ""
