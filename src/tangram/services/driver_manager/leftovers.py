"""Payloads that nobody needs any more: each lies on the node once more beside what was installed from it.

They are put there by their own pods, which are gone when a removal begins. Before that a payload that is named nowhere
may be the one that a pod has just brought for whoever replaces us, so only what has been lying there for a day goes.
Names that neither a payload nor work on one can have are somebody else's.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Final

from tangram.wire.operator.payloads import FILE

DAY_S: Final = 86_400.0
_OURS: Final = re.compile(r"(?:\.(?:lock|staging|old)-)?([0-9A-Za-z._-]+-[0-9a-f]{10})(?:-[0-9a-f]{16})?")


def remove_all(payloads: Path) -> None:
    """Everything that pods of payloads have put there, and the folder. Raises `OSError`."""
    for entry, _ in _entries(payloads):
        _remove(Path(entry.path))
    try:
        payloads.rmdir()
    except OSError:
        # It is not there, or something of somebody else is in it.
        return


def remove_old(payloads: Path, named: Collection[str], now: float) -> None:
    """What is not among these folders and has been lying there for a day, by the wall clock. Raises `OSError`."""
    for entry, folder in _entries(payloads):
        if folder not in named and now - entry.stat(follow_symlinks=False).st_mtime > DAY_S:
            _remove(Path(entry.path))


def _entries(payloads: Path) -> list[tuple[os.DirEntry[str], str]]:
    """What is ours there, each with the folder of its payload."""
    try:
        with os.scandir(payloads) as entries:
            return [(entry, found[1]) for entry in entries if (found := _OURS.fullmatch(entry.name))]
    except FileNotFoundError:
        return []


def _remove(place: Path) -> None:
    if place.is_symlink() or not place.is_dir():
        place.unlink(missing_ok=True)
        return
    # Without its description nobody takes what is left for a payload.
    (place / FILE).unlink(missing_ok=True)
    shutil.rmtree(place)
