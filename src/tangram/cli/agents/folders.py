"""Folders of the host that containers see, as two agents are told them."""

from __future__ import annotations

from tangram.cli.failures import InputError
from tangram.wire.operator import names


def read_folders(text: str, option: str) -> tuple[str, ...]:
    """A comma list of plain absolute paths; empty for none."""
    folders = tuple(each.strip() for each in text.split(",") if each.strip())
    for folder in folders:
        parts = folder.split("/")
        if not folder.startswith("/") or {"", ".", ".."} & set(parts[1:]) or not folder.isprintable():
            raise InputError(
                f"{option} has {folder!r:.80}: these are absolute paths without . and .., with commas between; write "
                f"for example {names.MACA_LINK},{names.DRIVER_LINK}."
            )
    return tuple(dict.fromkeys(folders))
