"""Values as the real server, which is written in Go, writes them into its own texts.

Field paths, annotations, cells and sentences hold such values, and clients compare them letter by letter.
"""

from __future__ import annotations

import json
from typing import Final, cast

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
_ESCAPED: Final = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def go_json(value: object) -> str:
    """As JSON: keys sorted, no blanks, and what a page of HTML or a script would trip over escaped."""
    return _ENCODER.encode(value).translate(_ESCAPED)


def go_quoted(text: str) -> str:
    """In quotation marks."""
    return json.dumps(text, ensure_ascii=False)


def go_text(value: object) -> str:
    """As it is printed into a sentence."""
    if isinstance(value, dict):
        held = cast("dict[str, object]", value)
        return f"map[{' '.join(f'{key}:{go_text(held[key])}' for key in sorted(held))}]"
    if isinstance(value, list):
        return f"[{' '.join(go_text(each) for each in cast('list[object]', value))}]"
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)
