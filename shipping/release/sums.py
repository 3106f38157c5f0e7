"""SHA256SUMS: the list that `sha256sum --check` reads, and what two lists tell about two builds."""

import hashlib
from pathlib import Path
from typing import Final

FILE: Final = "SHA256SUMS"


def write_sums(folder: Path) -> None:
    """The checksum of every file of the folder, sorted by name."""
    names = sorted(path.name for path in folder.iterdir() if path.name != FILE)
    lines = [f"{_digest(folder / name)}  {name}\n" for name in names]
    (folder / FILE).write_text("".join(lines), "utf-8")


def read_sums(folder: Path) -> dict[str, str]:
    """The list of a folder: name -> checksum; nothing if there is none."""
    path = folder / FILE
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def differing(one: Path, other: Path) -> list[str]:
    """Files that the two lists do not have in common, byte for byte."""
    first, second = read_sums(one), read_sums(other)
    return sorted(name for name in {*first, *second} if first.get(name) != second.get(name))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
