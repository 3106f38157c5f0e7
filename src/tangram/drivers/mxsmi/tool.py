"""Running the tool: found where the vendor puts it, given a time limit, never twice while one run hangs.

A process that waits for a dead card inside the kernel cannot be killed. It is left behind, and until it ends every
further run is refused with the name of the command that hangs: one lost process, not one per question.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsmi.text import LONGEST

OF_HOST: Final = "/host"
"""Where a container has what it may see of its host under other paths than the host."""
FOLDERS: Final = (
    "/opt/mxdriver/bin",
    "/usr/local/metax/mxdriver/bin",
    f"{OF_HOST}/usr/local/metax/mxdriver/bin",
    "/opt/maca/bin",
)
NAMES: Final = ("mx-smi", "ht-smi")
"""The second is the same tool under another maker's brand."""
LIMIT: Final = 10.0
GRACE: Final = 0.5
"""Seconds a killed process gets to go."""


class Output(msgspec.Struct, frozen=True):
    text: str
    status: int


class Tool(Protocol):
    def run(self, arguments: Sequence[str]) -> Output:
        """What the tool prints, whatever its exit status. Raises `DriverError`."""
        ...


def find_binary(named: str | None) -> str:
    """Where the tool is: the path that was named, PATH, then the vendor's own folders."""
    if named is not None:
        if shutil.which(named) is None:
            raise DriverError(
                Kind.NO_LIBRARY,
                f"{named} is no program that can be run; name the mx-smi binary",
                call="mx-smi",
            )
        return named
    for name in NAMES:
        found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(FOLDERS))
        if found is not None:
            return found
    raise DriverError(
        Kind.NO_LIBRARY,
        f"mx-smi is neither on PATH nor in {', '.join(FOLDERS)}; install the driver",
        call="mx-smi",
    )


def _environment(binary: str, ours: Mapping[str, str]) -> dict[str, str]:
    """What the tool is run with.

    A path of libraries that is built into it is one of the host. Where the tool is seen elsewhere than there, the
    driver's folder of libraries beside it goes first on the loader's path; the C library stays the image's.
    """
    environment = {**ours, "LC_ALL": "C"}
    if binary.startswith(f"{OF_HOST}/"):
        beside = str(Path(binary).parent.parent / "lib")
        environment["LD_LIBRARY_PATH"] = ":".join(filter(None, (beside, ours.get("LD_LIBRARY_PATH"))))
    return environment


class MxSmi:
    """The tool on this machine."""

    def __init__(self, binary: str, limit: float = LIMIT) -> None:
        self._binary = binary
        self._limit = limit
        self._lock = threading.Lock()
        self._hanging: tuple[subprocess.Popen[bytes], str] | None = None

    def run(self, arguments: Sequence[str]) -> Output:
        command = " ".join(("mx-smi", *arguments))
        with self._lock:
            self._refuse_while_one_hangs()
            # A file and not a pipe: nothing has to be read while waiting, and a process left behind holds up nobody.
            with tempfile.TemporaryFile() as printed:
                process = self._start(arguments, printed.fileno(), command)
                try:
                    status = process.wait(self._limit)
                except subprocess.TimeoutExpired:
                    self._give_up(process, command)
                    raise self._stuck(command) from None
                printed.seek(0)
                text = printed.read(LONGEST + 1).decode(errors="replace")
        return Output(text, status)

    def _start(self, arguments: Sequence[str], output: int, command: str) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(  # noqa: S603 - the binary was named by whoever runs us, the arguments are ours
                [self._binary, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=_environment(self._binary, os.environ),
                start_new_session=True,
            )
        except OSError as error:
            raise DriverError(
                Kind.NO_LIBRARY, f"{self._binary} cannot be run ({error.strerror})", call=command
            ) from error

    def _give_up(self, process: subprocess.Popen[bytes], command: str) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._hanging = (process, command)

    def _refuse_while_one_hangs(self) -> None:
        if self._hanging is not None:
            process, command = self._hanging
            if process.poll() is None:
                raise self._stuck(command)
            self._hanging = None

    def _stuck(self, command: str) -> DriverError:
        return DriverError(
            Kind.STUCK,
            f"{command} has not ended within {self._limit:g} s: the kernel driver hangs, or the tool does",
            call=command,
        )
