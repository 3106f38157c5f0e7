"""The answers to a patch that cannot be applied, with the codes and words of the real server.

Three kinds of answer: what is no patch at all is a bad request; a patch that does not apply to this object cannot be
processed, and the server then says no more than that; and what the real server never thought of is its own error.
"""

from __future__ import annotations

from tangram.sandbox.apiserver.refusals import INVALID, Refused


def does_not_apply() -> Refused:
    """To a patch that is well formed and finds nothing to work on."""
    return Refused(INVALID, "Invalid", "the server rejected our request due to an error in our request", {})


def server_error(message: str) -> Refused:
    """To what the real server has no answer for but its own words."""
    return Refused(500, "", message)


def json_kind(value: object) -> str:
    """What Go's JSON reader calls it."""
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, int | float) else "string"
