"""A Debian of the smallest set of packages, made by debootstrap and kept in the cache.

debootstrap is fetched and run without being installed, from the mirrors that this machine's apt uses. A root without
anything else is one archive; a root on which a line of commands was run is another, named after that line: typing the
same line on the same Debian a second time would prove nothing new and take a minute.
"""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

from shipping.image.apt import Apt
from shipping.image.cachefolder import cache_folder, filled, key_of, only_builder
from shipping.image.debs import read_deb
from shipping.image.platforms import of_this_machine
from shipping.image.progress import Progress
from shipping.image.recipe import SUITE
from shipping.image.sources import KEYRING, configured_sources
from shipping.image.tree import unpack
from testbed.debian import SYSTEM_PATH
from testbed.errors import BedError

_ARCHIVE: Final = "root.tar"


def bare_debian(progress: Progress) -> Path:
    """The archive of a Debian that debootstrap made."""
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
            _must(
                [
                    *(place / "tool/usr/sbin/debootstrap", "--variant=minbase", f"--arch={platform.name}"),
                    *(*trust, SUITE, root, mirror),
                ],
                {"DEBOOTSTRAP_DIR": str(place / "tool/usr/share/debootstrap")},
            )
        _packed(root, place)

    with only_builder(cache_folder(), progress.say):
        return filled(target, fill) / _ARCHIVE


def changed_debian(base: Path, line: str, change: Callable[[Path], None]) -> Path:
    """The archive of that Debian after `change`, made once for each base and line. For one process at a time."""
    target = cache_folder() / "programs" / f"changed-{key_of([base.parent.name, line])}"

    def fill(place: Path) -> None:
        root = place / "root"
        unpacked(base, root)
        change(root)
        _packed(root, place)

    return filled(target, fill) / _ARCHIVE


def unpacked(archive: Path, folder: Path) -> None:
    """Unpack a root into a new folder, owners and rights as they were."""
    folder.mkdir(parents=True)
    _must(["/bin/tar", "-xpf", archive, "-C", folder], {})


def _packed(root: Path, place: Path) -> None:
    """Leave nothing in `place` but the archive of the root."""
    _must(["/bin/tar", "--one-file-system", "-cpf", place / _ARCHIVE, "-C", root, "."], {})
    for path in list(place.iterdir()):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != _ARCHIVE:
            path.unlink()


def _must(command: list[str | Path], environment: dict[str, str]) -> None:
    answer = subprocess.run(  # noqa: S603 - debootstrap and tar
        command,
        check=False,
        env={"PATH": SYSTEM_PATH, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if answer.returncode != 0:
        last = "\n".join(answer.stdout.splitlines()[-8:])
        raise BedError(
            f"{Path(command[0]).name} ended with status {answer.returncode}; its last lines:\n{last}"
        )
