"""Where Moore Threads' library is when the loader would not find it: the host's folders, seen from a container.

The vendor installs it among the host's own libraries. Those folders must not go on the loader's path in a container,
whose C library and the rest would then come from another system; so this one file is looked for and loaded by its name.
Nothing is looked for unless somebody says where: on a plain host the loader knows best.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PATH_VARIABLE: Final = "MTML_LIBRARY_PATH"
"""Folders, as in `PATH`."""
NAMES: Final = ("libmtml.so.2", "libmtml.so")


def library_in(environment: Mapping[str, str], machine: str = os.uname().machine) -> str | None:
    """The newest name in the first folder that has one, or in its part for this kind of processor."""
    folders = [Path(each) for each in environment.get(PATH_VARIABLE, "").split(":") if each]
    places = (
        folder / name
        for each in folders
        for folder in (each, each / f"{machine}-linux-gnu")
        for name in NAMES
    )
    return next((str(place) for place in places if _is_file(place)), None)


def _is_file(place: Path) -> bool:
    try:
        return place.is_file()
    except OSError:
        return False
