"""Versions as drivers print them, compared as numbers."""

from __future__ import annotations

import re
from typing import Final

Version = tuple[int, int, int]

METAX_SLICES: Final[Version] = (2, 32, 0)
"""The first MetaX driver that can slice."""
MTHREADS_SLICES: Final[Version] = (1, 2, 0)
"""The first Moore Threads driver that can slice."""
MTHREADS_TOOLKIT_ABOVE: Final[Version] = (1, 9, 0)
"""The container toolkit must be newer than this."""

_NUMBERS = re.compile(r"(?<![0-9.])([0-9]{1,6})\.([0-9]{1,6})(?:\.([0-9]{1,6}))?")


def read_version(text: str) -> Version | None:
    """The first version in a text such as `3.3.5-server`; None when there is none."""
    found = _NUMBERS.search(text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def version_text(version: Version) -> str:
    """As people write it."""
    return ".".join(map(str, version))
