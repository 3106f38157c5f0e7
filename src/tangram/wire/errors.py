"""The two shapes in which this layer says that something could not be read or must not be written."""

from __future__ import annotations

import msgspec

_LONGEST_ECHO = 80


class WireError(ValueError):
    """A text or object in someone else's format that has no meaning to us, or one that we refuse to produce.

    The code is stable, for tests and counters; the sentence is for the person who has to repair the object.
    """

    code: str
    sentence: str

    def __init__(self, code: str, sentence: str) -> None:
        # Both go to the base class so that the error survives pickling between processes.
        super().__init__(code, sentence)
        self.code = code
        self.sentence = sentence

    def __str__(self) -> str:
        return self.sentence


class Problem(msgspec.Struct, frozen=True):
    """Something unreadable in an object that was otherwise read; the rest of it still counts."""

    code: str
    sentence: str


def problem_from(error: WireError) -> Problem:
    """The error as a remark, where the reader can go on without what it is about."""
    return Problem(error.code, error.sentence)


def shown(value: object) -> str:
    """Echo what was read: never at unbounded length, with control characters visible."""
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST_ECHO else value[:_LONGEST_ECHO] + "...")
    if isinstance(value, bool | float | None):
        return repr(value)
    if isinstance(value, int):
        # A number of thousands of digits cannot even be printed.
        return repr(value) if value.bit_length() <= 256 else "a number far too large"
    return "a list" if isinstance(value, list | tuple) else "an object"
