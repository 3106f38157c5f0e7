"""How a push gets on: a bar on a terminal, a line for each blob elsewhere. Both on standard error."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from tangram.cli.plain import clean
from tangram.services.images.archive import Descriptor


def megabytes(size: int) -> str:
    """As people say it."""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def short(digest: str) -> str:
    """Enough of a digest to tell it from others, so that names beside it stay on one line."""
    return digest[:19]


class PushWatcher:
    """Told by a push what has arrived."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._total = 0
        self._arrived: dict[str, int] = {}
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        if console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                DownloadColumn(),
                TransferSpeedColumn(),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task("pushing", total=None)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begun(self, blob: Descriptor) -> None:
        self._total += blob.size

    def moved(self, blob: Descriptor, arrived: int) -> None:
        self._arrived[blob.digest] = arrived
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=sum(self._arrived.values()), total=self._total)

    def ended(self, blob: Descriptor, *, sent: bool) -> None:
        how = "pushed" if sent else "is there already"
        self.told(f"{short(blob.digest)} {how} ({megabytes(blob.size)}).")

    def told(self, sentence: str) -> None:
        """A line of its own, above the bar where there is one."""
        self._console.print(clean(sentence), soft_wrap=True)
