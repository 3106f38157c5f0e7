"""How built components get into the cache: one builder at a time, each component whole or not at all.

A builder works under `.unfinished` and renames what it has finished. Whatever is found there by the next one, which
holds the lock, was left by a builder that died.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

from testbed.errors import BedError

UNFINISHED: Final = ".unfinished"
_KEEP_UNUSED_DAYS = 30


@contextmanager
def only_builder(root: Path, output: TextIO) -> Generator[None]:
    """Nobody else builds into this folder meanwhile. The kernel drops the lock of whoever dies, in whatever way."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = (root / "lock").open("ab")
    except OSError as error:
        raise BedError(
            f"The test bed cannot write to {root} ({error.strerror}): "
            "set TANGRAM_TESTBED_CACHE to a folder where it may."
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            output.write(f"Another build is filling {root}: waiting for it.\n")
            output.flush()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def workplace(root: Path) -> Generator[Path]:
    """An empty folder beside the finished ones, gone when the block ends. Only for the holder of the lock."""
    folder = root / UNFINISHED
    remove(folder)
    folder.mkdir()
    try:
        yield folder
    finally:
        remove(folder)


def publish(made: Path, target: Path) -> None:
    """Give a finished component its final name, and drop versions of it that nobody used for a month."""
    target.parent.mkdir(exist_ok=True)
    remove(target)  # somebody took a program out of it; what is left is of no use
    made.rename(target)
    oldest = time.time() - _KEEP_UNUSED_DAYS * 24 * 3600
    for other in target.parent.iterdir():
        if other != target and other.stat().st_mtime < oldest:
            remove(other)


def used_now(folder: Path) -> None:
    """Count the days of keeping it from today."""
    with suppress(OSError):  # a cache of another user: they keep its dates
        os.utime(folder)


def remove(folder: Path) -> None:
    """Where it cannot be removed it stays; whoever wants its name then reports why."""
    shutil.rmtree(folder, ignore_errors=True)
