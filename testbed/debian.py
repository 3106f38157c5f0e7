"""What the test bed takes from the distribution: a C compiler and headers to build runc, a few programs to run.

As root on a Debian-like system missing packages are installed, and a sentence says so; for everybody else one sentence
names them all with the command. Nothing is ever upgraded or removed.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from testbed.errors import BedError

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PROGRAM_INTERPRETER = 3  # PT_INTERP: a program that names a loader is not static


_PATIENCE_S = 300
"""With another installation at work, e.g. of a machine that has just been set up."""


@dataclass(frozen=True, slots=True)
class Need:
    """One thing, the test for it and the Debian packages that bring it."""

    what: str
    packages: tuple[str, ...]
    present: Callable[[], bool]


def find_program(name: str) -> Path | None:
    """Where a program of the system is; folders of administrators count even if PATH lacks them."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}")
    return None if found is None else Path(found)


def is_static(program: Path) -> bool:
    """Whether a 64-bit little-endian ELF program runs without the machine's libraries."""
    try:
        with program.open("rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
                return False
            (table,) = struct.unpack_from("<Q", head, 32)
            size, count = struct.unpack_from("<HH", head, 54)
            file.seek(table)
            entries = file.read(size * count)
    except (OSError, ValueError, OverflowError):  # an offset in a broken header can be any number
        return False
    kinds = [struct.unpack_from("<I", entries, at)[0] for at in range(0, len(entries) - 3, max(size, 4))]
    return _PROGRAM_INTERPRETER not in kinds


def _seccomp_headers() -> bool:
    pkg_config = find_program("pkg-config")
    if pkg_config is None:
        return False
    asked = [str(pkg_config), "--exists", "libseccomp"]
    return subprocess.run(asked, check=False, capture_output=True).returncode == 0  # noqa: S603 - constants


def _program(name: str, package: str) -> Need:
    return Need(f"`{name}`", (package,), lambda: find_program(name) is not None)


TO_RUN: Final = (
    _program("nsenter", "util-linux"),
    _program("unshare", "util-linux"),
    _program("mount", "mount"),
    _program("ip", "iproute2"),
    _program("nft", "nftables"),
)
TO_COMPILE_C: Final = (
    Need(
        "a C compiler",
        ("gcc", "libc6-dev"),
        lambda: find_program((os.environ.get("CC") or "gcc").split()[0]) is not None,
    ),
    _program("pkg-config", "pkg-config"),
    Need("the headers of libseccomp", ("libseccomp-dev",), _seccomp_headers),
)


def provide(needs: Iterable[Need], *, say: Callable[[str], None]) -> None:
    """Make sure that all are there. Raises `BedError` with one sentence if that takes somebody else's hands."""
    missing = [need for need in needs if not need.present()]
    if not missing:
        return
    packages = list(dict.fromkeys(package for need in missing for package in need.packages))
    wanted = _listed([need.what for need in missing])
    command = f"apt-get install {' '.join(packages)}"
    apt = find_program("apt-get")
    if apt is None:
        them = "it" if len(missing) == 1 else "them"
        raise BedError(
            f"The test bed needs {wanted}: "
            f"install {them} with your system's packages (on Debian, `{command}`)."
        )
    if os.geteuid() != 0:
        raise BedError(f"The test bed needs {wanted}: run `{command}` as root, then this again.")
    say(f"The test bed needs {wanted}: installing {_listed(packages)} with apt-get.")
    _install(apt, packages, command)
    still = [need.what for need in missing if not need.present()]
    if still:
        raise BedError(
            f"`{command}` ran, but {_listed(still)} cannot be found: install by hand, then run this again."
        )


def _install(apt: Path, packages: Sequence[str], command: str) -> None:
    """First with the lists of packages as they are; fetching them anew takes long and is often needless."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    waiting = f"--option=DPkg::Lock::Timeout={_PATIENCE_S}"
    install = [str(apt), "install", waiting, "--yes", "--no-install-recommends", *packages]
    if _quiet(install, environment).returncode == 0:
        return
    _quiet([str(apt), "update"], environment)
    answer = _quiet(install, environment)
    if answer.returncode != 0:
        last = "\n".join(answer.stdout.splitlines()[-8:])
        raise BedError(f"`{command}` failed, so install these packages by hand; it said:\n{last}")


def _quiet(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - apt-get with package names from the tables above
        command,
        check=False,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
