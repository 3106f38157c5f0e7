"""How many clusters fit beside each other: the kernel gives each user a number of inotify instances, 128 as a rule.

The kubelet alone holds seven, and one that gets none ends at once with "too many open files". The number is the
machine's to set, so clusters wait for each other instead. Each reserves what it will need before it starts.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
# Counted on running clusters: the API server 6, the controllers 1; a kubelet 7 and its containerd 2. Pods need none.
CONTROL_PLANE = 8
NODE = 10


def needed(nodes: int) -> int:
    """What a cluster with so many real nodes holds, with one to spare for each part."""
    return CONTROL_PLANE + NODE * nodes


def held_outside(inside: Iterable[int]) -> int:
    """What this user's processes hold that belong to no cluster; `inside` are the processes that do."""
    ours, user = set(inside), os.geteuid()
    others = [one for one in Path("/proc").iterdir() if one.name.isdigit() and int(one.name) not in ours]
    return sum(_held_by(one) for one in others if _user_of(one) == user)


def _user_of(process: Path) -> int | None:
    try:
        return process.stat().st_uid
    except OSError:
        return None  # it has ended meanwhile


def _held_by(process: Path) -> int:
    found = 0
    with contextlib.suppress(OSError):
        for file in os.listdir(process / "fd"):  # noqa: PTH208 - names only: this is done for every process
            # A file closed since it was listed must not hide the others.
            with contextlib.suppress(OSError):
                found += str((process / "fd" / file).readlink()) == "anon_inode:inotify"
    return found


def shortage(wanted: int, reserved: int, outside: int, limit: int) -> str:
    """Why a cluster has to wait, or nothing if it need not."""
    if wanted + reserved + outside <= limit:
        return ""
    return (
        f"this cluster needs {wanted} inotify instances; clusters that run hold {reserved}, other programs {outside}, "
        f"and {LIMIT} allows {limit}: run fewer clusters at once, or raise that number"
    )
