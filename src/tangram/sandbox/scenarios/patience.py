"""Waiting for what is to come, with an end: a story in which something does not happen says so and stops."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

PATIENCE_S: Final = 60.0
LOOK_EVERY_S: Final = 0.05

_Found = TypeVar("_Found")


class ScenarioFailed(Exception):  # noqa: N818 - says what is the case
    """The story did not end as it should. Its text says which check failed, and what was seen instead."""


async def until(
    what: str,
    true: Callable[[], Awaitable[_Found | None]],
    *,
    within: float = PATIENCE_S,
    clock: Callable[[], float] = time.monotonic,
) -> _Found:
    """Wait for something that is not None. Raises `ScenarioFailed` after a while."""
    ends = clock() + within
    while (found := await true()) is None:
        if clock() > ends:
            raise ScenarioFailed(f"waited {within:g} s in vain: {what}")
        await asyncio.sleep(LOOK_EVERY_S)
    return found
