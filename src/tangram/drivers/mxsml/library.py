"""One loaded copy of the library: symbols on first use, codes turned into errors, closed for good.

A library older than us lacks some functions. Calling one answers `codes.ABSENT`, which readers treat like any figure
that is not offered. Nothing here is safe from two threads at once; the watchdog's one thread is the only caller.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from tangram.drivers.errors import DriverError
from tangram.drivers.mxsml import codes
from tangram.drivers.mxsml.functions import COUNTS, PREFIX, SIGNATURES

_Function = Callable[..., int]

FULL_NAMES: Final = {name: PREFIX + name for name in SIGNATURES}


class Identity(NamedTuple):
    """Tells a file from the one that took its place."""

    device: int
    inode: int
    size: int
    changed: int


def identity(path: str) -> Identity | None:
    """Which file is at that path now; None while there is none, as in the middle of an upgrade."""
    try:
        found = os.stat(path)  # noqa: PTH116 - asked before every question, so without making a Path
    except OSError:
        return None
    return Identity(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


_LOCKS: Final[dict[Identity | None, threading.Lock]] = {}
_LOCKS_LOCK: Final = threading.Lock()


class Library:
    """Raises OSError when the loader refuses the file."""

    def __init__(
        self,
        path: str,
        entering: Callable[[str], None] = lambda _: None,
        *,
        replacing: bool = False,
    ) -> None:
        self.entering = entering
        """Hears each call before it is made."""
        self.functions: dict[str, _Function | None] = {}
        """By name without the prefix, as far as looked up; None for what the library lacks."""
        before = identity(path)
        self._loaded = _load_anew(path) if replacing else ctypes.CDLL(path)
        self.path = path if "/" in path else _origin(self._loaded) or path
        """The file; for a library the loader found by name, where it found it."""
        self.identity = before or identity(self.path)
        self._error_string = self._bound_error_string()
        with _LOCKS_LOCK:
            self.alone = _LOCKS.setdefault(self.identity, threading.Lock())
            """Held by whoever is inside: the loader gives every user of a file the same copy of it."""

    @property
    def replaced(self) -> bool:
        """Whether another file is at the path now. A missing one is an upgrade half done, not a new library."""
        now = identity(self.path)
        return now is not None and now != self.identity

    def call(self, name: str, *arguments: object) -> int:
        """The return code of a function, or the count for those that return one; `ABSENT` when it is not there."""
        try:
            function = self.functions[name]
        except KeyError:
            function = self._resolve(name)
        if function is None:
            return 0 if name in COUNTS else codes.ABSENT
        self.entering(FULL_NAMES[name])
        return function(*arguments)

    def must(self, name: str, *arguments: object, about: str = "") -> None:
        """Call a function and raise unless it succeeds."""
        code = self.call(name, *arguments)
        if code != codes.DONE:
            raise self.error(name, code, about)

    def has(self, name: str) -> bool:
        return (self.functions[name] if name in self.functions else self._resolve(name)) is not None

    def error(self, name: str, code: int, about: str = "") -> DriverError:
        kind, ours = codes.meaning(code)
        theirs = self.words_for(code)
        where = f"{PREFIX}{name} ({about})" if about else PREFIX + name
        number = f" (code {code})" if code >= 0 else ""
        return DriverError(
            kind,
            f"{where}: {theirs or ours}{number}",
            call=PREFIX + name,
            vendor_code=code if code >= 0 else None,
            vendor_text=theirs,
        )

    def words_for(self, code: int) -> str:
        """The library's own words for a code; empty when it has none."""
        if self._error_string is None or code < 0:
            return ""
        self.entering(f"{PREFIX}GetErrorString")
        said = self._error_string(code)
        return said.decode(errors="replace").strip() if said else ""

    def close(self) -> None:
        """Unload it. Whoever calls into it afterwards gets `ABSENT` and not a jump into nowhere."""
        self.functions.update(dict.fromkeys(SIGNATURES))
        self._error_string = None
        unload = ctypes.CDLL(None).dlclose
        unload.argtypes = (ctypes.c_void_p,)
        unload(self._loaded._handle)  # noqa: SLF001 - ctypes loads but has no public way to unload

    def _resolve(self, name: str) -> _Function | None:
        found = getattr(self._loaded, PREFIX + name, None)
        if found is not None:
            found.argtypes = SIGNATURES[name]
            found.restype = ctypes.c_uint
        self.functions[name] = found
        return found

    def _bound_error_string(self) -> Callable[[int], bytes | None] | None:
        found = getattr(self._loaded, f"{PREFIX}GetErrorString", None)
        if found is not None:
            found.argtypes = (ctypes.c_uint,)
            found.restype = ctypes.c_char_p
        return found


def _load_anew(path: str) -> ctypes.CDLL:
    # The loader answers a path it has loaded before with the old copy, even after the file was replaced, as long as
    # something keeps that copy in memory (C++ libraries usually do). A name it has never seen makes it look again.
    with tempfile.TemporaryDirectory(prefix="tangram-") as directory:
        alias = Path(directory) / Path(path).name
        alias.symlink_to(Path(path).absolute())
        return ctypes.CDLL(str(alias))


class _Symbol(ctypes.Structure):
    file: bytes | None
    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def _origin(loaded: ctypes.CDLL) -> str:
    function = getattr(loaded, f"{PREFIX}Init", None)
    locate = getattr(ctypes.CDLL(None), "dladdr", None)
    if function is None or locate is None:
        return ""
    locate.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    symbol = _Symbol()
    found = locate(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(symbol))
    return symbol.file.decode(errors="replace") if found and symbol.file else ""
