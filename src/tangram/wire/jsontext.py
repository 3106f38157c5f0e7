"""JSON inside annotations and files: one way in, one way out.

Compact on the way out, as every peer writes it. On the way in, all the ways a text can fail to be JSON (bad syntax,
nesting without end, half a surrogate pair) become one `WireError`, so that no annotation can take a daemon down.
"""

from __future__ import annotations

import msgspec

from tangram.wire.errors import WireError, shown


def parse(text: str, what: str) -> object:
    """The value a JSON text stands for. Raises `WireError` when it stands for none."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise WireError("json-malformed", f"{what} is not JSON: {shown(text)}") from error


def compact(value: object, what: str) -> str:
    """The value as JSON without spaces. Raises `WireError` for text that UTF-8 cannot carry."""
    try:
        return msgspec.json.encode(value).decode()
    except ValueError as error:
        raise WireError("text-not-utf8", f"{what} would hold text that is not valid UTF-8") from error


def pretty(value: object, what: str) -> str:
    """The value as indented JSON, for files that people open. Raises `WireError` like `compact`."""
    return msgspec.json.format(compact(value, what), indent=2)
