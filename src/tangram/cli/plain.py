"""Text from somebody else's file, made safe to print."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    """The text without the power to move a cursor, set a colour or ring a bell."""
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)
