"""Running the vendor's tool: with a time limit, with a limit on what it may print, and never trusting one sign alone.

It writes errors to the ordinary output, leaves the error output empty, has several exit codes for one failure, and
now and then fails where the same command works a moment later. So a failure is tried once more, and the exit code
and the text are looked at together; the structure is the parser's part. Only the commands below are ever run: other
letters of this tool reset cards and switch error correction.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from tangram.drivers.errors import DriverError, Kind

NAME: Final = "mthreads-gmi"
QUERY: Final = ("-q", "--json")
SUMMARY: Final = ()
MATRIX: Final = ("topo", "-mg")

LONGEST_ANSWER: Final = 4 * 2**20
DEFAULT_LIMIT: Final = 10.0
"""Seconds for one question, repetition included."""

_ERROR = re.compile(r"^\s*(?:error|fail(?:ed|ure)?)\b[:\s].*", re.IGNORECASE | re.MULTILINE)
_NOT_OFFERED = re.compile(r"not (?:available|supported)", re.IGNORECASE)
_DRIVER = re.compile(r"driver", re.IGNORECASE)
_DENIED = re.compile(r"permission|not permitted|denied", re.IGNORECASE)


class Tool:
    """`mthreads-gmi`, or the file that was named for it."""

    def __init__(self, binary: str | None = None, *, limit: float = DEFAULT_LIMIT) -> None:
        self._wanted = binary
        self._limit = limit

    def answer(self, arguments: tuple[str, ...]) -> str:
        """What the tool prints for that command, once it prints no error. Raises `DriverError` otherwise."""
        call = " ".join((NAME, *arguments))
        deadline = time.monotonic() + self._limit
        try:
            return self._once(call, arguments, deadline)
        except DriverError as error:
            if error.kind is not Kind.FAILED:
                raise
        return self._once(call, arguments, deadline)

    def _once(self, call: str, arguments: tuple[str, ...], deadline: float) -> str:
        status, text = self._run(call, arguments, deadline)
        complaint = _ERROR.search(text)
        if status == 0 and complaint is None:
            return text
        said = complaint[0].strip() if complaint else next(iter(text.strip().splitlines()), "")
        said = "".join(letter for letter in said if letter.isprintable())[:200]
        raise DriverError(
            _kind(said),
            f"{call} ended with {status} and said {said!r}",
            call=call,
            vendor_code=status,
            vendor_text=said,
        )

    def _run(self, call: str, arguments: tuple[str, ...], deadline: float) -> tuple[int, str]:
        try:
            process = subprocess.Popen(  # noqa: S603 - the arguments are the constants above
                [self._found(call), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, "LC_ALL": "C", "TERM": "dumb"},
                start_new_session=True,
            )
        except OSError as error:
            kind = Kind.NOT_PERMITTED if isinstance(error, PermissionError) else Kind.NO_LIBRARY
            raise DriverError(kind, f"{call} cannot be run: {error.strerror}", call=call) from error
        finished = False
        try:
            printed = self._read(process, call, deadline)
            status = process.wait(max(0.0, deadline - time.monotonic()))
            finished = True
        except subprocess.TimeoutExpired:
            raise self._stuck(call) from None
        finally:
            if not finished:
                _end(process)
            if process.stdout is not None:
                process.stdout.close()
        return status, printed.decode("utf-8", errors="replace")

    def _read(self, process: subprocess.Popen[bytes], call: str, deadline: float) -> bytes:
        if process.stdout is None:
            return b""
        printed = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise self._stuck(call)
                piece = os.read(process.stdout.fileno(), 65536)
                if not piece:
                    return bytes(printed)
                printed += piece
                if len(printed) > LONGEST_ANSWER:
                    raise DriverError(
                        Kind.FAILED, f"{call} printed more than {LONGEST_ANSWER} bytes", call=call
                    )

    def _stuck(self, call: str) -> DriverError:
        return DriverError(
            Kind.STUCK, f"{call} did not end within {self._limit:g} s; it was ended by force", call=call
        )

    def _found(self, call: str) -> str:
        if self._wanted is not None:
            return self._wanted
        found = shutil.which(NAME)
        if found is None:
            raise DriverError(
                Kind.NO_LIBRARY, f"{NAME} is not on PATH; install the vendor's driver package", call=call
            )
        return str(Path(found))


def _kind(said: str) -> Kind:
    if _NOT_OFFERED.search(said):
        return Kind.NOT_SUPPORTED
    if _DENIED.search(said):
        return Kind.NOT_PERMITTED
    return Kind.NO_DRIVER if _DRIVER.search(said) else Kind.FAILED


def _end(process: subprocess.Popen[bytes]) -> None:
    # It leads its own group, so whatever it started and left behind ends with it.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    # One that waits inside the kernel does not even die; it is left to whoever reaps our children.
    with suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
