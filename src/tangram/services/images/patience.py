"""How often something is tried, and how long one waits in between."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from tangram.services.images.errors import InterruptedPushError

TRIES: Final = 5
LONGEST_PAUSE_S: Final = 30.0
_FIRST_PAUSE_S: Final = 1.0

Sleep = Callable[[float], Awaitable[None]]
_Result = TypeVar("_Result")


async def patiently(
    pause: Sleep,
    work: Callable[[], Awaitable[_Result]],
    heeded: type[InterruptedPushError] = InterruptedPushError,
) -> _Result:
    """Do the work again while it is only interrupted, `TRIES` times at most, with longer and longer pauses."""
    for number in range(1, TRIES):
        try:
            return await work()
        except heeded as error:
            await pause(pause_after(number, error))
    return await work()


def pause_after(failures: int, error: InterruptedPushError) -> float:
    """Seconds until the next try: what the server wants if it said so, else twice as long each time."""
    return min(error.after or _FIRST_PAUSE_S * 2 ** (failures - 1), LONGEST_PAUSE_S)
