"""The few system calls Python 3.11 has no function for: namespaces, mounts, and dying with one's parent.

Everything here is a thin wall: the arguments are the kernel's, an error is an OSError that names the call. `unshare`
and `nsenter` (util-linux) would do for most of it, but a box is built step by step inside one process, and a
program between every two steps would cost a start each.
"""

import ctypes
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

NEW_MOUNT = 0x00020000
NEW_CGROUP = 0x02000000
NEW_UTS = 0x04000000
NEW_IPC = 0x08000000
NEW_PID = 0x20000000
NEW_NET = 0x40000000

READ_ONLY = 1
NO_SUID = 2
NO_DEV = 4
NO_EXEC = 8
REMOUNT = 32
BIND = 4096
MOVE = 8192
RECURSIVE = 16384
PRIVATE = 1 << 18
SHARED = 1 << 20

_DETACH = 2
_SET_DEATH_SIGNAL = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` for new ones of the same kind."""
    _checked(_libc.unshare(ctypes.c_int(flags)), f"unshare({flags:#x})")


def enter(namespace: int, kind: int) -> None:
    """Join the namespace behind an open file; `kind` is checked by the kernel against what the file is."""
    _checked(_libc.setns(ctypes.c_int(namespace), ctypes.c_int(kind)), f"setns({kind:#x})")


def mount(source: str | Path, target: str | Path, kind: str = "", flags: int = 0, data: str = "") -> None:
    """The system call, with names for its arguments."""
    result = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        data.encode() or None,
    )
    _checked(result, f"mount {source} on {target}")


def unmount(target: str | Path) -> None:
    """Take a mount away now, even while somebody still has a file of it open."""
    _checked(_libc.umount2(os.fsencode(target), ctypes.c_int(_DETACH)), f"umount {target}")


def die_with_parent(signal_number: int) -> None:
    """Ask for a signal when the thread that forked us ends. Cleared by the kernel when a set-user-id program starts."""
    _checked(
        _libc.prctl(_SET_DEATH_SIGNAL, ctypes.c_ulong(signal_number), 0, 0, 0), "prctl(PR_SET_PDEATHSIG)"
    )


@contextmanager
def inside_network(namespace: Path) -> Generator[None]:
    """Run a short, synchronous block in another network namespace: sockets made there belong to it for life.

    Only this thread moves, and it always comes back; an `await` inside the block would take other tasks along.
    """
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        there = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            enter(there, NEW_NET)
        finally:
            os.close(there)
        try:
            yield
        finally:
            enter(home, NEW_NET)
    finally:
        os.close(home)
