"""How far a command is: a bar on a terminal, a line for each blob that is pushed elsewhere. Both on standard error."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from tangram.cli.patience import Patience
from tangram.cli.plain import clean
from tangram.cli.screen import error_console
from tangram.services.images.archive import Archive, Descriptor, opened


def megabytes(size: int) -> str:
    """As people say it."""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def short(digest: str) -> str:
    """Enough of a digest to tell it from others, so that names beside it stay on one line."""
    return digest[:19]


def counting(patience: Patience, what: str, total: int) -> Callable[[int], None]:
    """Told how many bytes have come, it shows how many of `total` there are."""
    show, done = patience.watching(what), 0

    def on_bytes(count: int) -> None:
        nonlocal done
        done += count
        show(min(done, total) // 1_000_000, total // 1_000_000)

    return on_bytes


@contextmanager
def archive_at(path: Path, *, layers: bool = True) -> Generator[Archive]:
    """The archive while the block runs. Unpacking a compressed one takes minutes, and a bar says how many."""
    with ExitStack() as stack:
        with Patience(error_console()) as patience:
            size = path.stat().st_size if path.is_file() else 0
            on_bytes = counting(patience, f"unpacking {path.name} (MB)", size)
            archive = stack.enter_context(opened(path, layers=layers, on_bytes=on_bytes))
        yield archive


def check_whole(archive: Archive) -> None:
    """Raise unless every blob of the archive is what its name says."""
    with Patience(error_console()) as patience:
        total = sum(blob.size for blob in archive.blobs())
        archive.check_contents(counting(patience, f"checking {archive.path.name} (MB)", total))


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
