"""The other end of a self-test: starts the process that asks the cards, outlives it, and puts the card back for it.

A vendor's library may end its process, or never return. Either is a finding about the check that was being made; the
checks after it are made by a new process. Where slices were being made, a process that only cleans comes after.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import IO, Final, Self

import msgspec

from tangram.drivers.errors import Kind
from tangram.drivers.self_test.conducting import OPENING
from tangram.drivers.self_test.leftovers import CHECK as CLEAN
from tangram.drivers.self_test.reading import CHECKS
from tangram.drivers.self_test.records import (
    CLEAN_COMMAND,
    Began,
    CheckResult,
    CheckRow,
    Finished,
    NothingToTest,
    Opened,
    SelfTestEvent,
    SelfTestReport,
    SelfTestRequest,
    Step,
    failed,
    row,
)
from tangram.drivers.self_test.slice_life import RESTORED
from tangram.units.durations import duration_text

COMMAND: Final = (sys.executable, "-P", "-m", "tangram.drivers.self_test")
"""`-P`: of our own modules, whatever is in the folder that it is started in."""
START_S: Final = 60.0
"""For a new interpreter on a busy machine."""
CHANGE_S: Final = 65.0
"""A change may take a minute by the driver's own limit."""

OnProgress = Callable[[str, int, int], None]
"""Hears what is being asked, how much of it is done, and of how much."""


class SelfTestCutShortError(Exception):
    """The person stopped it; `sentence` says how the card was left."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class NothingToTestError(Exception):
    def __init__(self, kind: Kind, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence


class SelfTestSupervisor:
    """Of one request; `run` once."""

    def __init__(
        self,
        request: SelfTestRequest,
        on_progress: OnProgress = lambda _what, _done, _total: None,
        command: tuple[str, ...] = COMMAND,
    ) -> None:
        self._request = request
        self._on_progress = on_progress
        self._command = command
        self._rows: list[CheckRow] = []
        self._opened: Opened | None = None
        self._check = OPENING
        self._step = ""
        self._changing = False

    def run(self) -> SelfTestReport:
        """What was found. Raises `NothingToTestError` and, on Ctrl-C, `SelfTestCutShortError`."""
        request = self._request
        while (ended := self._followed(request)) is not None:
            self._rows.append(row(self._check, failed(*ended)))
            if self._changing:
                self._put_back()
                break
            if self._check not in CHECKS or request.clean:
                break
            names = list(CHECKS)
            after = tuple(names[names.index(self._check) + 1 :])
            request = msgspec.structs.replace(request, checks=after)
        driver = self._request.driver if self._opened is None else self._opened.driver
        cards = () if self._opened is None else self._opened.cards
        return SelfTestReport(driver=driver, cards=cards, checks=tuple(self._rows))

    def _followed(self, request: SelfTestRequest) -> tuple[str, str] | None:
        """Follow one process to its end: None where it finished, else why it did not, and what to do."""
        with tempfile.TemporaryFile() as words, _Child(self._command, request, words) as child:
            limit = START_S + request.limit
            try:
                while True:
                    event = child.next(limit)
                    limit = request.limit + (CHANGE_S if request.slices or request.clean else 0)
                    if isinstance(event, Finished):
                        return None
                    if event is None:
                        return self._death(child.status(), words)
                    self._hear(event)
            except TimeoutError:
                child.kill()
                todo = "look into the kernel log; usually only a reset or a reboot helps"
                return f"{self._where()} has not returned within {duration_text(limit)}", todo
            except KeyboardInterrupt:
                raise SelfTestCutShortError(self._stopped(child)) from None

    def _hear(self, event: SelfTestEvent) -> None:
        match event:
            case CheckRow():
                self._rows.append(event)
                if event.check == RESTORED and event.result is CheckResult.OK:
                    self._changing = False
            case Opened():
                self._opened = self._opened or event
            case Began(check):
                self._check, self._step = check, ""
                self._changing = self._changing or (check not in CHECKS and check != OPENING)
                self._on_progress(check, 0, 0)
            case Step(what, done, total):
                self._step = what
                self._on_progress(f"{self._check}: {what}", done, total)
            case NothingToTest(kind, sentence):
                raise NothingToTestError(kind, sentence)
            case Finished():
                pass

    def _where(self) -> str:
        return f"{self._check} ({self._step})" if self._step else self._check

    def _death(self, status: int, words: IO[bytes]) -> tuple[str, str]:
        words.seek(0)
        said = words.read().decode(errors="replace").strip().splitlines()
        last = f": {said[-1]:.200}" if said else ""
        how = f"was ended by {_signal_name(-status)}" if status < 0 else f"ended with status {status}"
        return (
            f"the process that asked the cards {how} in {self._where()}{last}",
            "the vendor's library does not survive this question; do not run Tangram's agent with this version",
        )

    def _stopped(self, child: _Child) -> str:
        """Let the test put the card back, and say how that went."""
        child.stop()
        if not (self._request.slices or self._request.clean):
            child.kill()
            return "stopped; nothing was changed"
        with suppress(TimeoutError):
            while (event := child.next(CHANGE_S + self._request.limit)) is not None:
                self._hear(event)
        child.kill()
        if self._changing:
            self._put_back()
        return "stopped; the card is as it was" if not self._changing else f"stopped; {self._left()}"

    def _put_back(self) -> None:
        """By a process that does nothing else."""
        before = len(self._rows)
        request = msgspec.structs.replace(self._request, clean=True, slices=False, card="")
        ended = self._followed(request)
        if ended is not None:
            self._rows.append(row(CLEAN, failed(ended[0], CLEAN_COMMAND)))
        cleaned = self._rows[before:]
        self._changing = any(each.result is not CheckResult.OK for each in cleaned)

    def _left(self) -> str:
        return f"slices of the test may be left on the card: {CLEAN_COMMAND}"


class _Child:
    """The process, its events, and the pipe that keeps it going."""

    def __init__(self, command: tuple[str, ...], request: SelfTestRequest, words: IO[bytes]) -> None:
        # In a session of its own: a terminal that closes or sends Ctrl-C reaches the supervisor, which decides.
        self._process = subprocess.Popen(  # noqa: S603 - a module of ours
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words, start_new_session=True
        )
        self._events: SimpleQueue[SelfTestEvent | None] = SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="self-test-events", daemon=True)
        self._reader.start()
        if self._process.stdin is not None:
            # One that died at once is noticed by the end of its events.
            with suppress(OSError):
                self._process.stdin.write(msgspec.json.encode(request) + b"\n")
                self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        try:
            self._process.wait(START_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._reader.join(1)

    def next(self, limit: float) -> SelfTestEvent | None:
        """The next event; None after the last. Raises `TimeoutError`."""
        try:
            return self._events.get(timeout=limit)
        except Empty:
            raise TimeoutError from None

    def stop(self) -> None:
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def kill(self) -> None:
        self._process.kill()
        # One that hangs in the kernel does not end, and nothing is gained by waiting for it.
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)

    def status(self) -> int:
        return self._process.wait(START_S)

    def _read(self) -> None:
        decoder = msgspec.json.Decoder(SelfTestEvent)
        if self._process.stdout is not None:
            with self._process.stdout as lines, suppress(msgspec.MsgspecError, OSError, ValueError):
                for line in lines:
                    self._events.put(decoder.decode(line))
        self._events.put(None)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
