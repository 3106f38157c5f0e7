"""The host's MXMACA and driver tools: which folder, and whether it is there.

`/opt/maca` is a link to the version in use. What is mounted is the folder behind it, so that a later change of the link
does not pull the libraries away from under a container that runs.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec

from tangram.services.docker_host.errors import HostError
from tangram.wire.operator.names import DRIVER_LINK, MACA_LINK

NONE: Final = "none"
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+~-]{0,63}")


class Folder(msgspec.Struct, frozen=True):
    host: str
    """Without links."""
    path: str
    """In the container."""


def host_folders(asked: str | None, root: Path = Path("/")) -> tuple[Folder, ...]:
    """MXMACA and the driver's tools, as far as the host has them. Raises `HostError` for a named one that it lacks."""
    if asked is not None and asked.strip() == NONE:
        return ()
    maca = _there(root / MACA_LINK.lstrip("/")) if asked is None else _named(asked.strip(), root)
    driver = _there(root / DRIVER_LINK.lstrip("/"))
    pairs = ((maca, MACA_LINK), (driver, DRIVER_LINK))
    return tuple(Folder(str(folder), path) for folder, path in pairs if folder is not None)


def _named(text: str, root: Path) -> Path:
    if text.startswith("/"):
        place = root / text.lstrip("/")
    elif _VERSION.fullmatch(text):
        place = root / f"{MACA_LINK.lstrip('/')}-{text}"
    else:
        raise HostError(
            f"--maca is {text!r:.80}: it is a version, the absolute path of an MXMACA on this host, or none; "
            f"{_legal(root)}."
        )
    found = _there(place)
    if found is None:
        raise HostError(f"--maca is {text!r:.80}, but {place} is no folder on this host: {_legal(root)}.")
    return found


def _there(place: Path) -> Path | None:
    try:
        found = place.resolve(strict=True)
        return found if found.is_dir() else None
    except (OSError, RuntimeError, ValueError):
        return None


def _legal(root: Path) -> str:
    prefix = f"{MACA_LINK.rpartition('/')[2]}-"
    try:
        versions = sorted(
            entry.name.removeprefix(prefix)
            for entry in (root / "opt").iterdir()
            if entry.name.startswith(prefix) and entry.is_dir()
        )
    except OSError:
        versions = []
    return (
        f"the versions here are {', '.join(versions[:16])}" if versions else "this host has no MXMACA in /opt"
    )
