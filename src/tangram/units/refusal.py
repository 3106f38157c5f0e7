"""The one shape in which this layer says no.

A refusal reaches a person: as an admission answer, an event, a line in a terminal.
So it is never a bare "invalid value". It always says what was read, what is legal
and what to write instead, in one sentence, and carries a short stable code for
the program that counts or translates refusals.
"""

_LONGEST_ECHO = 80


class UnitError(ValueError):
    """A text or number that this layer will not turn into a value.

    It is a `ValueError`, so a caller who only wants "bad input" needs no import.
    """

    code: str
    read: str
    legal: str
    instead: str

    def __init__(self, code: str, read: str, legal: str, instead: str) -> None:
        # All four go to the base class so that the error survives pickling between processes.
        super().__init__(code, read, legal, instead)
        self.code = code
        self.read = read
        self.legal = legal
        self.instead = instead

    def __str__(self) -> str:
        return f"read {quoted(self.read)}: {self.legal}; write {self.instead}"


def quoted(text: str) -> str:
    """Echo what was read, with control characters visible and never at unbounded length."""
    if len(text) > _LONGEST_ECHO:
        text = text[:_LONGEST_ECHO] + "..."
    return repr(text)
