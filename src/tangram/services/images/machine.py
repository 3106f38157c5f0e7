"""The machine that images are loaded on: its files and its programs, and nothing of what they mean.

`root` and `path` are parameters so that a test can bring a machine of its own.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_PATIENCE_S: Final = 20
_LOAD_PATIENCE_S: Final = 1800
_SAID: Final = 4000
SYSTEM_PATH: Final = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended. `said` is all it wrote, on one line."""

    status: int
    output: str
    said: str

    @property
    def well(self) -> bool:
        return self.status == 0


@dataclass(frozen=True, slots=True)
class Machine:
    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    architecture: str = field(
        default_factory=lambda: ARCHITECTURES.get(platform.machine(), platform.machine())
    )

    def place(self, name: str) -> Path:
        """Where an absolute path of the machine is."""
        return self.root / name.lstrip("/")

    def program(self, *names: str) -> str | None:
        """The first of these programs that there is; folders of administrators count even if PATH lacks them."""
        path = ":".join((self.environment.get("PATH", ""), *(str(self.place(one)) for one in SYSTEM_PATH)))
        for name in names:
            found = shutil.which(str(self.place(name)) if name.startswith("/") else name, path=path)
            if found is not None:
                return found
        return None

    def has_socket(self, name: str) -> bool:
        """Whether somebody may be listening there. A socket whose folder may not be read counts as there."""
        try:
            return stat.S_ISSOCK(self.place(name).stat().st_mode)
        except PermissionError:
            return True
        except OSError:
            return False

    def text(self, name: str) -> str:
        """A file's text, empty if it cannot be read."""
        try:
            return self.place(name).read_text("utf-8", errors="replace")
        except OSError:
            return ""

    def run(self, command: Sequence[str]) -> Ended:
        """Run a program that answers at once."""
        return self.feed(command, (), patience=_PATIENCE_S)

    def feed(
        self, command: Sequence[str], content: Iterable[bytes], *, patience: float = _LOAD_PATIENCE_S
    ) -> Ended:
        """Run a program with this on its standard input; whatever it does, not for longer than `patience` seconds."""
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            try:
                # A group of its own: clients may be scripts that start others, and all of them end together.
                process = subprocess.Popen(  # noqa: S603 - the container runtimes' own clients
                    command,
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=errors,
                    env=dict(self.environment),
                    process_group=0,
                )
            except OSError as error:
                return Ended(127, "", error.strerror or str(error))
            given_up = threading.Event()

            def give_up() -> None:
                given_up.set()
                _end(process)

            # Beside this thread, which waits for a program that reads nothing while it writes.
            watch = threading.Timer(patience, give_up)
            watch.start()
            try:
                _write(process, content)
                status = process.wait()
            finally:
                watch.cancel()
                _end(process)
                process.wait()
            if given_up.is_set():
                return Ended(124, "", f"no answer within {patience:g} s")
            output.seek(0)
            errors.seek(0)
            told = output.read(_SAID).decode(errors="replace")
            return Ended(
                status, told, " ".join(f"{errors.read(_SAID).decode(errors='replace')} {told}".split())
            )


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _write(process: subprocess.Popen[bytes], content: Iterable[bytes]) -> None:
    """Hand over as much as the program reads. How it ended, if before the end, is told by whoever asked."""
    if process.stdin is None:
        return
    try:
        with suppress(BrokenPipeError):
            for piece in content:
                process.stdin.write(piece)
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
