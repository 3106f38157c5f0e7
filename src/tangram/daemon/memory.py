"""Staying small on every node of a cluster: freed memory goes back to the system instead of waiting to be used again.

The C library keeps what Python frees, one pool per thread that ever ran. A daemon that is busy for seconds and idle for
days would carry the peak of its busiest moment around for ever.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

_ARENA_MAX: Final = -8
"""`M_ARENA_MAX` of the C library's mallopt."""


def keep_small() -> None:
    """One pool for all threads from now on. After all imports and before any thread is started.

    What was imported stays for ever, so the collector need not look through it again and again: that would stop a busy
    process for tens of milliseconds at a time.
    """
    _call("mallopt", _ARENA_MAX, 1)
    gc.collect()
    gc.freeze()


@contextmanager
def filling() -> Generator[None]:
    """While much is made that stays: the collector rests, and does not look through it afterwards either."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def give_back() -> None:
    """Return what is free; worth its few milliseconds after a busy time, not in between."""
    gc.collect()
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    """Other C libraries than glibc have no such function, and need none."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)
