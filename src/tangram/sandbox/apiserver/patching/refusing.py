"""The answers to a patch that cannot be applied, with the codes and words of the real server.

Three kinds of answer: what is no patch at all is a bad request; a patch that does not apply to this object cannot be
processed, and the server then says no more than that; and what the real server never thought of is its own error.
"""

from __future__ import annotations

import json
from typing import cast

from tangram.sandbox.apiserver.refusals import INVALID, Refused


def does_not_apply() -> Refused:
    """To a patch that is well formed and finds nothing to work on."""
    return Refused(INVALID, "Invalid", "the server rejected our request due to an error in our request", {})


def server_error(message: str) -> Refused:
    """To what the real server has no answer for but its own words."""
    return Refused(500, "", message)


def go_text(value: object) -> str:
    """A value as Go prints it into a sentence."""
    if isinstance(value, dict):
        held = cast("dict[str, object]", value)
        return f"map[{' '.join(f'{key}:{go_text(held[key])}' for key in sorted(held))}]"
    if isinstance(value, list):
        return f"[{' '.join(go_text(each) for each in cast('list[object]', value))}]"
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)


def json_kind(value: object) -> str:
    """What Go's JSON reader calls it."""
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, int | float) else "string"


def go_json(value: object) -> str:
    """A value as Go writes it: keys sorted, no blanks, the marks of HTML escaped."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
