"""The kubelet's own notes about who holds which units, read from its directory.

They are the only place that knows pods by UID and knows ordinary init containers. Checking them takes milliseconds and
reading them takes a tenth of one, so the file is read at every question and understood once: what was read is compared
with what was read before, byte by byte. The times and numbers of a file would be cheaper still, and wrong on the day
when two writes fall into one tick of the clock.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import CHECKPOINT_FILE, Checkpoint, parse_checkpoint

TRIES: Final = 4
RETRY_S: Final = 0.01
"""Known kubelets replace the file whole. One that wrote into it would be caught half way; this is for that one."""


class NotebookUnreadable(Exception):  # noqa: N818 - says what is the case, as callers read it
    """There is no file, or it may not be read."""


class Notebook:
    """Of the kubelet that keeps its device plugins in the directory."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / CHECKPOINT_FILE
        self._content: bytes | None = None
        self._understood: Checkpoint | None = None

    async def read(self) -> Checkpoint:
        """What the kubelet last wrote. Raises `NotebookUnreadable`, or `WireError` for what nobody understands."""
        for _ in range(TRIES - 1):
            try:
                return self._read()
            except WireError:
                await asyncio.sleep(RETRY_S)
        return self._read()

    def _read(self) -> Checkpoint:
        try:
            content = self._path.read_bytes()
        except OSError as error:
            raise NotebookUnreadable(
                f"the kubelet's notes '{self._path}' cannot be read ({error.strerror}): "
                "it writes them once a device plugin has registered, for root alone"
            ) from error
        if self._understood is None or content != self._content:
            self._understood = parse_checkpoint(content)
            self._content = content
        return self._understood
