"""A Debian that has just been installed: what debootstrap makes of the smallest set of packages, without Python.

debootstrap is fetched and run without being installed here, from the mirrors that this machine's apt uses. What it made
is kept in the cache; each test gets a copy, and runs programs in it as a host would: in namespaces of their own, with
the copy as the root and no network.
"""

import asyncio
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from e2e.registry_kit import Said
from shipping.image.apt import Apt
from shipping.image.cachefolder import cache_folder, filled, key_of, only_builder
from shipping.image.debs import read_deb
from shipping.image.platforms import of_this_machine
from shipping.image.progress import Progress
from shipping.image.recipe import SUITE
from shipping.image.sources import KEYRING, configured_sources
from shipping.image.tree import unpack

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ARCHIVE = "root.tar"


@dataclass(frozen=True, slots=True)
class BareRoot:
    """A file system of its own, and whoever works on that machine."""

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
            env={"PATH": _PATH, "HOME": "/root", **environment},
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
    folder.mkdir(parents=True)
    archive = _archive(Progress(sys.stdout))
    subprocess.run(["/bin/tar", "-xpf", archive, "-C", folder], check=True)  # noqa: S603 - tar
    return BareRoot(folder)


def _archive(progress: Progress) -> Path:
    platform = of_this_machine()
    target = cache_folder() / "programs" / f"{platform.name}-minbase-{key_of([SUITE])}"

    def fill(place: Path) -> None:
        (mirror, *_) = (source.uri for source in configured_sources() if source.suite == SUITE)
        with progress.step("Fetching debootstrap"):
            apt = Apt(place / "apt", platform)
            apt.update()
            apt.download(["debootstrap"], place)
            (package,) = place.glob("*.deb")
            unpack(read_deb(package).files, place / "tool")
        with progress.step("Making a small Debian"):
            root = place / "root"
            trust = (f"--keyring={KEYRING}",) if KEYRING.is_file() else ()
            subprocess.run(  # noqa: S603 - debootstrap
                [
                    place / "tool/usr/sbin/debootstrap",
                    *("--variant=minbase", f"--arch={platform.name}", *trust, SUITE, root, mirror),
                ],
                check=True,
                capture_output=True,
                env={"PATH": _PATH, "DEBOOTSTRAP_DIR": str(place / "tool/usr/share/debootstrap")},
            )
        subprocess.run(["/bin/tar", "-cpf", place / _ARCHIVE, "-C", root, "."], check=True)  # noqa: S603 - tar
        for path in list(place.iterdir()):
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != _ARCHIVE:
                path.unlink()

    with only_builder(cache_folder(), progress.say):
        return filled(target, fill) / _ARCHIVE
