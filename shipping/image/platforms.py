"""The machines the image is made for, and what Debian, Python wheels and ELF files call them.

Two, because MetaX and Moore Threads cards are sold in servers of these two. A third one is a line here, and every
wheel of the lock file must exist for it.
"""

import platform
from dataclasses import dataclass
from typing import Final

from shipping.image.errors import ImageError

OLDEST_GLIBC: Final = 17
NEWEST_GLIBC: Final = 36
"""Debian 12 has glibc 2.36: wheels made for any glibc from 2.17 on run there."""


@dataclass(frozen=True, slots=True)
class Platform:
    name: str
    """As OCI and Debian write it."""
    machine: str
    """As the kernel and wheels write it."""
    triplet: str
    """The folder of shared libraries."""
    loader: str
    """What every program names as its interpreter."""
    elf_machine: int
    """`e_machine` of its programs."""

    def wheel_platforms(self) -> list[str]:
        """Tags of wheels that run here, the most particular first."""
        numbered = [
            f"manylinux_2_{minor}_{self.machine}" for minor in range(NEWEST_GLIBC, OLDEST_GLIBC - 1, -1)
        ]
        return [*numbered, f"manylinux2014_{self.machine}"]


PLATFORMS: Final = (
    Platform("amd64", "x86_64", "x86_64-linux-gnu", "/lib64/ld-linux-x86-64.so.2", 62),
    Platform("arm64", "aarch64", "aarch64-linux-gnu", "/lib/ld-linux-aarch64.so.1", 183),
)


def platform_named(name: str) -> Platform:
    """The platform of this name, as OCI, Debian or the kernel write it."""
    for known in PLATFORMS:
        if name in {known.name, known.machine}:
            return known
    names = " and ".join(known.name for known in PLATFORMS)
    raise ImageError(f"{name!r} is no architecture the image is made for: it is made for {names}.")


def of_this_machine() -> Platform:
    """The platform whose programs run here: its Python compiles the modules of all images."""
    machine = platform.machine()
    for known in PLATFORMS:
        if machine == known.machine:
            return known
    machines = " or ".join(known.machine for known in PLATFORMS)
    raise ImageError(
        f"This machine is of the architecture {machine!r}, which can start none of the images' Pythons to compile "
        f"their modules: build the image on {machines}."
    )
