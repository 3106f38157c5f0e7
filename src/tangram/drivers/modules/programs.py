"""The host's own programs for kernel modules, run as the host would run them: below its root, with a time limit.

The host's and not ours, because they must fit the host's kernel, its folders and its compression of modules. A program
that waits inside the kernel cannot be killed. It is left behind, and until it ends every further one is refused with
the name of the command that hangs: another one would only wait beside it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tangram.drivers.modules.protocol import LoaderCode, LoaderError

SEARCH_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LIMIT: Final = 180.0
"""Seconds: a driver starts all cards of a node before its loading returns."""

_GRACE: Final = 0.5
_LONGEST: Final = 1 << 20
_NOT_ENTERED: Final = 125
_NOT_RUN: Final = (126, 127)
"""With these `chroot` itself ends."""


class Said(NamedTuple):
    status: int
    printed: str
    complaint: str
    """What it wrote to its error output, in one line."""


class HostPrograms:
    def __init__(self, root: Path, *, search_path: str = SEARCH_PATH, limit: float = LIMIT) -> None:
        self._root = root
        self._search_path = search_path
        self._limit = limit
        self._lock = threading.Lock()
        self._hanging: tuple[subprocess.Popen[bytes], str] | None = None

    @property
    def root(self) -> Path:
        return self._root

    def run(self, name: str, *arguments: str) -> Said:
        """What the program says, whatever its exit status. Raises `LoaderError` where it cannot be run or hangs."""
        shown = " ".join((name, *arguments))
        with self._lock, tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as complained:
            self._refuse_while_one_hangs()
            process = self._start(name, arguments, printed.fileno(), complained.fileno())
            try:
                status = process.wait(self._limit)
            except subprocess.TimeoutExpired:
                self._give_up(process, shown)
                raise self._stuck(shown) from None
            said = Said(status, _text(printed.fileno()), " ".join(_text(complained.fileno()).split()))
        if self._inside and "chroot:" in said.complaint:
            if status == _NOT_ENTERED:
                raise LoaderError(
                    LoaderCode.FAILED,
                    f"the root of the host at {self._root} cannot be entered: {said.complaint:.200}; mount the host's "
                    "root there and run privileged",
                )
            if status in _NOT_RUN:
                raise self._missing(name, said.complaint)
        return said

    @property
    def _inside(self) -> bool:
        return self._root != Path("/")

    def _start(
        self, name: str, arguments: Sequence[str], output: int, complaints: int
    ) -> subprocess.Popen[bytes]:
        first = "chroot" if self._inside else name
        found = shutil.which(first, path=self._search_path)
        if found is None:
            raise self._missing(first, f"it is not in {self._search_path}")
        command = [found, str(self._root), name, *arguments] if self._inside else [found, *arguments]
        try:
            return subprocess.Popen(  # noqa: S603 - the names are ours, and what modules are called was checked
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=complaints,
                env={"PATH": self._search_path, "LC_ALL": "C"},
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise self._missing(name, error.strerror or str(error)) from error

    def _missing(self, name: str, why: str) -> LoaderError:
        where = f" of the host (below {self._root})" if self._inside else ""
        return LoaderError(
            LoaderCode.MISSING, f"program {name}{where} cannot be run: {why:.200}; install kmod on the host"
        )

    def _give_up(self, process: subprocess.Popen[bytes], shown: str) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._hanging = (process, shown)

    def _refuse_while_one_hangs(self) -> None:
        if self._hanging is not None:
            process, shown = self._hanging
            if process.poll() is None:
                raise self._stuck(shown)
            self._hanging = None

    def _stuck(self, shown: str) -> LoaderError:
        return LoaderError(
            LoaderCode.FAILED,
            f"{shown:.200} has not ended within {self._limit:g} s: the kernel hangs; look into its log, usually only "
            "a reboot helps",
        )


def _text(descriptor: int) -> str:
    return os.pread(descriptor, _LONGEST, 0).decode(errors="replace")
