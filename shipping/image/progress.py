"""What a person sees while the image is made: one line for each step that takes time, with how long it took.

On a terminal the line counts seconds; elsewhere only beginnings and ends are written, because a line that rewrites
itself is noise in a log.
"""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, TextIO

_CLEAR: Final = "\r\x1b[K"
_TICK_S = 0.5


class Progress:
    """Writes to `output`; `clock` counts seconds."""

    def __init__(self, output: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._output = output
        self._live = output.isatty()
        self._clock = clock

    def say(self, sentence: str) -> None:
        self._write(f"{sentence}\n")

    @contextmanager
    def step(self, what: str) -> Generator[None]:
        """Name the work of this block. A block that fails leaves the line to the error."""
        began = self._clock()
        if not self._live:
            self._write(f"{what} ...\n")
            yield
            self._write(f"{what}: {self._clock() - began:.0f} s\n")
            return
        ended = threading.Event()
        ticking = threading.Thread(target=self._tick, args=(what, began, ended), daemon=True)
        ticking.start()
        try:
            yield
        finally:
            ended.set()
            ticking.join()
            self._write(_CLEAR)
        self._write(f"{what}: {self._clock() - began:.0f} s\n")

    def _tick(self, what: str, began: float, ended: threading.Event) -> None:
        while True:
            self._write(f"{_CLEAR}{what} ... {self._clock() - began:.0f} s"[:200])
            if ended.wait(_TICK_S):
                return

    def _write(self, text: str) -> None:
        self._output.write(text)
        self._output.flush()
