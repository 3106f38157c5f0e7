"""Where the statements of a TOML text stand.

A parser tells what a file means and forgets how it was written; to change one line and leave all others as they are,
one must know where it is. This finds the statements of a text that the parser has accepted, and only of such a text:
it does not check anything itself.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from enum import Enum
from typing import cast

import msgspec

from tangram.wire.errors import WireError

Table = dict[str, object]


class Kind(Enum):
    TABLE = "[table]"
    ARRAY = "[[table]]"
    PAIR = "key = value"


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    kind: Kind
    path: tuple[str, ...]
    """From the root of the document."""
    key: str
    """As it is written, without the table it stands in."""
    start: int
    """Of its first line; a statement has its lines for itself."""
    end: int
    """After the newline of its last line, or at the end of the text."""
    value: tuple[int, int] = (0, 0)
    """Of a pair: where its value is."""
    line: int
    """From 1."""


def parse(text: str, what: str) -> Table:
    """The meaning of a text. Raises `WireError` with the parser's words, which name the line."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise WireError(
            "config-invalid", f"{what} is no TOML: {error or 'it is nested too deep'}; correct it there"
        ) from error


def table_at(parsed: Table, path: tuple[str, ...]) -> Table | None:
    """The table under a path; None where there is none, or something else."""
    found = parsed
    for part in path:
        inner = found.get(part)
        if not isinstance(inner, dict):
            return None
        found = cast("Table", inner)
    return found


def statements(text: str) -> tuple[Statement, ...]:
    """All statements of a legal text, in their order."""
    return tuple(_walk(text))


def _walk(text: str) -> Iterator[Statement]:
    table: tuple[str, ...] = ()
    at, line = 0, 1
    while at < len(text):
        begin = _after_blanks(text, at)
        if begin >= len(text) or text[begin] in "#\r\n":
            end = _line_end(text, begin)
        elif text[begin] == "[":
            wide = text.startswith("[[", begin)
            inner = begin + (2 if wide else 1)
            close = _key_end(text, inner, "]")
            table = _path(text[inner:close])
            end = _line_end(text, close)
            yield Statement(
                kind=Kind.ARRAY if wide else Kind.TABLE,
                path=table,
                key=text[inner:close].strip(" \t"),
                start=at,
                end=end,
                line=line,
            )
        else:
            equals = _key_end(text, begin, "=")
            first = _after_blanks(text, equals + 1)
            last = _value_end(text, first)
            end = _line_end(text, last)
            yield Statement(
                kind=Kind.PAIR,
                path=(*table, *_path(text[begin:equals])),
                key=text[begin:equals].strip(" \t"),
                start=at,
                end=end,
                value=(first, first + len(text[first:last].rstrip(" \t\r\n"))),
                line=line,
            )
        line += text.count("\n", at, end)
        at = end


def _path(key: str) -> tuple[str, ...]:
    """The parts of a key in the way it is written: bare, quoted or dotted."""
    found: object = tomllib.loads(f"{key}=0")
    parts: list[str] = []
    while isinstance(found, dict):
        ((name, found),) = cast("Table", found).items()
        parts.append(name)
    return tuple(parts)


def _after_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t":
        at += 1
    return at


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _key_end(text: str, at: int, stop: str) -> int:
    while text[at] != stop:
        at = _after_string(text, at) if text[at] in "\"'" else at + 1
    return at


def _value_end(text: str, at: int) -> int:
    """Where a value ends that begins here: at a newline or a comment outside of all brackets and strings."""
    depth = 0
    while at < len(text):
        sign = text[at]
        if sign in "\"'":
            at = _after_string(text, at)
            continue
        if sign == "#":
            if depth == 0:
                return at
            at = _line_end(text, at)
            continue
        if sign == "\n" and depth == 0:
            return at
        depth += (sign in "[{") - (sign in "]}")
        at += 1
    return at


def _after_string(text: str, at: int) -> int:
    quote = text[at]
    if text.startswith(quote * 3, at):
        at += 3
        while not text.startswith(quote * 3, at):
            at += 2 if quote == '"' and text[at] == "\\" else 1
        at += 3
        # One or two quotes may stand right before the three that end it.
        for _ in range(2):
            at += text.startswith(quote, at)
        return at
    at += 1
    while text[at] != quote:
        at += 2 if quote == '"' and text[at] == "\\" else 1
    return at + 1
