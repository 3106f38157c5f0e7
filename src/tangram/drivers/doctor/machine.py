"""The machine as the probes see it: files below a root, programs on a search path.

Everything goes through here for two reasons: a test (or a container with the host mounted under `/host`) can point it
at another tree, and the file being touched is remembered, so that one that never answers can be named.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

SYSTEM_PATH: Final = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_LONGEST = 4 << 20


class Machine:
    """Reading only. Raises `PermissionError` where rights are missing; what does not exist is None or empty."""

    def __init__(self, root: Path = Path("/"), programs: tuple[str, ...] = SYSTEM_PATH) -> None:
        self.root = root
        self.programs = programs
        self.touching = ""
        """What is being looked at now."""

    def again(self) -> Machine:
        """The same machine for another thread."""
        return Machine(self.root, self.programs)

    def place(self, path: str) -> Path:
        """Where a path of the machine is seen from here."""
        self.touching = path
        return self.root / path.lstrip("/")

    def text(self, path: str) -> str | None:
        """A file's content, without blanks at its ends."""
        try:
            with self.place(path).open(encoding="utf-8", errors="replace") as file:
                return file.read(_LONGEST).strip()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def names(self, path: str) -> tuple[str, ...]:
        """What a folder holds, sorted."""
        try:
            return tuple(sorted(entry.name for entry in self.place(path).iterdir()))
        except (FileNotFoundError, NotADirectoryError):
            return ()

    def exists(self, path: str) -> bool:
        try:
            self.place(path).stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def is_socket(self, path: str) -> bool:
        try:
            return stat.S_ISSOCK(self.place(path).stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def link_name(self, path: str) -> str:
        """The last part of what a symbolic link points to, as sysfs names a device's driver; empty for no link."""
        try:
            return self.place(path).readlink().name
        except (FileNotFoundError, NotADirectoryError, OSError):
            return ""

    def usable(self, path: str) -> bool:
        """Whether this user may read and write it."""
        return os.access(self.place(path), os.R_OK | os.W_OK)

    def writable(self, path: str) -> bool:
        return os.access(self.place(path), os.W_OK)

    def program(self, name: str, *more: str) -> str | None:
        """Where a program is: on the search path, or in one of the further folders."""
        for folder in (*self.programs, *more):
            path = f"{folder}/{name}"
            if os.access(self.place(path), os.X_OK) and self.place(path).is_file():
                return path
        return None
