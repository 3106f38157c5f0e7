"""A cluster's own branch of every cgroup hierarchy: made before its first process, removed after its last.

Machines differ: one hierarchy (v2), one for each controller (v1), or both at once. The branch has the same name in
all of them, so the rest of the test bed never asks which kind it is on.
"""

import errno
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import BedError

BRANCH = "tangram-testbed"
MACHINE = Path("/sys/fs/cgroup")
NEEDED = frozenset({"cpu", "cpuset", "memory", "pids"})


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One mounted cgroup tree and the words to mount it again elsewhere."""

    mounted_at: Path
    kind: str
    options: str


def hierarchies(mountinfo: str | None = None) -> tuple[Hierarchy, ...]:
    """Every cgroup hierarchy this machine has mounted, in mount order."""
    text = mountinfo if mountinfo is not None else Path("/proc/self/mountinfo").read_text(encoding="ascii")
    found: list[Hierarchy] = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind not in {"cgroup", "cgroup2"}:
            continue
        wanted = [
            word
            for word in options.split(",")
            if word not in {"rw", "ro"} and not word.startswith("release_agent")
        ]
        if kind == "cgroup" and any(word.startswith("name=") for word in wanted):
            wanted.insert(0, "none")
        data = "" if kind == "cgroup2" else ",".join(wanted)
        found.append(Hierarchy(Path(before.split(" ")[4]), kind, data))
    return tuple(found)


def branches(*names: str) -> tuple[Path, ...]:
    """The folder of a branch in every hierarchy, as seen from the machine."""
    return tuple(hierarchy.mounted_at.joinpath(BRANCH, *names) for hierarchy in hierarchies())


def make(folder: Path) -> None:
    """One cgroup. A v1 cpuset is unusable until it is given processors and memory, so it gets its parent's."""
    while not folder.exists():
        try:
            folder.mkdir(parents=True)
        except (FileExistsError, FileNotFoundError):
            continue  # another cluster came first, or the last one took the common parent away meanwhile
    for name in ("cpuset.cpus", "cpuset.mems"):
        _inherit(folder, name)


def refuse_unusable() -> None:
    """The kubelet needs these controllers. Handing them down from the root is the machine's decision, not ours."""
    trees = hierarchies()
    if len(trees) == 1 and trees[0].kind == "cgroup2":
        root = trees[0].mounted_at
        lacking = NEEDED - set((root / "cgroup.subtree_control").read_text(encoding="ascii").split())
        if lacking:
            words = " ".join(f"+{name}" for name in sorted(lacking))
            raise BedError(
                f"this machine hands the cgroup controllers {', '.join(sorted(lacking))} to nobody: "
                f"run 'echo {words} > {root}/cgroup.subtree_control' once"
            )


def delegate(folder: Path) -> None:
    """On v2, hand every controller on to the cgroups below; a v1 hierarchy has nothing to hand on."""
    offered = folder / "cgroup.controllers"
    if offered.exists():
        words = [f"+{name}" for name in offered.read_text(encoding="ascii").split()]
        if words:
            (folder / "cgroup.subtree_control").write_text(" ".join(words), encoding="ascii")


def _inherit(folder: Path, name: str) -> None:
    file, above = folder / name, folder.parent / name
    if not file.exists() or not above.exists() or file.read_text(encoding="ascii").strip():
        return
    if not above.read_text(encoding="ascii").strip():
        _inherit(folder.parent, name)
    value = above.read_text(encoding="ascii").strip()
    if value:
        file.write_text(value, encoding="ascii")


def join(folder: Path) -> None:
    """Put the calling process there."""
    (folder / "cgroup.procs").write_text("0", encoding="ascii")


def members(folder: Path) -> tuple[int, ...]:
    """The processes of a branch and everything below it, in the pid numbers of the reader."""
    found: set[int] = set()
    # os.walk, not rglob: a cgroup may vanish while one looks.
    for path, _, _ in os.walk(folder):
        try:
            found.update(int(line) for line in Path(path, "cgroup.procs").read_text(encoding="ascii").split())
        except OSError as error:
            if error.errno not in {errno.ENOENT, errno.ENODEV}:
                raise
    return tuple(sorted(found - {0}))


def remove(folder: Path, *, within: float = 20.0) -> None:
    """Remove a branch, deepest first. Whatever still runs there is ours, and is killed.

    The kernel keeps a cgroup busy for a moment after its last process has gone, hence the retries.
    """
    deadline = time.monotonic() + within
    while folder.exists():
        for pid in members(folder):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        refused = _remove_once(folder)
        if refused and time.monotonic() > deadline:
            raise OSError(errno.EBUSY, f"the cgroup {refused} stays busy")
        if refused:
            time.sleep(0.02)


def remove_if_empty(folder: Path) -> None:
    """Remove a cgroup that other clusters may still be using; if they are, leave it to the last of them."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in {errno.EBUSY, errno.ENOTEMPTY}:
            raise


def _remove_once(folder: Path) -> Path | None:
    for path in [Path(name) for name, _, _ in os.walk(folder, topdown=False)]:
        try:
            path.rmdir()
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            return path
    return None


def memory(name: str) -> int:
    """Bytes a cluster's processes hold for themselves: anonymous and shared memory, without the page cache."""
    for branch in branches(name):
        file = branch / "memory.stat"
        if file.exists():
            figures = dict(line.split() for line in file.read_text(encoding="ascii").splitlines())
            # v1 has totals with the cgroups below; v2 always counts them.
            return sum(
                int(figures.get(f"total_{v1}", figures.get(v2, 0)))
                for v1, v2 in (("rss", "anon"), ("shmem", "shmem"))
            )
    return 0
