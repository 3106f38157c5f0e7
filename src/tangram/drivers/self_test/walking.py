"""How a check tells what it does, and learns that it is to stop.

A stop is asked for by closing a pipe, so it reaches the checks whatever became of the process at its other end. It is
noticed between two questions to the cards, never inside one: a change is ended before the card is put back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tangram.drivers.self_test.records import Began, SelfTestEvent, Step

_Answer = TypeVar("_Answer")


class SelfTestStoppedError(Exception):
    """The person does not wait for the rest."""


class Walk:
    """The one way from checks to whoever watches them."""

    def __init__(self, tell: Callable[[SelfTestEvent], None], stopping: Callable[[], bool]) -> None:
        self.tell = tell
        self.stopping = stopping

    def begin(self, check: str) -> None:
        self._go_on()
        self.tell(Began(check))

    def step(self, what: str, ask: Callable[[], _Answer], done: int = 0, total: int = 0) -> _Answer:
        """The answer, after saying what is asked. Raises `SelfTestStoppedError` instead of asking."""
        self._go_on()
        self.tell(Step(what, done, total))
        return ask()

    def _go_on(self) -> None:
        if self.stopping():
            raise SelfTestStoppedError
