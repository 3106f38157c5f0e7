"""Whether this process could see every process that uses a card.

The vendors' libraries and tools list processes by their number in the PID namespace of the one that asks, and leave out
those that have none there, without a word. In the host's namespace every process has a number; in any other one a list
is a lower bound, and an empty one says nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
_HOSTS: Final = "pid:[4026531836]"
"""The number that Linux gives the first PID namespace of a machine; other ones get theirs when they are made."""


def sees_every_process(proc: Path = PROC) -> bool:
    """False as well where it cannot be told."""
    try:
        return os.readlink(proc / "self/ns/pid") == _HOSTS  # noqa: PTH115 - only the text is wanted
    except OSError:
        return False
