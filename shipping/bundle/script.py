"""The script before a payload: its template filled, and its own length settled.

Whoever runs the file finds the payload by a number that stands in the script, and the number is part of the script's
length. What both kinds of self-extracting files do before they trust themselves is one text, `common.sh`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from shipping.bundle.errors import BundleError

_COMMON: Final = Path(__file__).with_name("common.sh")
_ROOM: Final = 4096
"""The script is filled up to a multiple of it, so that its own length does not move what it says about it."""


def script_from(template: Path, values: Mapping[str, str], *, title: str, file: str) -> bytes:
    """The script; `PAYLOAD_AT` is its length. `title` begins its second line, `file` is how people call it."""
    common = {"TITLE": title, "FILE": file}
    text = template.read_text("utf-8").replace(
        "@COMMON@\n", filled(_COMMON, _COMMON.read_text("utf-8"), common)
    )
    place = _ROOM
    while True:
        made = filled(template, text, {**values, "PAYLOAD_AT": str(place)}).encode("ascii")
        if len(made) < place:
            # Comment lines: a shell that reads on by mistake finds nothing to do.
            missing = place - len(made)
            return made + b"#" * (missing - 1) + b"\n"
        place += _ROOM


def filled(template: Path, text: str, values: Mapping[str, str]) -> str:
    """The text with every value in its place; one that has none is a slip of whoever edited the template."""
    for name, value in values.items():
        if f"@{name}@" not in text:
            raise BundleError(f"{template} has no place for {name}: it must say @{name}@ somewhere.")
        text = text.replace(f"@{name}@", value)
    return text
