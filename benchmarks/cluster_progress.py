"""What a person sees while the cluster benchmark works, on standard error: its figures go to standard output.

Lines and not a bar: a run of many minutes is read afterwards too, and where it was slow is then of interest.
"""

import sys
import time
from collections.abc import Callable
from typing import Final, TextIO

EVERY_S: Final = 5.0


class Progress:
    """Says what begins, and how far it has come whenever some seconds have passed."""

    def __init__(self, stream: TextIO = sys.stderr, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._begun = clock()
        self._said = self._begun

    def say(self, what: str) -> None:
        """A step begins."""
        self._said = self._clock()
        self._stream.write(f"{self._said - self._begun:7.1f} s  {what}\n")
        self._stream.flush()

    def count(self, what: str, done: int, total: int) -> None:
        """How far a step has come, as `still`."""
        self.still(f"{what}: {done} of {total}")

    def still(self, what: str) -> None:
        """How things stand; said at most every few seconds."""
        if self._clock() - self._said >= EVERY_S:
            self.say(what)
