"""The host's files, seen from a container that has them below some folder.

Links of the host are followed as the host would follow them: one that points to /opt/x means that path of the host and
not of our container. A file gets its new content whole or not at all, with the mode and owner that it had, and is on
the disk before anything that depends on it is done.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

UNFINISHED: Final = ".tangram-unfinished"
CHECKED: Final = ".tangram-check"
"""How a file ends that only an engine's program is shown; no engine reads such a one by itself."""
_MOST_LINKS: Final = 40


class Host:
    def __init__(self, root: Path) -> None:
        self.root = root

    def at(self, path: str) -> Path:
        """Where a path of the host is for us, all links followed. Raises `OSError` for links without end."""
        todo, done, links = _parts(path), Path(), 0
        while todo:
            part = todo.pop(0)
            if part == "..":
                done = done.parent
                continue
            step = self.root / done / part
            if step.is_symlink():
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(40, os.strerror(40), path)
                target = str(step.readlink())
                done = Path() if target.startswith("/") else done
                todo = _parts(target) + todo
            else:
                done /= part
        return self.root / done

    def read(self, path: str) -> bytes | None:
        """The content; None where there is no such file. Raises `OSError`."""
        try:
            return self.at(path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def stamp(self, path: str) -> tuple[int, int, int] | None:
        """Another one whenever the file is another."""
        try:
            found = self.at(path).stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def exists(self, path: str) -> bool:
        return self.at(path).exists()

    def write(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Give a file this content. Raises `OSError`, and then the file is as it was."""
        place = self.at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        unfinished = place.with_name(f".{place.name}{UNFINISHED}")
        try:
            with unfinished.open("wb") as file:
                file.write(content)
                file.flush()
                _take_after(file.fileno(), place, mode)
                os.fsync(file.fileno())
            unfinished.replace(place)
        except OSError:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise
        _sync_folder(place.parent)

    def first_missing(self, path: str) -> str:
        """The topmost folder that would be made for a file; empty where all are there."""
        missing = [str(each) for each in Path(path).parents if not self.exists(str(each))]
        return missing[-1] if missing else ""

    def remove(self, path: str) -> None:
        """Remove a file, if it is there. Raises `OSError`."""
        place = self.at(path)
        with suppress(FileNotFoundError, NotADirectoryError):
            place.unlink()
            _sync_folder(place.parent)

    def remove_empty(self, folder: str, upto: str) -> None:
        """Remove a folder and those above it as far as they are empty."""
        at = Path(folder)
        while at.is_relative_to(upto):
            try:
                self.at(str(at)).rmdir()
            except FileNotFoundError:
                pass
            except OSError:
                return
            at = at.parent

    def files(self, pattern: str) -> list[str]:
        """Paths of the host that fit a pattern whose last part alone may have wildcards, in order."""
        folder, _, last = pattern.rpartition("/")
        try:
            found = sorted(each.name for each in self.at(folder or "/").iterdir())
        except (OSError, ValueError):
            # The second: patterns are written by others, and no path has a NUL.
            return []
        return [f"{folder}/{name}" for name in found if fnmatch.fnmatchcase(name, last)]


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _take_after(number: int, place: Path, mode: int) -> None:
    try:
        before = place.stat()
    except FileNotFoundError:
        os.fchmod(number, mode)
        return
    os.fchmod(number, stat.S_IMODE(before.st_mode))
    if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
        os.fchown(number, before.st_uid, before.st_gid)


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
