"""The one error of the image tool: a sentence for the person who ran it.

Whoever catches it prints it and exits with 1; a traceback instead would be a bug.
"""

from __future__ import annotations

from typing import Final

import msgspec

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What is raised for JSON that is none, or not in UTF-8, or nested without end."""


class ImagesError(Exception):
    """What was found, what is needed and what to do, in one sentence."""


class InterruptedPushError(ImagesError):
    """The same of something that may go better the next time: a lost connection, a server that is too busy."""

    def __init__(self, sentence: str, *, after: float = 0.0) -> None:
        super().__init__(sentence)
        self.after = after
        """Seconds that the server wants to be left alone, 0 if it did not say."""


class BusyError(InterruptedPushError):
    """Somebody answers, and asks for time: unlike a lost connection, that is worth waiting for from the beginning."""
