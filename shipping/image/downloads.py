"""Everything that comes over the network, each set in the cache under the name of what was asked for.

A set of wheels never changes, its hashes are in the lock file. A set of Debian packages is what the mirrors had when
it was fetched: builds use it until somebody asks for a fresh look, so that two builds of one day are the same image.
"""

import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from shipping.image.apt import Apt
from shipping.image.cachefolder import cache_folder, filled, key_of, only_builder
from shipping.image.debs import read_deb
from shipping.image.errors import ImageError
from shipping.image.lockfile import read_lock, requirement_lines
from shipping.image.platforms import Platform
from shipping.image.progress import Progress
from shipping.image.recipe import LEFT_OUT, PACKAGES, SUITES
from shipping.image.tree import unpack
from shipping.image.wheels import download_wheels

_NEWEST = "newest"
_DAY_S = 24 * 3600
_OLD_DAYS = 7
"""Debian publishes security updates several times a week."""


def debian_packages(platform: Platform, progress: Progress, *, refresh: bool) -> Path:
    """The folder of Debian packages for this platform, named after what is in it."""
    asked = key_of([platform.name, *SUITES, *PACKAGES, "without", *LEFT_OUT])
    chosen = cache_folder() / "debian" / f"{platform.name}-{asked}"
    pointer = chosen / _NEWEST
    if pointer.is_file() and not refresh:
        present = chosen / pointer.read_text("utf-8")
        if present.is_dir():
            days = int((time.time() - pointer.stat().st_mtime) / _DAY_S)
            if days >= _OLD_DAYS:
                progress.say(
                    f"The Debian packages for {platform.name} are those of {days} days ago: `make image REFRESH=1` "
                    f"looks for newer ones."
                )
            return present
    with _apt(platform) as apt:
        with progress.step(f"Looking for Debian packages for {platform.name}"):
            without = apt.update()
            pins = [pin for pin in apt.closure(PACKAGES) if pin.partition("=")[0] not in LEFT_OUT]
        if without:
            progress.say(
                f"apt's sources on this machine do not name {', '.join(without)}: the image for {platform.name} is "
                f"made without what Debian mended since its last release."
            )
        folder = chosen / f"{platform.name}-{key_of(pins)}"

        def fill(place: Path) -> None:
            with progress.step(f"Fetching {len(pins)} Debian packages for {platform.name}"):
                apt.download(pins, place)

        filled(folder, fill)
    written = chosen / f"{_NEWEST}.new"
    written.write_text(folder.name, "utf-8")
    written.rename(pointer)
    for other in chosen.iterdir():
        if other not in {folder, pointer}:
            shutil.rmtree(other)
    return folder


def one_program(package: str, file: str, platform: Platform, progress: Progress) -> Path:
    """A program that a check needs and the image does not hold, from a Debian package for this platform."""
    target = cache_folder() / "programs" / f"{platform.name}-{package}"

    def fill(folder: Path) -> None:
        with progress.step(f"Fetching {package}"), _apt(platform) as apt:
            apt.update()
            apt.download([package], folder)
        (archive,) = folder.glob("*.deb")
        files = read_deb(archive).files
        if file not in files:
            raise ImageError(f"The Debian package {package} has no {file}: it was renamed or moved there.")
        unpack({file: files[file]}, folder)
        archive.unlink()

    with only_builder(cache_folder(), progress.say):
        return filled(target, fill) / file


def locked_wheels(lock: str, platform: Platform, progress: Progress) -> Path:
    """The folder of wheels that the lock file names for this platform."""
    pins = read_lock(lock, platform)
    folder = cache_folder() / "wheels" / f"{platform.name}-{key_of([requirement_lines(pins)])}"

    def fill(place: Path) -> None:
        with progress.step(f"Fetching {len(pins)} wheels for {platform.name}"):
            download_wheels(pins, platform, place)

    return filled(folder, fill)


@contextmanager
def _apt(platform: Platform) -> Generator[Apt]:
    """An apt with a state that is gone afterwards: it names mirrors, and lists of another day must not answer."""
    folder = cache_folder() / "apt" / platform.name
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield Apt(folder, platform)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
