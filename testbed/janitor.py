"""The process outside a box that outlives the test, and leaves nothing when the box ends.

`python -m testbed.janitor ROOT NAME WATCHERS` makes the cluster's folder and cgroups, starts process 1 of the box, says
`ready`, and waits; where the machine has too few inotify instances left, it says `full` and why, and ends. The box ends
when its owner does: the janitor's standard input is a pipe that the owner holds open, so a test killed with SIGKILL
ends its box within a moment. `testbed up` passes `--stay` and no pipe; SIGTERM ends it. Should the janitor itself be
killed, process 1 dies with it, and `testbed.leftovers` removes what is left on disk.
"""

import fcntl
import json
import os
import select
import shutil
import signal
import sys
import traceback
from pathlib import Path
from typing import TextIO

from testbed import cgroups, firstprocess, linux, watchers
from testbed.places import ClusterFolder

READY = "ready"
FULL = "full"


def main(arguments: list[str]) -> int:
    """Run one box from its first file to its last."""
    root, name, watchers_wanted, *flags = arguments
    folder = ClusterFolder(Path(root), name)
    lock = claim(folder, int(watchers_wanted))
    if isinstance(lock, str):
        sys.stdout.write(f"{FULL} {lock}\n")
        return 1
    ended, end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(end)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda _number, _frame: None)
    # The lock lives as long as this name: it is the proof that somebody looks after the cluster.
    with lock:
        _keep(folder, ended, stay="--stay" in flags)
    return 0


def _keep(folder: ClusterFolder, ended: int, *, stay: bool) -> None:
    try:
        first = _start(folder)
        try:
            if _comes_up(folder, first):
                facts = {"janitor": os.getpid(), "init": first, "stays": stay}
                folder.facts.write_text(json.dumps(facts), encoding="ascii")
                sys.stdout.write(f"{READY} {first}\n")
                sys.stdout.flush()
                select.select([ended] if stay else [ended, sys.stdin], [], [])
        finally:
            _end(first)
    finally:
        clear(folder)


def claim(folder: ClusterFolder, wanted: int) -> TextIO | str:
    """Make the cluster's folder with its lock held, unseen by anyone who is looking for dead clusters meanwhile.

    The lock, or the reason why there is no room for it now.
    """
    folder.root.mkdir(parents=True, exist_ok=True)
    with folder.sweeping.open("w", encoding="ascii") as sweeping:
        fcntl.flock(sweeping, fcntl.LOCK_EX)
        lacking = _lacking(folder, wanted)
        if lacking:
            return lacking
        folder.path.mkdir()
        folder.reserved.write_text(str(wanted), encoding="ascii")
        lock = folder.alive.open("w", encoding="ascii")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def _lacking(folder: ClusterFolder, wanted: int) -> str:
    if not wanted:
        return ""
    reserved = sum(int(file.read_text(encoding="ascii") or 0) for file in folder.root.glob("*/reserved"))
    inside = {pid for branch in cgroups.branches() if branch.is_dir() for pid in cgroups.members(branch)}
    limit = int(watchers.LIMIT.read_text(encoding="ascii"))
    return watchers.shortage(wanted, reserved, watchers.held_outside(inside), limit)


def _start(folder: ClusterFolder) -> int:
    for branch in cgroups.branches(folder.name):
        cgroups.make(branch)
        # Not the branch itself: on v2 a cgroup that hands its controllers on may hold no process, and one is coming.
        cgroups.delegate(branch.parent)
    linux.unshare(linux.NEW_PID)
    first = os.fork()
    if first == 0:
        try:
            signal.set_wakeup_fd(-1)
            for branch in cgroups.branches(folder.name):
                cgroups.join(branch)
            firstprocess.live(folder)
        except BaseException:  # noqa: BLE001 - in the forked child: say why on standard error, then be gone
            traceback.print_exc()
        finally:
            os._exit(1)
    return first


def _comes_up(folder: ClusterFolder, first: int) -> bool:
    """Wait until process 1 listens, or has ended."""
    while not folder.socket.exists():
        if os.waitpid(first, os.WNOHANG) != (0, 0):
            return False
        select.select([], [], [], 0.005)
    return True


def _end(first: int) -> None:
    """Kill process 1. The kernel lets it go only after everything in its namespace has gone."""
    try:
        os.kill(first, signal.SIGKILL)
        os.waitpid(first, 0)
    except (ProcessLookupError, ChildProcessError):
        return


def clear(folder: ClusterFolder) -> None:
    """Remove the cgroups and the files of a box whose processes have ended."""
    for branch in cgroups.branches(folder.name):
        cgroups.remove(branch)
        cgroups.remove_if_empty(branch.parent)
    if folder.path.exists():
        shutil.rmtree(folder.path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
