"""What a person's own options bring already, so that nothing is given twice or taken away."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Final

from tangram.services.docker_host.reading import Start

_EVERYBODY: Final = 0o006
_LARGEST: Final = 1 << 20


def mount_targets(start: Start) -> frozenset[str]:
    """The places in the container where the person mounts something."""
    targets = [_volume_target(value) for value in start.values("v", "volume")]
    targets += [value.split(":", 1)[0] for value in start.values("tmpfs")]
    for value in start.values("mount"):
        targets += _mount_targets(value)
    return frozenset(str(PurePosixPath(target)) for target in targets if target.startswith("/"))


def variables(start: Start) -> set[str]:
    """The names of the variables that the person sets, also in files."""
    names = {value.partition("=")[0] for value in start.values("e", "env")}
    for file in start.values("env-file"):
        names |= _names_in(Path(file))
    return names


def groups_of(nodes: Iterable[str]) -> tuple[int, ...]:
    """The groups that own nodes which not everybody may open."""
    found: dict[int, None] = {}
    for node in nodes:
        try:
            state = os.stat(node)  # noqa: PTH116 - a number is all that is wanted
        except (OSError, ValueError):
            continue
        if state.st_gid and state.st_mode & _EVERYBODY != _EVERYBODY:
            found[state.st_gid] = None
    return tuple(found)


def _volume_target(value: str) -> str:
    parts = value.split(":")
    return parts[1] if len(parts) > 1 else parts[0]


def _mount_targets(value: str) -> list[str]:
    try:
        (fields,) = list(csv.reader([value]))
    except (ValueError, csv.Error):
        return []
    pairs = (field.partition("=") for field in fields)
    return [target for name, _, target in pairs if name.strip().lower() in ("target", "dst", "destination")]


def _names_in(file: Path) -> set[str]:
    """What cannot be read is the engine's to complain about."""
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            text = opened.read(_LARGEST)
    except (OSError, ValueError):
        return set()
    lines = (line.strip() for line in text.splitlines())
    return {line.partition("=")[0].strip() for line in lines if line and not line.startswith("#")}
