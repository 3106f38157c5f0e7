"""One writer of slices per card at a time, across all processes that use this package.

The library picks the lowest free slice number and writes it in a second step, so two writers can pick the same one. The
kernel does not stop them; a lock file does, and it is free again when its holder dies.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from tangram.drivers.errors import DriverError, Kind

_PAUSE = 0.01


@contextmanager
def turn(
    directory: str,
    bdf: str,
    limit: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Generator[None]:
    """Hold the card's lock inside. Raises `busy` when another writer does not let go in time."""
    path = Path(directory) / f"mxsml-{bdf.replace('/', '_') or 'unknown'}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise DriverError(
            Kind.NOT_PERMITTED,
            f"{path} cannot be opened ({error.strerror}): slices are changed by one process at a time, "
            "and without this file it cannot be known that nobody else does",
            call=str(path),
        ) from error
    try:
        _acquire(descriptor, path, clock() + limit, clock, pause)
        yield
    finally:
        os.close(descriptor)


def _acquire(
    descriptor: int, path: Path, until: float, clock: Callable[[], float], pause: Callable[[float], None]
) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if clock() >= until:
                raise DriverError(
                    Kind.BUSY,
                    f"another process is changing slices of this card and holds {path}",
                    call=str(path),
                ) from None
            pause(_PAUSE)
        else:
            return
