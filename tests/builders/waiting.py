"""Waiting for something to come true that no event announces, such as what a server or a process has done."""

import asyncio
from collections.abc import Callable

LIMIT_S = 60.0
"""Not a promise about speed: only so that a test that would wait for ever fails instead."""


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not true():  # noqa: ASYNC110 - the reason stands at the top
            await asyncio.sleep(0.005)
