"""Writing CDI specs where a node's container runtime finds them."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from tangram.wire.cdi import CdiSpec, spec_file_name, spec_text
from tangram.wire.errors import WireError
from testbed.errors import BedError

_numbers = itertools.count()


def write_spec(directory: Path, spec: CdiSpec, owner: str, *, replace: bool = False) -> Path:
    """Write a spec whole, by renaming inside its directory; runtimes watch for exactly that. Returns its path.

    An existing file of this owner is an error unless the test is about replacing: what a runtime has read of a name it
    may keep.
    """
    try:
        text = spec_text(spec)
        path = directory / spec_file_name(spec.kind, owner)
    except WireError as error:
        raise BedError(str(error)) from error
    if path.exists() and not replace:
        raise BedError(f"'{path}' is there already: remove it first, or use another owner than {owner}")
    # No spec's ending, so a runtime that looks in between sees nothing.
    unfinished = directory / f".{os.getpid()}-{next(_numbers)}.unfinished"
    try:
        unfinished.write_text(text, "utf-8")
        # Linking would do the same without replacing, but runtimes do not watch for it.
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise BedError(f"no CDI spec could be written to '{directory}': {error.strerror}") from error
    return path


def remove_spec(path: Path) -> None:
    """Remove a spec that may be gone already."""
    path.unlink(missing_ok=True)
