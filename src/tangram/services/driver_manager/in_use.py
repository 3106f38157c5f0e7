"""Whether anybody on this machine uses a folder of /opt: mounted into a container, or mapped into a process.

Asked only before something is thrown away. It goes by the folder's name wherever that stands in a mount or a mapping,
which may keep a folder for somebody who uses another one of that name; in doubt it stays.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from tangram.services.driver_manager.problems import Problem

_GONE = (FileNotFoundError, ProcessLookupError)


def user_of(proc: Path, name: str) -> str:
    """Who uses a folder of that name, in words for people; empty for nobody."""
    words = (name, f".{name}.gone")
    seen: set[str] = set()
    try:
        processes = [entry for entry in os.listdir(proc) if entry.isdecimal()]  # noqa: PTH208 - names, not paths
    except OSError as error:
        return _doubt(f"{proc} cannot be read ({error.strerror})")
    own = _own(proc)
    for process in processes:
        if process == own:
            # A library that we asked may stay mapped, and what we throw away we do not need.
            continue
        folder = proc / process
        try:
            if _mounts(folder, seen, words) or _maps(folder, words):
                return f"process {process} ({_called(folder)})"
        except _GONE:
            continue
        except OSError as error:
            if error.errno == errno.EINVAL:
                # It is ending and has no mounts any more; only its parent has not heard of it yet.
                continue
            return _doubt(f"process {process} cannot be looked at ({error.strerror})")
    return ""


def _own(proc: Path) -> str:
    """Our own number there, which is another one in every space of processes."""
    with suppress(OSError):
        return os.readlink(proc / "self")  # noqa: PTH115 - no path, a number
    return ""


def _doubt(why: str) -> str:
    return Problem("in-use-unknown", f"somebody perhaps: {why}").why


def _mounts(folder: Path, seen: set[str], words: tuple[str, ...]) -> bool:
    with suppress(OSError):
        # One look for all processes of a container.
        space = os.readlink(folder / "ns" / "mnt")  # noqa: PTH115 - no path, a name of the kernel's
        if space in seen:
            return False
        seen.add(space)
    for line in (folder / "mountinfo").read_text(errors="replace").splitlines():
        fields = line.split(" ")
        # The fourth is the folder of the file system that is mounted.
        if len(fields) > 3 and any(word in fields[3].split("/") for word in words):
            return True
    return False


def _maps(folder: Path, words: tuple[str, ...]) -> bool:
    text = (folder / "maps").read_text(errors="replace")
    return any(f"/{word}/" in text for word in words)


def _called(folder: Path) -> str:
    with suppress(OSError):
        return (folder / "comm").read_text(errors="replace").strip() or "nameless"
    return "nameless"
