"""A Debian that has just been installed: what debootstrap makes of the smallest set of packages, without Python.

What debootstrap made is kept in the cache; each test gets a copy, and runs programs in it as a host would: in
namespaces of their own, with the copy as the root and no network.
"""

import asyncio
import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from e2e.registry_kit import Said
from shipping.image.progress import Progress
from testbed.debian import SYSTEM_PATH
from testbed.fresh.root import bare_debian, unpacked


@dataclass(frozen=True, slots=True)
class BareRoot:
    """A file system of its own, and the person who works on that machine."""

    folder: Path

    async def runs(self, command: str, *, user: int = 0, first: str = "", **environment: str) -> Said:
        """Run a shell command there. `first` is done before, as root and with the right to mount."""
        process = await self.begins(command, user=user, first=first, **environment)
        output, errors = await process.communicate()
        assert process.returncode is not None
        return Said(process.returncode, output.decode(), errors.decode())

    async def begins(
        self, command: str, *, user: int = 0, first: str = "", **environment: str
    ) -> asyncio.subprocess.Process:
        within = f'cd / && {first or ":"} && exec chroot --userspec={user}:{user} . /bin/sh -c "$1"'
        return await asyncio.create_subprocess_exec(
            "/usr/bin/unshare",
            *("--mount", "--pid", "--fork", "--kill-child", "--uts", "--ipc", "--net"),
            f"--mount-proc={self.folder / 'proc'}",
            *("/bin/sh", "-euc", within.replace("cd /", f"cd '{self.folder}'"), "sh", command),
            env={"PATH": SYSTEM_PATH, "HOME": "/root", **environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    def listing(self) -> dict[str, tuple[int, int, str]]:
        """Everything there is: kind and mode, size of files, and where links lead."""
        found: dict[str, tuple[int, int, str]] = {}
        for place, folders, files in os.walk(self.folder):
            for name in (*folders, *files):
                path = Path(place) / name
                kind = path.lstat()
                size = kind.st_size if stat.S_ISREG(kind.st_mode) else 0
                leads = str(path.readlink()) if stat.S_ISLNK(kind.st_mode) else ""
                found[str(path.relative_to(self.folder))] = (kind.st_mode, size, leads)
        return found


def bare_root(folder: Path) -> BareRoot:
    """A fresh one in this folder."""
    unpacked(bare_debian(Progress(sys.stdout)), folder)
    return BareRoot(folder)
