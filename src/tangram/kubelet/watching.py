"""Knowing at once that something in a folder came, went or was replaced, without looking all the time.

The kernel tells (inotify). It is spoken to directly, because the four calls needed are smaller than any package for
them. It may refuse: a user has 128 instances, and kubelet, containerd and every other daemon of the node draw from
them. Then, and while there is no such folder, the watch only says now and then that it is time to look. It never says
what happened: whoever listens has to look anyway.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

LOOK_S: Final = 0.05
"""How often listeners are told to look while the kernel will not tell."""
MISSING_S: Final = 0.2
"""The same while there is no such folder."""

_MOVED_FROM = 0x00000040
_MOVED_TO = 0x00000080
_CREATE = 0x00000100
_DELETE = 0x00000200
_DELETE_SELF = 0x00000400
_MOVE_SELF = 0x00000800
_UNMOUNT = 0x00002000
_IGNORED = 0x00008000
_ONLY_FOLDERS = 0x01000000

_WATCHED = _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF | _ONLY_FOLDERS
_FOLDER_GONE = _DELETE_SELF | _MOVE_SELF | _UNMOUNT | _IGNORED
_HEAD = struct.Struct("iIII")
_AT_ONCE = 64 * 1024

_libc = ctypes.CDLL(None, use_errno=True)


class FolderWatch:
    """One for any number of listeners; it holds something of the kernel's only while there are any."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._listeners: list[Callable[[], None]] = []
        self._file: int | None = None
        self._look: asyncio.TimerHandle | None = None

    def listen(self, told: Callable[[], None]) -> Callable[[], None]:
        """Call `told` after every change, and at times for nothing. Returns what ends it. Needs a running loop."""
        self._listeners.append(told)
        if len(self._listeners) == 1:
            self._begin()

        def end() -> None:
            if told in self._listeners:
                self._listeners.remove(told)
                if not self._listeners:
                    self._end()

        return end

    def _begin(self) -> None:
        """Have the kernel tell, or look again after a while."""
        try:
            self._file = _opened(self._folder)
        except OSError as error:
            missing = isinstance(error, FileNotFoundError | NotADirectoryError)
            pause = MISSING_S if missing else LOOK_S
            self._look = asyncio.get_running_loop().call_later(pause, self._look_again)
        else:
            asyncio.get_running_loop().add_reader(self._file, self._read)

    def _end(self) -> None:
        if self._look is not None:
            self._look.cancel()
            self._look = None
        if self._file is not None:
            asyncio.get_running_loop().remove_reader(self._file)
            os.close(self._file)
            self._file = None

    def _look_again(self) -> None:
        self._look = None
        self._begin()
        self._tell()

    def _read(self) -> None:
        gone = False
        with suppress(BlockingIOError):
            while self._file is not None:
                gone |= _says_gone(os.read(self._file, _AT_ONCE))
        if gone:
            self._end()
            self._begin()
        self._tell()

    def _tell(self) -> None:
        for told in tuple(self._listeners):
            told()


def _opened(folder: Path) -> int:
    """A file to read the folder's changes from. Raises `OSError`."""
    file: int = _checked(_libc.inotify_init1(ctypes.c_int(os.O_NONBLOCK | os.O_CLOEXEC)))
    try:
        _checked(_libc.inotify_add_watch(ctypes.c_int(file), bytes(folder), ctypes.c_uint32(_WATCHED)))
    except OSError:
        os.close(file)
        raise
    return file


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _says_gone(events: bytes) -> bool:
    """Whether one of these is about the folder itself: it was removed, moved away or unmounted."""
    at, gone = 0, False
    while at + _HEAD.size <= len(events):
        _, mask, _, name_length = _HEAD.unpack_from(events, at)
        gone |= bool(mask & _FOLDER_GONE)
        at += _HEAD.size + name_length
    return gone
