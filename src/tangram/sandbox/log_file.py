"""Where everything that the sandbox's services log goes: a file, so that the terminal stays for people."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tangram.daemon.errors import SettingError
from tangram.daemon.log_lines import TextLines
from tangram.sandbox.folder import LOG


@contextmanager
def logging_to(folder: Path) -> Generator[None]:
    """Log there meanwhile, anew each time. Raises `SettingError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(folder / LOG, mode="w", encoding="utf-8", delay=True)
    except OSError as error:
        raise SettingError(
            f"the folder {folder} cannot be used ({error.strerror}): name one that you may write to with --data."
        ) from None
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
