"""Calls into a vendor's library that give up waiting, because the library itself never does.

A call into a hung kernel driver does not return and cannot be interrupted: not by a signal, not by an exception. What
can be done is to make it on a thread nobody else needs, and to stop waiting. One thread, not a pool: a second thread
sent after the first would hang in the same place, and a driver that loses a thread per poll takes its process down.

So while a call hangs, every other request is refused at once with the name of that call, and when it returns after
all, its late answer is dropped and work goes on as if nothing had happened.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

from tangram.drivers.errors import DriverError, Kind

DEFAULT_LIMIT = 5.0
"""Seconds. A healthy library answers a whole enumeration in milliseconds."""


def waited(done: threading.Event, seconds: float) -> bool:
    """Whether it is done within that time. All waiting here goes through this, so that a test can say when it ends."""
    return done.wait(seconds)


_Answer = TypeVar("_Answer")
_Answer_co = TypeVar("_Answer_co", covariant=True)


class Watchdog:
    """Runs work on one thread of its own and answers within a limit, whatever the work does."""

    def __init__(self, name: str, *, limit: float = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self._name = name
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[_Job[object] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._running: _Job[object] | None = None
        self._overdue: _Job[object] | None = None
        self._closed = False
        self._call = ""
        self._subject = ""

    def entering(self, call: str, subject: str = "") -> None:
        """Said by the work just before each call that may hang; what was said last is what gets named."""
        self._call = call
        self._subject = subject

    def run(self, work: Callable[[], _Answer], *, call: str, limit: float | None = None) -> _Answer:
        """The answer of the work, or whatever it raised. Raises `stuck` when the limit passes first.

        `call` is the name to give as long as the work has not said better with `entering`. The limit counts from now,
        so it includes waiting for other threads' turns. Work that had not begun by then is never begun.
        """
        patience = self.limit if limit is None else limit
        job = _Job(work, call)
        with self._lock:
            if self._closed:
                raise DriverError(
                    Kind.INVALID, f"{self._name} was closed and cannot be asked again.", call=call
                )
            if self._overdue is not None:
                raise self._stuck(job, patience)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"{self._name}-calls", daemon=True)
                self._thread.start()
            self._jobs.put(job)
        if not waited(job.done, patience):
            with self._lock:
                if not job.done.is_set():
                    job.abandoned = True
                    if job.begun:
                        self._overdue = job
                    raise self._stuck(job, patience)
        return job.outcome()

    @property
    def stuck_in(self) -> str:
        """The call that hangs now, or nothing."""
        with self._lock:
            return "" if self._overdue is None else self._call

    @property
    def given_up(self) -> bool:
        """Whether nobody waits for the present work any more. Cheap enough to ask before every call."""
        return self._overdue is not None

    def close(self, *, patience: float = 1.0) -> None:
        """End the thread; one that hangs is left behind, as nothing can end it before the process does."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            thread, hangs = self._thread, self._overdue is not None
        self._jobs.put(None)
        if thread is not None and not hangs:
            thread.join(patience)

    def _stuck(self, job: _Job[object], patience: float) -> DriverError:
        if self._running is None:
            # What was said last belongs to work that ended long ago.
            return DriverError(
                Kind.STUCK,
                f"{job.call} was not begun within {patience:g} s, though nothing hangs: this machine is too busy. "
                "Ask again, or allow more time.",
                call=job.call,
            )
        where = f"{self._call} ({self._subject})" if self._subject else self._call
        return DriverError(
            Kind.STUCK,
            f"{where} has not returned within {patience:g} s: the kernel driver hangs. "
            "Look for its messages in the kernel log; usually only a reset or a reboot helps.",
            call=self._call,
        )

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            with self._lock:
                if job.abandoned:
                    continue
                job.begun = True
                self._running = job
                self._call, self._subject = job.call, ""
            job.carry_out()
            with self._lock:
                self._running = None
                job.done.set()
                if self._overdue is job:
                    self._overdue = None


class _Job(Generic[_Answer_co]):
    def __init__(self, work: Callable[[], _Answer_co], call: str) -> None:
        self.call = call
        self.done = threading.Event()
        self.begun = False
        self.abandoned = False
        self._work = work
        self._answer: list[_Answer_co] = []
        self._error: BaseException | None = None

    def carry_out(self) -> None:
        try:
            self._answer.append(self._work())
        except BaseException as error:  # noqa: BLE001 - it is raised again where the work was ordered
            self._error = error

    def outcome(self) -> _Answer_co:
        if self._error is not None:
            raise self._error
        return self._answer[0]
