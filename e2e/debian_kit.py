"""Programs of Debian's packages for tests, fetched and unpacked beside the system: nothing is installed."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from shipping.image.apt import Apt
from shipping.image.cachefolder import cache_folder, filled, key_of, only_builder
from shipping.image.debs import read_deb
from shipping.image.platforms import of_this_machine
from shipping.image.progress import Progress
from shipping.image.tree import unpack
from testbed.debian import SYSTEM_PATH


def programs_of(name: str, packages: Sequence[str], *, with_needs: bool = False) -> Path:
    """The folder with what is in these Debian packages, fetched once; `with_needs` also with all that they need."""
    platform, progress = of_this_machine(), Progress(sys.stdout)
    target = cache_folder() / "programs" / f"{platform.name}-{name}-{key_of((*packages, str(with_needs)))}"

    def fill(folder: Path) -> None:
        state = cache_folder() / "apt" / f"{platform.name}-{name}"
        try:
            with progress.step(f"Fetching {name}"):
                apt = Apt(state, platform)
                apt.update()
                apt.download(apt.closure(packages) if with_needs else packages, folder)
        finally:
            shutil.rmtree(state, ignore_errors=True)
        for archive in folder.glob("*.deb"):
            unpack(read_deb(archive).files, folder)
            archive.unlink()

    with only_builder(cache_folder(), progress.say):
        return filled(target, fill)


def environment_of(programs: Path) -> dict[str, str]:
    """What lets programs of unpacked packages find each other and their libraries."""
    folders = ("usr/sbin", "usr/bin", "sbin", "bin")
    libraries = [
        path for name in ("lib", "usr/lib") for path in sorted((programs / name).glob("*-linux-gnu"))
    ]
    return {
        "PATH": ":".join((*(str(programs / each) for each in folders), SYSTEM_PATH)),
        "LD_LIBRARY_PATH": ":".join(str(path) for path in libraries),
    }
