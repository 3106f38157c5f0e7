"""Work that blocks, on a thread that nobody has to wait for.

The event loop's own threads are waited for when a process ends. A call into a vendor's library may never return, and a
daemon that was told to end must end all the same.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

_Answer = TypeVar("_Answer")


async def in_background(work: Callable[[], _Answer], name: str = "background") -> _Answer:
    """The answer of the work, or what it raised. Whoever is cancelled while waiting leaves it behind."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[_Answer] = loop.create_future()

    def settle(result: _Answer | None, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result)  # pyright: ignore[reportArgumentType] - None only where the work answers None

    def run() -> None:
        result: _Answer | None = None
        failure: BaseException | None = None
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised again where the answer is awaited
            failure = error
        # The loop may have ended meanwhile; then there is nobody left to tell.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await answer
