"""Small kernel files, read without trust: missing, unreadable, binary or endless, each is just not there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tangram.units.na import NA, Maybe, NotAvailable

LONGEST: Final = 65_536
"""Bytes read of any file; kernel files are a page or less."""

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_HEX = re.compile(r"(?:0x)?([0-9a-f]{1,16})", re.IGNORECASE)

Entering = Callable[[str], None]
"""Hears the path of each file before it is opened, so that one whose reading hangs can be named."""


class Files:
    """A tree of kernel files."""

    def __init__(self, root: Path, entering: Entering = lambda _: None) -> None:
        self.root = root
        self._entering = entering

    def text(self, path: Path) -> Maybe[str]:
        """The file's text without blanks around it; empty files have none."""
        self._entering(str(path))
        try:
            with path.open("rb") as file:
                content = file.read(LONGEST)
        except (OSError, ValueError):
            return NA
        return content.decode(errors="replace").replace("\0", "").strip() or NA

    def label(self, path: Path) -> Maybe[str]:
        """As `text`, but an empty file is an empty text: only a file that cannot be read is NA."""
        text = self.text(path)
        if not isinstance(text, NotAvailable):
            return text
        try:
            with path.open("rb") as file:
                return "" if not file.read(LONGEST).strip(b"\0 \t\r\n") else NA
        except (OSError, ValueError):
            return NA

    def whole(self, path: Path) -> Maybe[int]:
        """The file's one decimal number."""
        return whole(self.text(path))

    def hexadecimal(self, path: Path) -> Maybe[int]:
        """The file's one hexadecimal number, with or without its prefix."""
        text = self.text(path)
        found = None if isinstance(text, NotAvailable) else _HEX.fullmatch(text)
        return NA if found is None else int(found[1], 16)

    def last_word(self, path: Path) -> Maybe[str]:
        """What stands last in the file, where versions stand after their label."""
        text = self.text(path)
        return NA if isinstance(text, NotAvailable) else text.split()[-1]

    def properties(self, path: Path) -> dict[str, str]:
        """Lines of a word and a value."""
        text = self.text(path)
        lines = [] if isinstance(text, NotAvailable) else text.splitlines()
        pairs = (line.partition(" ") for line in lines)
        return {name.rstrip(":"): value.strip() for name, _, value in pairs if name}

    def names(self, path: Path) -> list[str]:
        """The folder's entries, sorted; none where there is no such folder."""
        self._entering(str(path))
        try:
            return sorted(entry.name for entry in path.iterdir())
        except (OSError, ValueError):
            return []

    def target(self, path: Path) -> Maybe[str]:
        """The name of what a link points to."""
        try:
            return path.readlink().name or NA
        except (OSError, ValueError):
            return NA

    def resolved(self, path: Path) -> str:
        """Where the kernel really keeps it."""
        try:
            return str(path.resolve(strict=True))
        except (OSError, ValueError, RuntimeError):
            return ""


def whole(text: Maybe[str]) -> Maybe[int]:
    """The decimal number that a text is."""
    if isinstance(text, NotAvailable) or _WHOLE.fullmatch(text) is None:
        return NA
    return int(text)
