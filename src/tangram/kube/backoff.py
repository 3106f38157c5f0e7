"""How long to wait before asking again: longer each time, never for long, and never all at the same moment."""

from __future__ import annotations

import random
from typing import Final

LONGEST_ASKED_S: Final = 30.0
"""A server may ask for more patience than we would have by ourselves, but not send us away for the day."""


class Backoff:
    """Pauses that double from the first to the longest, each shortened at random by up to a half."""

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self._next = first

    def reset(self) -> None:
        self._next = self._first

    def pause(self, asked: float | None = None) -> float:
        """Seconds to wait now; at least what the server asked for (`Retry-After`), within reason."""
        spread = random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing
        own, self._next = self._next * spread, min(self._next * 2, self._longest)
        return max(own, min(asked or 0.0, LONGEST_ASKED_S))
