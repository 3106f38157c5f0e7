"""Where the members of a JSON object stand in its text, so that one can be added or taken out and the rest stays.

Only for text that a parser has accepted. A name that occurs twice is refused: which of the two counts is a matter of
the reader.
"""

from __future__ import annotations

import re
from typing import cast

import msgspec

from tangram.wire.errors import WireError, shown

Object = dict[str, object]

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_PLAIN = re.compile(r"[^\s,\]}]+")


class Member(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    start: int
    """Of its name."""
    value: tuple[int, int]


def read_object(text: str, what: str) -> Object:
    """The object that a text is. Raises `WireError`."""
    try:
        parsed = msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise WireError("config-invalid", f"{what} is no JSON: {error}; correct it there") from error
    if not isinstance(parsed, dict):
        raise WireError(
            "config-invalid", f"{what} is {shown(parsed)}; it is one JSON object; correct it there"
        )
    return cast("Object", parsed)


def members_at(text: str, brace: int, what: str) -> tuple[Member, ...]:
    """The members of the object whose brace is there. Raises `WireError` for a name that occurs twice."""
    found: list[Member] = []
    at = _blanks(text, brace + 1)
    while text[at] != "}":
        start = at
        at = _skip(text, at)
        name = str(msgspec.json.decode(text[start:at]))
        first = _blanks(text, _blanks(text, at) + 1)
        last = _skip(text, first)
        if any(each.name == name for each in found):
            raise WireError(
                "config-layout", f"{what} has {shown(name)} twice, and only one can count; remove one of them"
            )
        found.append(Member(name=name, start=start, value=(first, last)))
        at = _blanks(text, last)
        if text[at] == ",":
            at = _blanks(text, at + 1)
    return tuple(found)


def brace_of(text: str) -> int:
    """Where the object of a text begins."""
    return _blanks(text, 0)


def inserted(text: str, brace: int, name: str, value: str, what: str) -> str:
    """The text with one more member, after the last, on a line of its own where the others have theirs."""
    members = members_at(text, brace, what)
    written = f"{msgspec.json.encode(name).decode()}: {value}"
    if not members:
        return f"{text[: brace + 1]}{written}{text[brace + 1 :]}"
    last = members[-1]
    between = text[members[-2].value[1] : last.start] if len(members) > 1 else text[brace + 1 : last.start]
    gap = between.lstrip(" \t\r\n").removeprefix(",") if len(members) > 1 else between
    end = last.value[1]
    return f"{text[:end]},{gap or ' '}{written}{text[end:]}"


def removed(text: str, brace: int, name: str, what: str) -> str:
    """The text without a member."""
    members = members_at(text, brace, what)
    for number, each in enumerate(members):
        if each.name != name:
            continue
        if number:
            return text[: members[number - 1].value[1]] + text[each.value[1] :]
        if len(members) > 1:
            return text[: each.start] + text[members[1].start :]
        return text[: each.start] + text[each.value[1] :]
    return text


def _blanks(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _skip(text: str, at: int) -> int:
    """Past the value that begins here."""
    if text[at] == '"':
        return _past(_STRING, text, at)
    if text[at] not in "[{":
        return _past(_PLAIN, text, at)
    depth = 0
    while True:
        if text[at] == '"':
            at = _past(_STRING, text, at)
            continue
        depth += (text[at] in "[{") - (text[at] in "]}")
        at += 1
        if depth == 0:
            return at


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else len(text)
