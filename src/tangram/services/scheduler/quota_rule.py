"""How those who promise cards ask whether a namespace may have them."""

from __future__ import annotations

from collections.abc import Callable

from tangram.model.allocations import Allocation
from tangram.model.requests import Request

OverQuota = Callable[[Request, Allocation], str | None]
"""Why the pod may not have these cards; None when it may."""


def no_quota(_request: Request, _allocation: Allocation) -> str | None:
    """Where nobody has set a quota."""
    return None
