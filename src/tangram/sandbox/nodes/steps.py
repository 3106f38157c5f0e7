"""What a container's command comes to: lines, pauses, and what is only pretended; and what a command can see."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping

import msgspec


class Say(msgspec.Struct, frozen=True):
    """A line on standard output."""

    text: str


class Pause(msgspec.Struct, frozen=True):
    """Nothing for so long; None is for ever."""

    seconds: float | None


class Pretend(msgspec.Struct, frozen=True):
    """A command that only a real machine could run."""

    command: str


Step = Say | Pause | Pretend
Steps = Generator[Step, None, int]
"""Ends with an exit status."""


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """What a command can see."""

    environment: Mapping[str, str] = {}
    nodes: tuple[str, ...] = ()
    """Device nodes in the container."""
    hostname: str = ""
    date: Callable[[], str] = str


class Exit(Exception):  # noqa: N818 - no error: the word exit
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status
