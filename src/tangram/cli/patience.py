"""What is going on, for a person who has begun to wonder.

Most runs end before a progress bar could be read, and a bar that flashes past is noise. So nothing is shown for the
first two seconds, and never anything to a file, a pipe or a log.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

SILENT_SECONDS = 2.0


class Patience:
    """A progress bar on standard error that appears only when it is worth reading."""

    def __init__(
        self,
        console: Console,
        *,
        silent_seconds: float = SILENT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._silent_seconds = silent_seconds
        self._clock = clock
        self._began = clock()
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def watching(self, what: str) -> Callable[[int, int], None]:
        """A callback for a loop: how much is done, of how much."""
        self._task = None

        def on_progress(done: int, total: int) -> None:
            self._show(what, done, total)

        return on_progress

    def show(self, what: str, done: int, total: int) -> None:
        """The same for work in several parts, each with a name; one without a known end only has its name."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=what)
        self._show(what, done, max(total, done))

    def _show(self, what: str, done: int, total: int) -> None:
        if not self._console.is_terminal or self._clock() - self._began < self._silent_seconds:
            return
        if self._progress is None:
            self._progress = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
                TimeElapsedColumn(),
                console=self._console,
                transient=True,
            )
            self._progress.start()
        if self._task is None:
            self._task = self._progress.add_task(what, total=total)
        self._progress.update(self._task, completed=done, total=total)
