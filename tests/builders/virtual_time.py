"""Hours in a moment: an event loop whose clock jumps to the next thing to do whenever there is nothing else to do."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import TypeVar

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):
    """Never waits: what it would have waited for has passed when it returns."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everybody waits for somebody, and nobody for the clock")
        if not ready and timeout is not None:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def in_virtual_time(main: Coroutine[None, None, T]) -> T:
    """Run to the end without waiting for anything. Only what lives in this process may be asked."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def virtually(test: Callable[[], Coroutine[None, None, None]]) -> Callable[[], None]:
    """A test that takes no time, whatever it waits for."""

    def run() -> None:
        in_virtual_time(test())

    run.__name__ = test.__name__
    return run
