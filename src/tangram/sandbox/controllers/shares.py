"""Numbers or percentages of a whole, as `maxSurge`, `maxUnavailable` and `minAvailable` are written."""

from __future__ import annotations

import re
from typing import Final

_PERCENT: Final = re.compile(r"([0-9]+)%")


def share(value: int | str | None, whole: int, *, up: bool) -> int:
    """The number meant, rounded up or down; nothing for a text that is no percentage."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    found = _PERCENT.fullmatch(value)
    if found is None:
        return 0
    parts = int(found[1]) * whole
    return -(-parts // 100) if up else parts // 100


def is_percentage(value: int | str | None) -> bool:
    """Whether a value is written as a part of a whole."""
    return isinstance(value, str) and _PERCENT.fullmatch(value) is not None


def surge_and_unavailable(
    surge: int | str | None, unavailable: int | str | None, whole: int
) -> tuple[int, int]:
    """Both of a rolling update; where both come to nothing, one may be missing, or nothing would ever move."""
    more, fewer = share(surge, whole, up=True), share(unavailable, whole, up=False)
    return (more, fewer) if more or fewer else (0, 1)
