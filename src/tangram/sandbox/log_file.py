"""Where everything that the sandbox's services log goes: a file, so that the terminal stays for people."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tangram.daemon.log_lines import TextLines
from tangram.sandbox.folder import LOG, cannot_be_used


class _Quiet(logging.FileHandler):
    """A line that cannot be written (the disk is full) is lost, and nobody's terminal is filled with why."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name logging calls
        del record


@contextmanager
def logging_to(folder: Path) -> Generator[None]:
    """Log there meanwhile, anew each time. Raises `SettingError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler = _Quiet(folder / LOG, mode="w", encoding="utf-8")
    except OSError as error:
        raise cannot_be_used(folder, error) from None
    handler.setFormatter(TextLines())
    root = logging.getLogger()
    before = root.handlers[:], root.level
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.captureWarnings(capture=True)
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        root.handlers[:], level = before
        root.setLevel(level)
        handler.close()
