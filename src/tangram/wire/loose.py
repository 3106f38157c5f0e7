"""Reading what others wrote, without trusting its shape.

API objects arrive as decoded JSON or YAML, and between the two every scalar can turn into a neighbour: `60`, `"60"` and
`60.0` mean one thing, `annotations:` with nothing under it is null, a missing list is no list. These readers accept
those spellings and nothing more, and they never raise; a caller for whom "absent" and "nonsense" differ asks twice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import cast

_DECIMAL = re.compile(r"[+-]?[0-9]{1,19}")

_NOTHING: Mapping[str, object] = {}


def members(value: object) -> Mapping[str, object]:
    """The members of an object; anything that is no object has none."""
    # Asking for the plain type first is ten times as fast, and there are millions of these to read.
    if isinstance(value, dict) or (value is not None and isinstance(value, Mapping)):
        return cast("Mapping[str, object]", value)
    return _NOTHING


def elements(value: object) -> list[object]:
    """The elements of a list; anything that is no list has none."""
    if isinstance(value, list | tuple):
        return list(cast("list[object]", value))
    return []


def is_object(value: object) -> bool:
    """Whether the value can have members at all."""
    return isinstance(value, dict | Mapping)


def is_list(value: object) -> bool:
    """Whether the value can have elements at all."""
    return isinstance(value, list | tuple)


def text(value: object, otherwise: str = "") -> str:
    """A text as it is; anything else is not one."""
    return value if isinstance(value, str) else otherwise


def scalar_text(value: object) -> str | None:
    """A text, or the one plain spelling of a number; None for everything that is neither.

    Floats are written without an exponent and without a needless `.0`, because quantities are read from the result.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        # Longer numbers cannot be printed, and no quantity is that large.
        return str(value) if value.bit_length() <= 1024 else None
    if isinstance(value, float):
        return _float_text(value)
    return None


def integer(value: object) -> int | None:
    """A whole number written as a number or as its decimal digits; None for everything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    # What `strip` takes for a blank is more than what `int` does.
    digits = value.strip() if isinstance(value, str) else ""
    return int(digits) if _DECIMAL.fullmatch(digits) else None


def flag(value: object) -> bool | None:
    """A truth value, also where it was written as text; None for everything else."""
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(text(value).strip().lower())


def text_map(value: object) -> dict[str, str]:
    """A map of texts, such as labels; entries whose value is no scalar are left out."""
    found: dict[str, str] = {}
    for key, member in members(value).items():
        spelled = member if isinstance(member, str) else scalar_text(member)
        # YAML allows keys that are no text, whatever the type says.
        if isinstance(cast("object", key), str) and spelled is not None:
            found[key] = spelled
    return found


def _float_text(number: float) -> str:
    if not math.isfinite(number):
        return repr(number)
    if number.is_integer():
        return str(int(number))
    return format(Decimal(repr(number)), "f")
