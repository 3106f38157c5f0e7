"""Values as `mthreads-gmi` prints them: texts with units, and "N/A" where there is nothing.

A value in a shape nobody has seen is `NA` like a missing one: taking "42" for MiB because that is likely would be a
guess that somebody pays for. Only a whole answer that makes no sense is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, cast

from tangram.units.memory import GIB, KIB, MIB, TIB, Bytes
from tangram.units.na import NA, Maybe

_UNITS: Final = {"b": 1, "kib": KIB, "mib": MIB, "gib": GIB, "tib": TIB}
_MEASURE = re.compile(r"(-?[0-9]{1,15})(?:\.([0-9]{1,9}))?\s*([A-Za-z%]*)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_NOTHING = frozenset({"", "n/a", "[n/a]", "none", "null", "unknown", "-"})
_LONGEST_QUOTE = 80


class ParseError(Exception):
    """The tool's answer as a whole is not what it should be. The only exception that leaves a parser."""

    def __init__(self, what: str, text: str = "") -> None:
        quoted = text.strip()[:_LONGEST_QUOTE]
        super().__init__(f"{what}: {quoted!r}" if quoted else what)


def plain(text: str) -> str:
    """The text without the colours of a terminal."""
    return _COLOUR.sub("", text)


def fields(value: object) -> dict[str, object]:
    """A group of keys with their values; blanks around keys and their case do not count. Empty for anything else."""
    if not isinstance(value, Mapping):
        return {}
    found: dict[str, object] = {}
    for key, inner in cast("Mapping[object, object]", value).items():
        found.setdefault(str(key).strip().casefold(), inner)
    return found


def word(value: object) -> Maybe[str]:
    """A text, or `NA` for nothing."""
    if not isinstance(value, str) or value.strip().casefold() in _NOTHING or not value.strip().isprintable():
        return NA
    return value.strip()


def whole(value: object) -> Maybe[int]:
    """A count without a unit, as text or number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value < 10**15 else NA
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal():
        return int(value.strip()) if len(value.strip()) <= 15 else NA
    return NA


def measure(value: object, unit: str) -> Maybe[float]:
    """A number with exactly that unit: "42%", "-4C", "367.49W"."""
    found = _MEASURE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found[3].casefold() != unit.casefold():
        return NA
    return float(f"{found[1]}.{found[2] or 0}")


def percent(value: object) -> Maybe[float]:
    """A share between 0 % and 100 %."""
    share = measure(value, "%")
    return share if isinstance(share, float) and 0 <= share <= 100 else NA


def memory(value: object) -> Maybe[Bytes]:
    """A size with its unit: "81920MiB", "80GiB"."""
    found = _MEASURE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found[1].startswith("-") or found[3].casefold() not in _UNITS:
        return NA
    fraction = found[2] or ""
    return Bytes(int(found[1] + fraction) * _UNITS[found[3].casefold()] // 10 ** len(fraction))
