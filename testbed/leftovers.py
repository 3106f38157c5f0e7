"""What clusters left behind that could not tidy up after themselves, because their janitor was killed too.

A cluster's folder holds a lock for as long as its janitor lives. Whoever gets that lock knows that nobody is in
charge any more: process 1 died with the janitor and took every process and namespace of the box along. Files and
cgroups remain, and are removed here.
"""

import fcntl
from dataclasses import dataclass
from pathlib import Path

from testbed import janitor
from testbed.places import ClusterFolder


@dataclass(frozen=True, slots=True)
class Found:
    """One cluster on this machine."""

    folder: ClusterFolder
    alive: bool


def clusters(root: Path) -> tuple[Found, ...]:
    """Every cluster under this root. One has its folder before its cgroups, and loses it after them."""
    names = sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    folders = [ClusterFolder(root, name) for name in names]
    return tuple(Found(folder, _is_alive(folder)) for folder in folders)


def _is_alive(folder: ClusterFolder) -> bool:
    try:
        with folder.alive.open("r", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def sweep(root: Path) -> tuple[str, ...]:
    """Clear away every dead cluster, and say which."""
    swept: list[str] = []
    root.mkdir(parents=True, exist_ok=True)
    with ClusterFolder(root, "").sweeping.open("w", encoding="ascii") as sweeping:
        fcntl.flock(sweeping, fcntl.LOCK_EX)
        for found in clusters(root):
            if not found.alive:
                janitor.clear(found.folder)
                swept.append(found.folder.name)
    return tuple(swept)
