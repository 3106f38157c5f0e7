r"""Patterns as Go writes them, for Python's reader: where the two differ in spelling, not in power.

Go's dollar means the end of the text and nothing else, its \z is Python's \Z, a named group may be written without
the P, and \d, \w, \s are ASCII only.
"""

from __future__ import annotations

import re
from typing import Final

_CLASSES: Final = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "punct": r"!-\/:-@\[-`{-~",
    "xdigit": "0-9a-fA-F",
    "word": r"\w",
    "cntrl": r"\x00-\x1f\x7f",
    "print": " -~",
    "graph": "!-~",
    "blank": r"\t ",
    "ascii": r"\x00-\x7f",
}
_PARTS: Final = re.compile(r"\\.|\[:(\^?)(\w+):\]|\(\?<(?=[A-Za-z_])|\$|.", re.DOTALL)


def translated(pattern: str) -> str:
    """The same pattern for Python."""
    made: list[str] = ["(?a)"] if pattern.isascii() else []
    inside = False
    for part in _PARTS.finditer(pattern):
        text = part[0]
        if text == r"\z":
            text = r"\Z"
        elif text == r"\A" or text.startswith("\\"):
            pass
        elif part[2] and inside:
            text = _CLASSES.get(part[2], text)
        elif text == "(?<" and not inside:
            text = "(?P<"
        elif text == "[" and not inside:
            inside = True
        elif text == "]":
            inside = False
        elif text == "$" and not inside:
            text = r"\Z"
        made.append(text)
    return _inline_flags_first("".join(made))


def _inline_flags_first(pattern: str) -> str:
    """Go lets flags stand anywhere; Python wants those of the whole pattern at its start."""
    flags = re.match(r"(\(\?a\))?(\^?)\(\?([ims]+)\)", pattern)
    if flags is None:
        return pattern
    return f"(?{flags[3]}){flags[1] or ''}{flags[2]}{pattern[flags.end() :]}"
