"""How long ago something was, in the few characters that fit a column.

`kubectl` prints what the server sends, so the steps are those people know from it: seconds up to two minutes, then two
units while the smaller one still says something, then one. A clock that is a second ahead of another is no reason to
print nonsense, so a moment that lies less than two seconds in the future counts as now.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

UNKNOWN: Final = "<unknown>"
INVALID: Final = "<invalid>"

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
YEAR: Final = 365 * DAY

_RFC3339: Final = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?P<fraction>[.,]\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII
)
_LONGEST: Final = (2**63 - 1) // 10**9
"""Clients and servers count spans in nanoseconds and 64 bits: whatever is longer is as long as that."""


def human(seconds: float) -> str:
    """A span of time: `45s`, `3m20s`, `2d5h`, `400d`."""
    whole = min(int(seconds), _LONGEST)
    if whole < -1:
        return INVALID
    if whole < 2 * MINUTE:
        return f"{max(whole, 0)}s"
    if whole < 10 * MINUTE:
        return _two(whole, MINUTE, "m", 1, "s")
    if whole < 3 * HOUR:
        return f"{whole // MINUTE}m"
    if whole < 8 * HOUR:
        return _two(whole, HOUR, "h", MINUTE, "m")
    if whole < 2 * DAY:
        return f"{whole // HOUR}h"
    if whole < 8 * DAY:
        return _two(whole, DAY, "d", HOUR, "h")
    if whole < 2 * YEAR:
        return f"{whole // DAY}d"
    if whole < 8 * YEAR:
        return _two(whole, YEAR, "y", DAY, "d")
    return f"{whole // YEAR}y"


def moment(value: object) -> datetime | None:
    """The moment a timestamp of the API names; None for none, for year one and for what is no timestamp."""
    if not isinstance(value, str) or not (match := _RFC3339.fullmatch(value)):
        return None
    # Python keeps microseconds, and no age shows less than a second.
    fraction = match["fraction"]
    try:
        read = datetime.fromisoformat(value.replace(fraction, fraction[:7]) if fraction else value)
        read = read.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return read if read > datetime(1, 1, 1, tzinfo=UTC) else None


def since(value: object, now: datetime) -> str:
    """The age of a timestamp; `<unknown>` where there is none."""
    then = moment(value)
    return UNKNOWN if then is None else human((now - then).total_seconds())


def is_timestamp(value: str) -> bool:
    """Whether a text has the form of a timestamp, be it that of no real day."""
    return _RFC3339.fullmatch(value) is not None


def _two(whole: int, large: int, large_letter: str, small: int, small_letter: str) -> str:
    rest = whole % large // small
    return f"{whole // large}{large_letter}" + (f"{rest}{small_letter}" if rest else "")
