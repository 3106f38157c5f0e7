"""Calls that hang, and a clock that strikes because they do.

A limit of a tenth of a second says nothing on a machine that stands still for two: it may pass before the call that is
to hang has been reached, and then another name is given. So no test here waits for a limit. It says what hangs, and
time is up as soon as that has come true.
"""

import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from tangram.drivers import watchdog

LONG = 60.0
"""Seconds within which anything that does happen has happened, however busy the machine is."""
_GLANCE = 0.002

Wait = Callable[[threading.Event, float], bool]


def up_while(hanging: Callable[[], bool]) -> Wait:
    """Waiting that ends when it is done, or while something hangs; the limit itself only ends a broken test."""

    def wait(done: threading.Event, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not done.wait(_GLANCE):
            if hanging() or time.monotonic() > end:
                return False
        return True

    return wait


@contextmanager
def time_is_up_while(hanging: Callable[[], bool]) -> Generator[list[float]]:
    """Inside, a question to a driver is given up while that hangs, and never before. Yields the limits waited with."""
    limits: list[float] = []
    wait = up_while(hanging)

    def counted(done: threading.Event, seconds: float) -> bool:
        limits.append(seconds)
        return wait(done, seconds)

    with mock.patch.object(watchdog, "waited", counted):
        yield limits


class Fifo:
    """A named pipe that nobody writes to: opening it for reading hangs as a read from a dead card does."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._lock = threading.Lock()
        self._writer: int | None = None

    def hangs(self) -> bool:
        """Whether somebody hangs here. Whoever does now waits for a first byte instead of a writer, until released."""
        # Several threads may wait for one answer, and a second writer would never be closed.
        with self._lock:
            if self._writer is None:
                try:
                    self._writer = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
                except OSError:
                    return False
            return True

    def release(self) -> None:
        """Let go whoever hangs here, or comes to: a call that has not been reached yet is waited for."""
        with self._lock:
            writer, self._writer = self._writer, None
        os.close(os.open(self.path, os.O_WRONLY) if writer is None else writer)


@contextmanager
def all_threads_home(name: str) -> Generator[None]:
    """Ends when every thread of that name made inside has: one that still asks would meet the next test's world."""
    before = set(threading.enumerate())
    yield
    assert eventually(lambda: not any(thread.name == name for thread in set(threading.enumerate()) - before))


class Gate:
    """A file that the Moore Threads twin waits for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reached = path.with_name(f"{path.name}.reached")

    def hangs(self) -> bool:
        """Whether a call has come this far and is still there."""
        return self._reached.exists() and not self.path.exists()

    def release(self) -> None:
        self.path.touch()


def eventually(true: Callable[[], bool]) -> bool:
    """Whether it becomes true; the only clock that a hanging call leaves us is a real one."""
    end = time.monotonic() + LONG
    while not true():
        if time.monotonic() > end:
            return False
        threading.Event().wait(_GLANCE)
    return True
