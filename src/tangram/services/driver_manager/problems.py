"""What keeps a driver or MXMACA from being there: a stable word and a sentence for people."""

from __future__ import annotations

import errno
from typing import Final

import msgspec

AGAIN: Final = ", it is tried again"
"""How a sentence ends about something that is."""
PASSING: Final = ("disk-full", "host-files")
"""What a file system said no with, and may not the next time."""
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Problem(msgspec.Struct, frozen=True):
    code: str
    why: str


class ProblemError(Exception):
    """Raised where something could not be done; nothing is half done because of it."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(code, why)
        self.problem = Problem(code, why)

    def __str__(self) -> str:
        return self.problem.why


def problem_of_files(error: OSError, doing: str) -> ProblemError:
    """What a file system said no with."""
    said = error.strerror or str(error)
    if error.errno in _FULL:
        return ProblemError("disk-full", f"{doing}: {said}; free space on the disk of /opt{AGAIN}")
    return ProblemError("host-files", f"{doing}: {said}; put it right on the host{AGAIN}")
