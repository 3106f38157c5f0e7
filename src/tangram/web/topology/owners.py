"""Which colour and pattern stands for a pod, wherever on the node it sits.

A pod begins at a place that follows from its name and moves on only where that is taken, so it keeps its looks while
others come and go. There are more looks than colours: from the ninth on a pattern tells two pods of one colour apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from zlib import crc32

HUES: Final = 8
PATTERNS: Final = 4
"""Plain, and three ways of hatching."""
DRESSES: Final = HUES * PATTERNS


def dress(pods: Iterable[str]) -> dict[str, int]:
    """A number below `DRESSES` for each. Different for each while there are no more pods than colours and patterns."""
    given: dict[str, int] = {}
    taken: set[int] = set()
    for pod in sorted(set(pods)):
        start = crc32(pod.encode("utf-8", "surrogatepass")) % HUES
        at = next(
            (
                place
                for step in range(DRESSES)
                if (place := (start + step) % HUES + step // HUES * HUES) not in taken
            ),
            start,
        )
        given[pod] = at
        taken.add(at)
    return given


def hue(number: int) -> int:
    """Which of the colours."""
    return number % HUES


def pattern(number: int) -> int:
    """0 is plain."""
    return number // HUES % PATTERNS
