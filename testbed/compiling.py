"""Go's processes: started so that they never outlive us, and ended with everything they started.

Compilers and linkers are children of `go`; ending only `go` would leave them at work on a build nobody wants. So every
`go` leads a process group of its own, which is ended as a whole, and the kernel ends `go` if we are killed outright.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from testbed.debian import find_program
from testbed.errors import BedError
from testbed.parts import Component
from testbed.toolchain import Go

_PATIENCE_S = 5.0


@contextmanager
def compiling(
    go: Go, component: Component, output: Path, log: IO[bytes]
) -> Generator[subprocess.Popen[bytes]]:
    """`go build` of all programs of a component into a folder, ended when the block ends."""
    command = [str(go.program), "build", *component.arguments, "-o", f"{output}/", *component.packages]
    process = _start(command, component.folder, _environment(go, component, output.parent), log)
    try:
        yield process
    finally:
        _end(process)


class Downloads:
    """Fetches the modules of the components to come, one component after the other, while another one compiles.

    Listing all packages makes Go fetch exactly the modules that the build will read, and compiles nothing. A failure
    here is not reported: the build that needs the module meets the same and says it better.
    """

    def __init__(self, go: Go, components: Sequence[Component], temporary: Path) -> None:
        self._go = go
        self._waiting = list(components)
        self._temporary = temporary
        self._process: subprocess.Popen[bytes] | None = None

    def not_needed(self, component: Component) -> None:
        """Its build has begun and fetches what is left by itself."""
        self._waiting = [waiting for waiting in self._waiting if waiting.name != component.name]

    def advance(self) -> None:
        """Start the next, if none is at work. Only the main thread may call it: see `_start`."""
        if not self._waiting or (self._process is not None and self._process.poll() is None):
            return
        component = self._waiting.pop(0)
        tags, *_ = [argument for argument in component.arguments if argument.startswith("-tags=")]
        command = [str(self._go.program), "list", "-mod=readonly", "-deps", tags, *component.packages]
        environment = _environment(self._go, component, self._temporary)
        self._process = _start(command, component.folder, environment, subprocess.DEVNULL)

    def close(self) -> None:
        self._waiting.clear()
        if self._process is not None:
            _end(self._process)


def _environment(go: Go, component: Component, temporary: Path) -> dict[str, str]:
    return go.environment(cgo=component.part.static_c, temporary=temporary)


def _start(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], output: IO[bytes] | int
) -> subprocess.Popen[bytes]:
    """In a group of its own. The kernel's promise to end it with us is bound to the thread that starts it."""
    setpriv = find_program("setpriv")
    guard = [] if setpriv is None else [str(setpriv), "--pdeathsig", "KILL", "--"]
    try:
        return subprocess.Popen(  # noqa: S603 - Go as found on this machine, with arguments from our table
            [*guard, *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
    except OSError as error:
        raise BedError(f"{command[0]} cannot be started ({error.strerror}): reinstall Go.") from None


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
