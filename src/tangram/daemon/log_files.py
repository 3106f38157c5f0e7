"""A log file that is set aside when its time is over, and removed when its age is.

Time is cut at fixed boundaries (Mondays, midnights and full hours, in UTC), so that a daemon that restarts every day
still fills one file a week. A file set aside is named after the moment it was closed: everything in it is older. The
name alone says what may be removed, whoever copied or touched the file since.

A disk that is full or a folder that is gone must not end a daemon that serves cards. That is said once on standard
error, and once more each time it happens anew.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Final

_FIRST_MONDAY: Final = 4 * 86_400
_CLOSED_AT: Final = "%Y%m%dT%H%M%SZ"

Clock = Callable[[], float]


class AgingFile(logging.Handler):
    """Writes `<folder>/<component>.log`."""

    def __init__(
        self, folder: Path, component: str, *, rotation: int, max_age: int, clock: Clock = time.time
    ) -> None:
        super().__init__()
        self.path: Final = folder / f"{component}.log"
        self._rotation = rotation
        self._max_age = max_age
        self._clock = clock
        self._aside = re.compile(rf"{re.escape(component)}\.([0-9]{{8}}T[0-9]{{6}}Z)(?:-[0-9]+)?\.log")
        self._file: TextIOWrapper | None = None
        self._period = -1
        self._inode = -1
        self._troubled = False

    def open(self) -> None:
        """Try the folder now, so that a wrong one is known at the start."""
        self.acquire()
        try:
            self._written("")
        finally:
            self.release()

    def emit(self, record: logging.LogRecord) -> None:
        self._written(f"{self.format(record)}\n")

    def close(self) -> None:
        self.acquire()
        try:
            self._shut()
        finally:
            self.release()
        super().close()

    def _written(self, text: str) -> None:
        try:
            file = self._current()
            file.write(text)
            file.flush()
        except OSError as error:
            self._shut()
            if not self._troubled:
                reason = error.strerror or str(error)
                sys.stderr.write(
                    f"tangram: {self.path} cannot be written ({reason}): logs go to standard error alone; "
                    "name a folder that can be written with --log-dir, or none with --log-dir ''.\n"
                )
            self._troubled = True
        else:
            self._troubled = False

    def _current(self) -> TextIOWrapper:
        period = self._period_of(self._clock())
        if self._file is not None and period == self._period and self._still_there():
            return self._file
        self._shut()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists() and self._period_of(self._last_written()) < period:
            self._set_aside()
        self._file = self.path.open("a", encoding="utf-8", errors="backslashreplace")
        self._period = period
        self._inode = self.path.stat().st_ino
        self._remove_old()
        return self._file

    def _still_there(self) -> bool:
        """Whether the name still means our file: a second process of the same name may have set it aside."""
        try:
            return self.path.stat().st_ino == self._inode
        except OSError:
            return False

    def _last_written(self) -> float:
        """Our own entries count by our own clock; what another process wrote, by the file's."""
        if self._period >= 0 and self._still_there():
            return self._period * self._rotation + _FIRST_MONDAY
        return self.path.stat().st_mtime

    def _period_of(self, moment: float) -> int:
        return int((moment - _FIRST_MONDAY) // self._rotation)

    def _set_aside(self) -> None:
        closed = datetime.fromtimestamp(self._clock(), UTC).strftime(_CLOSED_AT)
        stem = f"{self.path.stem}.{closed}"
        names = (f"{stem}{more}.log" for more in ("", *(f"-{number}" for number in range(1, 1000))))
        free = next((name for name in names if not (self.path.parent / name).exists()), f"{stem}.log")
        self.path.rename(self.path.parent / free)

    def _remove_old(self) -> None:
        oldest = self._clock() - self._max_age
        for file in self.path.parent.iterdir():
            found = self._aside.fullmatch(file.name)
            if found is None:
                continue
            with suppress(OSError, ValueError):
                closed = datetime.strptime(found[1], _CLOSED_AT).replace(tzinfo=UTC)
                if closed.timestamp() < oldest:
                    file.unlink()

    def _shut(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            # What a full disk did not take is lost either way.
            with suppress(OSError):
                file.close()
