"""SHA256SUMS: the list that `sha256sum --check` reads, and in which files two builds differ."""

import hashlib
from pathlib import Path
from typing import Final

FILE: Final = "SHA256SUMS"


def write_sums(folder: Path) -> None:
    """The checksum of every file of the folder, sorted by name."""
    found = sorted(_digests(folder).items())
    lines = [f"{digest}  {name}\n" for name, digest in found if name != FILE]
    (folder / FILE).write_text("".join(lines), "utf-8")


def differing(one: Path, other: Path) -> list[str]:
    """Files that the two folders do not have in common, byte for byte. Their lists are not asked: files may change."""
    first, second = _digests(one), _digests(other)
    return sorted(name for name in {*first, *second} if first.get(name) != second.get(name))


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: _digest(path) for path in folder.iterdir()}


def _digest(path: Path) -> str:
    if not path.is_file():
        return "no file"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
