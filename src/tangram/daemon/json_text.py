"""JSON as people hand it over: one value, or several one after another, as `cat nodes.json pods.json` gives."""

from __future__ import annotations

import json
import re
from typing import Final

import msgspec

_BLANKS: Final = re.compile(r"\s*")


def json_values(text: str) -> list[object]:
    """Every value in the text. Raises `ValueError` and `RecursionError` for what is no JSON."""
    try:
        return [msgspec.json.decode(text)]
    except msgspec.DecodeError:
        values: list[object] = []
        decoder, at = json.JSONDecoder(), 0
        while (blank := _BLANKS.match(text, at)) is not None and blank.end() < len(text):
            value, at = decoder.raw_decode(text, blank.end())
            values.append(value)
        return values
