"""One agent at a time on a node: a new one waits at the door until the old one has gone.

Two of them would register the same resources, and when the older one ends the kubelet drops the newer. The lock is the
kernel's, on a file of the host, so it ends with its holder however that ends.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
from pathlib import Path
from typing import Final

FILE: Final = "agent.lock"
_LOOK_S: Final = 0.05

log = logging.getLogger("tangram.gpu-device")


class Turnstile:
    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._file: int | None = None

    async def enter(self) -> None:
        """Return when this process is the only agent. Raises `OSError` where the folder cannot be written."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        told = False
        try:
            while not _locked(file):
                if not told:
                    log.info("another agent runs on this node; waiting for its end")
                    told = True
                await asyncio.sleep(_LOOK_S)
        except BaseException:
            os.close(file)
            raise
        self._file = file

    def leave(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
