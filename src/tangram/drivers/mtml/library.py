"""The library's life: found, loaded, started, started again when its handles went bad, loaded again after an upgrade.

A library lists its cards when it starts. When the file or the kernel's cards change afterwards, every handle is given
back, the library is unloaded and a fresh copy of the package loads it again.

libmtml 1.5.0 cannot be unloaded: the loader returns the same copy, which lists the cards of its first start for as
long as the process lives, none where the kernel driver came later. A second file beside it aborts the process. So a
library that stays loaded is remembered with the cards it started with, and once these are no longer the kernel's,
every question is answered with `outdated`: only a new process sees the machine as it is.

Used by one thread at a time, the one of the watchdog: so nobody is inside the library while it is closed.
"""

from __future__ import annotations

import ctypes
import os
from _ctypes import dlclose  # the only way to unload what ctypes loaded
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mtml.calls import Calls
from tangram.drivers.mtml.package import MODULE, fresh_copy, give_back
from tangram.drivers.mtml.place import Bound
from tangram.units.na import NA

RESTART_PAUSE: Final = 5.0
"""Seconds between two restarts for doubt, so that a card that stays broken does not cost a restart per question."""
NAMES: Final = "libmtml.so.2 or libmtml.so"
INSTALL: Final = "install the vendor's mtml package (part of MT GPU Management Center)"


class Resident(NamedTuple):
    """What a library that stays in this process was started with."""

    stamp: tuple[int, ...]
    bound: Bound


RESIDENTS: Final[dict[str, Resident]] = {}
"""Libraries of this process that could not be unloaded, by file."""


class Library:
    """Moore Threads' library, ready when asked for."""

    def __init__(
        self,
        path: str | None,
        *,
        entering: Callable[[str, str], None],
        clock: Callable[[], float],
        bound: Callable[[], Bound] = tuple,
        maps: Path = Path("/proc/self/maps"),
        residents: dict[str, Resident] = RESIDENTS,
    ) -> None:
        self._wanted = path
        self._entering = entering
        self._clock = clock
        self._bound = bound
        self._maps = maps
        self._residents = residents
        self._package: ModuleType | None = None
        self._calls: Calls | None = None
        self._file = ""
        self._mapping = ""
        self._stamp: tuple[int, ...] = ()
        self._started_with: Bound = ()
        self._restarted_at = -RESTART_PAUSE

    def ready(self) -> Calls:
        """Calls into a started library, loaded again after an upgrade or for other cards. Raises `outdated`."""
        if self._package is not None and (self._replaced() or self._bound() != self._started_with):
            self._unload()
        if self._calls is None:
            self._calls = self._started()
        return self._calls

    def restart(self) -> bool:
        """Give all handles back and start anew; False, and nothing done, if that was tried a moment ago."""
        now = self._clock()
        if now - self._restarted_at < RESTART_PAUSE:
            return False
        self._restarted_at = now
        self._shut_down()
        return True

    def close(self) -> None:
        self._unload()

    def _started(self) -> Calls:
        loaded = self._package is not None
        if not loaded:
            self._refuse_outdated()
            self._started_with = self._bound()
            # The longest of what comes before the first call, so whoever gives up here is told that.
            self._entering(f"import {MODULE}", "")
        package = self._package or fresh_copy()
        calls = Calls(package, self._entering)
        try:
            if not loaded and self._wanted is not None:
                self._entering("dlopen", self._wanted)
                # Where the package keeps its library; it searches by itself only while this is empty.
                vars(package)["mtmlLib"] = ctypes.CDLL(self._wanted)
            self._package = package
            calls.raw("mtmlLibraryInit")
        except OSError as error:
            self._package = None
            give_back(package)
            raise DriverError(
                Kind.NO_LIBRARY,
                f"{self._wanted or NAMES} cannot be loaded ({_first_line(error)}); {INSTALL}, or name the file",
                call="dlopen",
                vendor_text=str(error),
            ) from None
        finally:
            if not loaded and self._package is not None:
                # As a path the loader gave: a bare name says nothing, and a link may lead elsewhere after an upgrade.
                self._mapping = self._mapping_of(self._wanted)
                self._file = self._wanted or self._mapping
                self._stamp = _stamp(self._file)
        return calls

    def _unload(self) -> None:
        stopped = self._shut_down()
        package, self._package = self._package, None
        file, mapping, stamp = self._file, self._mapping, self._stamp
        self._file, self._mapping, self._stamp = "", "", ()
        if package is not None:
            give_back(package)
        library = getattr(package, "mtmlLib", None)
        # Unmapping a library that refused to stop could take code away from threads it still runs.
        if stopped and isinstance(library, ctypes.CDLL):
            self._entering("dlclose", "")
            dlclose(library._handle)  # noqa: SLF001 - ctypes opens libraries and offers no other way to close them
            if mapping in self._mapped():
                self._residents.setdefault(file, Resident(stamp, self._started_with))

    def _refuse_outdated(self) -> None:
        bound = self._bound()
        for file, resident in self._residents.items():
            now = _stamp(file)
            if resident.bound == bound and now in ((), resident.stamp):
                continue
            changed = "that file was replaced" if resident.bound == bound else "the kernel's cards changed"
            raise DriverError(
                Kind.OUTDATED,
                f"{changed} after {file} was loaded, which this version of the library never notices; "
                "start this program again",
                call="dlopen",
            )

    def _shut_down(self) -> bool:
        calls, self._calls = self._calls, None
        if calls is None:
            return True
        calls.about("")
        # A library that refuses to stop is left as it is: a new start works or says why not.
        return calls.known_answer("mtmlLibraryShutDown") is not NA

    def _replaced(self) -> bool:
        now = _stamp(self._file)
        # No file is an upgrade half done: what is loaded goes on working until the new one is there.
        return bool(now) and bool(self._stamp) and now != self._stamp

    def _mapping_of(self, wanted: str | None) -> str:
        if wanted is not None and "/" in wanted:
            return os.path.realpath(wanted)
        name = f"/{wanted or 'libmtml.so'}"
        return next((path for path in self._mapped() if name in path), "")

    def _mapped(self) -> list[str]:
        """Files that are in this process's memory, also those that are no longer on disk."""
        try:
            lines = self._maps.read_text("utf-8", errors="replace").splitlines()
        except OSError:
            return []
        found = dict.fromkeys(f"/{line.partition('/')[2]}" for line in lines if "/" in line)
        kept = [path for path in found if not path.endswith(_DELETED)]
        return kept + [path.removesuffix(_DELETED) for path in found if path.endswith(_DELETED)]


_DELETED: Final = " (deleted)"


def _stamp(file: str) -> tuple[int, ...]:
    if not file:
        return ()
    try:
        found = os.stat(file)  # noqa: PTH116 - a bare library name is looked up by the loader, never by us
    except OSError:
        return ()
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _first_line(error: OSError) -> str:
    return next(iter(str(error).splitlines()), "no reason given")
