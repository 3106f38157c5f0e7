"""`WWW-Authenticate`: what a registry wants to see before it answers.

Only the two ways that registries use are understood, Basic and Bearer; a third one is not answered at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

_SCHEME: Final = re.compile(r"\s*,?\s*([A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]*)(?=\s|$|,)")
_SETTING: Final = re.compile(r"\s*,?\s*([A-Za-z0-9_-]+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s,\"]+))")
_ESCAPED: Final = re.compile(r"\\(.)")


class Challenge(msgspec.Struct, frozen=True):
    scheme: str
    """In lower case."""
    settings: dict[str, str]


def read_challenges(headers: Iterable[str]) -> list[Challenge]:
    """All challenges of an answer, in its order; what does not read as one ends its header."""
    found: list[Challenge] = []
    for header in headers:
        at = 0
        while (scheme := _SCHEME.match(header, at)) is not None:
            at = scheme.end()
            settings: dict[str, str] = {}
            while (setting := _SETTING.match(header, at)) is not None:
                at = setting.end()
                quoted = setting[2]
                settings[setting[1].lower()] = setting[3] if quoted is None else _ESCAPED.sub(r"\1", quoted)
            found.append(Challenge(scheme[1].lower(), settings))
    return found
