"""Which files of the image the tool needs to run outside of it, and where in the archive they are.

The image is one for all commands and most of its weight is for placing pods. The tool needs Python, an HTTP client and
our own modules. What it does not need is named here, so a package that is added later is unpacked rather than missed;
a name that is no longer in the image ends the build, so that the list stays true.
"""

import io
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from shipping.bundle.errors import BundleError
from shipping.image.platforms import Platform
from shipping.image.recipe import MODULES, PYTHON
from tangram.services.images.archive import Archive, Descriptor

NOT_NEEDED: Final = (
    "numpy",
    "numpy.libs",
    "grpc",
    "google",
    "cryptography",
    "cffi",
    "pycparser",
    "prometheus_client",
)
"""Top-level names of Python packages that only daemons import. A test imports the tool without them."""
_BLOCK: Final = 4096
"""What the smallest file takes on a disk, and its name in a folder once more."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is unpacked of one layer: the layer's place in the archive, and the paths."""

    offset: int
    size: int
    paths: tuple[str, ...]
    unpacked: int


@dataclass(frozen=True, slots=True)
class Running:
    """How the tool is started on one platform, from the folder it was unpacked into."""

    platform: Platform
    parts: tuple[Part, ...]
    loader: str
    libraries: str

    @property
    def unpacked(self) -> int:
        return sum(part.unpacked for part in self.parts)


def running_on(
    platform: Platform,
    archive: Archive,
    *,
    not_needed: tuple[str, ...] = NOT_NEEDED,
    also: tuple[str, ...] = ("etc/ssl",),
) -> Running:
    """How a tool runs on this platform out of the archive of the image.

    `not_needed` are packages it does without, `also` is what it takes from the system beside Python.
    """
    (image,) = archive.images
    found = [one for one in image.platforms if one.platform.architecture == platform.name]
    if len(found) != 1 or len(found[0].layers) != 3:
        raise BundleError(
            f"{archive.path} does not hold the three layers of an image for {platform.name}: make it again."
        )
    libraries = f"usr/lib/{platform.triplet}"
    system, packages, own = found[0].layers
    parts = (
        _part(
            archive,
            system,
            lambda _: [f"usr/bin/python{PYTHON}", f"usr/lib/python{PYTHON}", libraries, *also],
        ),
        _part(archive, packages, lambda names: _needed_packages(names, not_needed)),
        _part(archive, own, _programs_and_modules),
    )
    return Running(platform, parts, f"{libraries}/{platform.loader.rpartition('/')[2]}", libraries)


def _part(archive: Archive, layer: Descriptor, choose: Callable[[Iterable[str]], list[str]]) -> Part:
    with tarfile.open(fileobj=io.BytesIO(archive.read(layer)), mode="r:gz") as tar:
        sizes = {member.name: member.size for member in tar}
    paths = choose(sizes)
    # busybox unpacks a folder only if the archive names the folder itself.
    if gone := [path for path in paths if path not in sizes]:
        raise BundleError(f"{', '.join(gone)} is not in the image, and the tool cannot run without it.")
    unpacked = sum(
        -(-size // _BLOCK) * _BLOCK + _BLOCK for name, size in sizes.items() if is_below(name, paths)
    )
    return Part(archive.place(layer), layer.size, tuple(paths), unpacked)


def is_below(name: str, paths: Iterable[str]) -> bool:
    """Whether this name is one of the paths, or of something in one of them."""
    return any(name == path or name.startswith(f"{path}/") for path in paths)


def _programs_and_modules(names: Iterable[str]) -> list[str]:
    """What of our own layer is no documentation: the uppermost entries."""
    found: list[str] = []
    for name in sorted(names):
        if name.startswith("usr/local/") and not is_below(name, found):
            found.append(name)
    return found


def _needed_packages(names: Iterable[str], not_needed: tuple[str, ...]) -> list[str]:
    prefix = f"{MODULES}/"
    found = {name.removeprefix(prefix).partition("/")[0] for name in names if name.startswith(prefix)}
    if gone := sorted(set(not_needed) - found):
        raise BundleError(
            f"{', '.join(gone)} is not in the image: take it out of NOT_NEEDED in shipping/bundle/unpacking.py."
        )
    return [f"{prefix}{name}" for name in sorted(found - set(not_needed))]
