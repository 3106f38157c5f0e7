"""Names of the slices that a self-test makes.

They do not begin as those of the agent do, so no agent takes one for a slice of a pod that is gone, and they are
matched as a whole, so no self-test takes a slice of anything else for its own.
"""

from __future__ import annotations

import re
import secrets
from typing import Final

_NAME: Final = re.compile(r"selftest-[0-9a-f]{8}-[0-9]{2}")


def new_run() -> str:
    """What the names of one run have in common."""
    return secrets.token_hex(4)


def slice_name(run: str, number: int) -> str:
    """Of the run's slice of that number, from 0 to 99."""
    return f"selftest-{run}-{number:02d}"


def is_of_a_self_test(name: str) -> bool:
    """Whether a slice of that name was made by a self-test, this one or an earlier one."""
    return _NAME.fullmatch(name) is not None
