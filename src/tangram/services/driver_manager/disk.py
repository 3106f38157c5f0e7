"""The host's files, seen below a root: few operations, each whole or not done, in the host's own paths.

A path of the host is followed as the host would follow it: `/opt` may be a link to `/data/opt`, which from inside a
container leads somewhere else. Links are resolved below the root here, component by component; the last one is left as
it is, because links are among the things worked on.

Everything that writes goes through this one class, so that tests can end the process between any two operations.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

_MOST_LINKS: Final = 40
_PIECE: Final = 1 << 20


class Disk:
    """Of one host. Every method raises `OSError` as the file system does."""

    def __init__(self, root: Path) -> None:
        self.root: Final = root

    # ---- reading

    def at(self, path: str) -> Path:
        """Where a path of the host is seen from here."""
        return _within(self.root, path)

    def read(self, path: str) -> bytes:
        return self.at(path).read_bytes()

    def is_there(self, path: str) -> bool:
        """Whether anything has that name, be it a link to nothing."""
        return os.path.lexists(self.at(path))

    def is_folder(self, path: str) -> bool:
        """A real one, no link to one."""
        with suppress(FileNotFoundError):
            return stat.S_ISDIR(self.at(path).lstat().st_mode)
        return False

    def link_at(self, path: str) -> str | None:
        """What a link points to; None for anything else."""
        place = self.at(path)
        return str(place.readlink()) if place.is_symlink() else None

    def names_in(self, path: str) -> tuple[str, ...]:
        with suppress(FileNotFoundError):
            return tuple(sorted(os.listdir(self.at(path))))  # noqa: PTH208 - names, not paths
        return ()

    def free(self, path: str) -> int:
        """Bytes that can still be written there."""
        found = os.statvfs(self.at(path))
        return found.f_bavail * found.f_frsize

    # ---- writing

    def make_folder(self, path: str, mode: int = 0o755) -> None:
        """With those above it; one that is there is left as it is."""
        place = self.at(path)
        if not place.is_dir():
            place.mkdir(mode=mode, parents=True, exist_ok=True)
            place.chmod(mode)

    def copy(self, source: BinaryIO, path: str, mode: int) -> tuple[str, int]:
        """A new file with everything of the source; the checksum and the size of what was written."""
        checksum, size = hashlib.sha256(), 0
        with _new_file(self.at(path), mode) as file:
            while piece := source.read(_PIECE):
                checksum.update(piece)
                size += len(piece)
                self._put(file, piece)
        return checksum.hexdigest(), size

    def write(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """A file with this content, on the disk when this returns. Not for one that somebody reads meanwhile."""
        place = self.at(path)
        place.unlink(missing_ok=True)
        with _new_file(place, mode) as file:
            self._put(file, content)
            file.flush()
            os.fsync(file.fileno())

    def link(self, path: str, target: str) -> None:
        self.at(path).symlink_to(target)

    def rename(self, old: str, new: str) -> None:
        """On the disk when this returns. What had the new name is gone, unless it is a folder that is not empty."""
        place = self.at(new)
        self.at(old).rename(place)
        _settle(place.parent)

    def remove(self, path: str) -> None:
        """A file or a link; one that is not there is no error."""
        place = self.at(path)
        if os.path.lexists(place):
            place.unlink()
            _settle(place.parent)

    def remove_folder(self, path: str) -> None:
        """An empty one; any other stays."""
        with suppress(OSError):
            self.at(path).rmdir()

    def remove_tree(self, path: str) -> None:
        """A folder with everything in it. Somebody may see it half gone, so give it another name first."""
        place = self.at(path)
        if place.is_symlink() or place.is_file():
            place.unlink()
        elif place.is_dir():
            shutil.rmtree(place)
        _settle(place.parent)

    def settle(self) -> None:
        """Everything that was written is on the disk when this returns."""
        os.sync()

    def _put(self, file: BinaryIO, piece: bytes) -> None:
        file.write(piece)


@contextmanager
def _new_file(place: Path, mode: int) -> Generator[BinaryIO]:
    # No link that somebody has laid there is followed.
    number = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(number, "wb") as file:
        yield file
        file.flush()
        os.fchmod(file.fileno(), mode)


def _settle(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _within(root: Path, path: str) -> Path:
    left = [part for part in path.split("/") if part not in ("", ".")]
    done: list[str] = []
    links = 0
    while left:
        part = left.pop(0)
        if part == "..":
            del done[-1:]
            continue
        place = root.joinpath(*done, part)
        if left and place.is_symlink():
            links += 1
            if links > _MOST_LINKS:
                raise OSError(40, os.strerror(40), str(place))
            target = str(place.readlink())
            if target.startswith("/"):
                done = []
            left = [word for word in target.split("/") if word not in ("", ".")] + left
            continue
        done.append(part)
    return root.joinpath(*done)
