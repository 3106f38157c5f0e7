"""The host's own programs, run as the host would run them: with its root, its libraries and its files.

Our image has none of them, and a container runtime must be asked about its configuration by the very program that will
read it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from tangram.services.container_runtime.host import Host

LIMIT_S: Final = 90.0
_FOLDERS: Final = (
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/opt/bin",
    "/usr/libexec/crio", "/var/lib/rancher/rke2/bin",
)  # fmt: skip
_INSIDE: Final = "import os, sys; os.chroot(sys.argv[1]); os.chdir('/'); os.execv(sys.argv[2], sys.argv[2:])"
"""There is no chroot program in our image, and between fork and exec no thread of ours may run."""
_ENVIRONMENT: Final = {
    "PATH": ":".join(_FOLDERS),
    "LANG": "C",
    # Without this systemctl takes the host's root for that of an installer, says so and does nothing.
    "SYSTEMD_IGNORE_CHROOT": "1",
}
_LONGEST: Final = 400


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    out: str = ""
    said: str = ""
    """The end of what it wrote to standard error, or why it could not be run."""


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """A process of the host."""

    program: str
    arguments: tuple[str, ...] = ()


class Programs(Protocol):
    def find(self, name: str) -> str | None:
        """The host's path of a program."""
        ...

    def running(self, name: str) -> tuple[Running, ...]: ...

    def run(self, *arguments: str) -> Ran:
        """Run a program of the host to its end. Never raises."""
        ...


class HostPrograms:
    def __init__(self, host: Host, limit: float = LIMIT_S) -> None:
        self._host = host
        self._limit = limit

    def find(self, name: str) -> str | None:
        if name.startswith("/"):
            return name if self._is_program(name) else None
        running = (each.program for each in self.running(name))
        usual = (f"{folder}/{name}" for folder in _FOLDERS)
        return next((path for path in (*running, *usual) if self._is_program(path)), None)

    def running(self, name: str) -> tuple[Running, ...]:
        return tuple(_processes(name, self._host.root))

    def run(self, *arguments: str) -> Ran:
        program = self.find(arguments[0])
        if program is None:
            return Ran(status=127, said=f"there is no {arguments[0]} on this host")
        command = [program, *arguments[1:]]
        if self._host.root != Path("/"):
            command = [sys.executable, "-I", "-c", _INSIDE, str(self._host.root), *command]
        try:
            ended = subprocess.run(  # noqa: S603 - no shell
                command,
                capture_output=True,
                timeout=self._limit,
                check=False,
                stdin=subprocess.DEVNULL,
                env=_ENVIRONMENT,
            )
        except subprocess.TimeoutExpired:
            return Ran(status=124, said=f"{arguments[0]} did not end within {self._limit:g} s")
        except OSError as error:
            return Ran(status=126, said=f"{arguments[0]} cannot be run ({error.strerror})")
        return Ran(
            status=ended.returncode,
            out=ended.stdout.decode("utf-8", "replace"),
            said=_end_of(ended.stderr) or _end_of(ended.stdout),
        )

    def _is_program(self, path: str) -> bool:
        try:
            return os.access(self._host.at(path), os.X_OK) and self._host.at(path).is_file()
        except OSError:
            return False


def _end_of(said: bytes) -> str:
    """The last words, in one line: there a program says why it gave up."""
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    text = lines[-1] if lines else ""
    return "".join(sign for sign in text if sign.isprintable())[:_LONGEST]


def _processes(name: str, root: Path) -> Iterator[Running]:
    """Those of this host; a container may run a containerd of its own, which is not the node's."""
    for folder in sorted(Path("/proc").glob("[0-9]*")):
        try:
            program = str((folder / "exe").readlink()).removesuffix(" (deleted)")
            if program.rpartition("/")[2] != name or not _shares_files(folder / "root", root):
                continue
            arguments = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
        yield Running(program=program, arguments=tuple(arguments[1:-1]))


def _shares_files(one: Path, other: Path) -> bool:
    """Whether two roots are of the same host. Machines in one file system still have a `/run` each."""
    return one.samefile(other) and (not (other / "run").exists() or (one / "run").samefile(other / "run"))


def option_of(arguments: Sequence[str], *names: str) -> str | None:
    """The value of an option on a command line, `--name value` or `--name=value`."""
    for number, word in enumerate(arguments):
        if word in names and number + 1 < len(arguments):
            return arguments[number + 1]
        for name in names:
            if word.startswith(f"{name}="):
                return word.removeprefix(f"{name}=")
    return None
