"""Which of two versions is newer: by their numbers, from the left."""

from __future__ import annotations

import re
from typing import Final

_PARTS: Final = re.compile(r"[0-9]+|[A-Za-z]+")


def version_key(version: str) -> tuple[tuple[int, int, str], ...]:
    """For sorting: `2.9` before `2.10`, and `2.32-rc1` before `2.32`, because letters announce what comes."""
    parts = [
        (1, int(part), "") if part.isdigit() else (-1, 0, part.lower()) for part in _PARTS.findall(version)
    ]
    words = next((at for at, part in enumerate(parts) if part[0] < 0), len(parts))
    numbers, rest = parts[:words], parts[words:]
    while numbers and numbers[-1][1] == 0:
        # `2.32` and `2.32.0` are one version.
        numbers.pop()
    return (*numbers, *rest, (0, 0, ""))


def is_newer(version: str, than: str) -> bool:
    """Whether one was certainly made after the other."""
    return version_key(version) > version_key(than)
