"""Values as TOML, for the few lines that are added to files of others."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from typing import cast

from tangram.wire.errors import WireError, shown

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def string(text: str) -> str:
    """A basic string."""
    return f'"{"".join(_sign(sign) for sign in text)}"'


def key(parts: tuple[str, ...]) -> str:
    """A dotted key."""
    return ".".join(part if _BARE.fullmatch(part) else string(part) for part in parts)


def table(path: tuple[str, ...], members: Mapping[str, object]) -> list[str]:
    """A table with the tables inside it, as lines without ends. Raises `WireError`."""
    lines = [f"[{key(path)}]"]
    inner: list[str] = []
    for name, value in members.items():
        if isinstance(value, dict):
            inner += table((*path, name), cast("dict[str, object]", value))
        else:
            lines.append(f"{key((name,))} = {written(value)}")
    return lines + inner


def written(value: object) -> str:
    """A value in one line. Raises `WireError` for what TOML has no form for."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _number(value)
        case str():
            return string(value)
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case list():
            return f"[{', '.join(written(each) for each in cast('list[object]', value))}]"
        case dict():
            members = cast("dict[str, object]", value).items()
            return f"{{{', '.join(f'{key((name,))} = {written(each)}' for name, each in members)}}}"
        case _:
            raise WireError("toml-value", f"TOML has no form for {shown(value)}")


def _sign(sign: str) -> str:
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    return f"\\u{ord(sign):04X}" if sign < " " or sign == "\x7f" else sign


def _number(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value)
