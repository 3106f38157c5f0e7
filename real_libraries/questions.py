"""What can be asked of a library: functions with arguments, and the shapes of what they write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Out(NamedTuple):
    """Memory for an answer: records of a name in the library's `RECORDS`, so many of them."""

    record: str
    times: int = 1


class InOut(NamedTuple):
    """A number that goes in as room and comes back as a count or a size."""

    value: int


class Text(NamedTuple):
    """A text that goes in."""

    text: bytes


class Made(NamedTuple):
    """Room for a handle that the function makes, by the name it is known under afterwards."""

    handle: str


class Handle(NamedTuple):
    """A handle that was made before; a null pointer where it was not."""

    handle: str


class Nothing(NamedTuple):
    """A null pointer where memory is expected."""


Argument = int | Out | InOut | Text | Made | Handle | Nothing


class Call(NamedTuple):
    name: str
    arguments: tuple[Argument, ...] = ()

    @property
    def label(self) -> str:
        words = [_word(each) for each in self.arguments]
        return f"{self.name}({', '.join(word for word in words if word)})"

    @property
    def makes(self) -> bool:
        """Whether later questions need what it makes."""
        return any(isinstance(each, Made) for each in self.arguments)


class Library(NamedTuple):
    """What is asked of one vendor's library."""

    prefix: str
    records: Mapping[str, Any]
    """Of ctypes, by the names that questions use."""
    begin: Call
    texts: frozenset[str] = frozenset()
    """Functions that answer with a text. Its words are the vendor's; whether there are any is compared."""


def _word(argument: Argument) -> str:
    match argument:
        case int():
            return str(argument)
        case Handle(name):
            return name
        case Text(text):
            return repr(text.decode(errors="replace"))
        case Nothing():
            return "null"
        case _:
            return ""
