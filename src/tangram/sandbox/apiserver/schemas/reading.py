"""JSON bodies as the server reads them: what was sent, which fields were written twice, and a refusal for the rest.

A field that is written twice is kept once, the last one, and told: whoever sent it decides through `fieldValidation`
what that means. What is no JSON object at all is refused in the words of the real server, because people search for
those. Nesting ends earlier than there (200 levels, not 10,000), so that everything behind may follow it by recursion.
"""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterator
from typing import Any, Final, NoReturn, cast

from tangram.daemon.yaml_text import MOST_DEPTH
from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Refused, bad_request

_SHOWN: Final = 30
"""How many bytes of an unreadable body are quoted."""
_ONLY_VERSION_AND_KIND: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
_COMPLAINTS: Final = {
    "Expecting value": "looking for beginning of value",
    "Extra data": "after top-level value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Illegal trailing comma before end of object": "looking for beginning of object key string",
    "Illegal trailing comma before end of array": "looking for beginning of value",
    "Expecting ':' delimiter": "after object key",
    "Invalid control character at": "in string literal",
    "Invalid \\escape": "in string escape code",
    "Invalid \\uXXXX escape": "in \\u hexadecimal character escape",
}


class Unreadable(ValueError):  # noqa: N818 - says what is the case
    """A text that stands for no JSON value, or for one that no object can hold; the message is the server's."""


def read_json(text: bytes, kind: str = "") -> tuple[Object, list[str]]:
    """The object of a body, and what is to be said of fields that stand in it twice.

    `kind` is what the path asks for, named when the body cannot be read. Raises `Refused`.
    """
    try:
        thing, twice = parsed(text)
    except Unreadable as error:
        raise unrecognized(f"couldn't get version/kind; json parse error: {error}", text, kind) from None
    return as_object(thing, text, kind), twice


def as_object(thing: object, text: bytes, kind: str) -> Object:
    """What was read, if it can be an API object. Raises `Refused`."""
    if thing is None:
        return {}
    if not isinstance(thing, dict):
        complaint = f"json: cannot unmarshal {name_of(thing)} into Go value of type {_ONLY_VERSION_AND_KIND}"
        raise unrecognized(f"couldn't get version/kind; json parse error: {complaint}", text, kind)
    found = cast("Object", thing)
    for field in ("apiVersion", "kind"):
        said = found.get(field)
        if said is not None and not isinstance(said, str):
            complaint = f"json: cannot unmarshal {name_of(said)} into Go struct field .{field} of type string"
            raise unrecognized(f"couldn't get version/kind; json parse error: {complaint}", text, kind)
    return found


def parsed(text: bytes) -> tuple[object, list[str]]:
    """The JSON value of a text and its repeated fields. Raises `Unreadable`."""
    repeated: dict[int, list[str]] = {}

    def as_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            seen: set[str] = set()
            again = [key for key, _ in pairs if key in seen or seen.add(key)]
            # The dict lives as long as the value it is part of, and only then is its number looked at.
            repeated[id(made)] = list(dict.fromkeys(again))
            kept.append(made)
        return made

    kept: list[dict[str, Any]] = []
    readable = text.decode("utf-8", errors="replace")
    try:
        value: object = json.loads(
            readable, object_pairs_hook=as_dict, parse_constant=_refuse_constant, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        raise Unreadable(_complaint(error)) from None
    except RecursionError:
        raise Unreadable("exceeded max depth") from None
    except Unreadable:
        raise
    except ValueError:
        raise Unreadable(
            "json: cannot unmarshal number with thousands of digits into Go value of type int64"
        ) from None
    # What has few brackets cannot be deep, and most bodies have few.
    if text.count(b"{") + text.count(b"[") > MOST_DEPTH and _deeper_than(value, MOST_DEPTH):
        raise Unreadable("exceeded max depth")
    if b"\\u" in text:
        value = _without_lone_surrogates(value)
    texts = [f'duplicate field "{path}"' for path in _paths(value, repeated, "")] if repeated else []
    return value, texts


def name_of(value: object) -> str:
    """The word for a JSON value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def unrecognized(what: str, text: bytes, kind: str) -> Refused:
    """The refusal of a body in which no object can be found."""
    shown = text[:_SHOWN]
    more = " ..." if len(text) > _SHOWN else ""
    if not text:
        quoted = "<empty>"
    elif text.lstrip()[:1] == b"{":
        quoted = shown.decode("utf-8", errors="replace")
    else:
        quoted = shown.hex()
    wanted = f" (must be of type {kind})" if kind else ""
    return bad_request(f"the object provided is unrecognized{wanted}: {what} ({quoted}{more})")


def _paths(value: object, repeated: dict[int, list[str]], path: str) -> Iterator[str]:
    match value:
        case dict():
            twice = repeated.get(id(cast("object", value)), [])
            for key, inner in cast("dict[str, object]", value).items():
                below = f"{path}.{key}" if path else key
                if key in twice:
                    yield below
                yield from _paths(inner, repeated, below)
        case list():
            for number, inner in enumerate(cast("list[object]", value)):
                yield from _paths(inner, repeated, f"{path}[{number}]")
        case _:
            return


def _deeper_than(value: object, most: int) -> bool:
    level = [value]
    for _ in range(most + 1):
        below: list[object] = []
        for each in level:
            if isinstance(each, dict):
                below.extend(cast("dict[str, object]", each).values())
            elif isinstance(each, list):
                below.extend(cast("list[object]", each))
        if not below:
            return False
        level = below
    return True


def _without_lone_surrogates(value: object) -> object:
    """Half of a pair of escapes is no letter: it becomes the sign for one that cannot be shown, in place."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "replace_half").decode("utf-8")
        case dict():
            fields = cast("dict[str, object]", value)
            for key, inner in list(fields.items()):
                sound = cast("str", _without_lone_surrogates(key))
                if sound != key:
                    del fields[key]
                fields[sound] = _without_lone_surrogates(inner)
            return fields
        case list():
            items = cast("list[object]", value)
            items[:] = [_without_lone_surrogates(inner) for inner in items]
            return items
        case _:
            return value


def _replace_half(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "\ufffd".encode() * (error.end - error.start), error.end


codecs.register_error("replace_half", _replace_half)


def _complaint(error: json.JSONDecodeError) -> str:
    if error.pos >= len(error.doc) or error.msg == "Unterminated string starting at":
        return "unexpected end of JSON input"
    letter = _letter(error)
    found = letter if letter == '"' else json.dumps(letter, ensure_ascii=False)[1:-1]
    if error.msg == "Expecting ',' delimiter":
        where = (
            "after array element"
            if _innermost(error.doc[: error.pos]) == "["
            else "after object key:value pair"
        )
    else:
        where = _COMPLAINTS.get(error.msg, "looking for beginning of value")
    return f"invalid character '{found}' {where}"


def _letter(error: json.JSONDecodeError) -> str:
    """The letter that Go would stop at: behind a backslash, and behind a comma that nothing follows."""
    rest = error.doc[error.pos :]
    if error.msg.startswith("Invalid \\escape") and len(rest) > 1:
        return rest[1]
    if error.msg.startswith("Illegal trailing comma"):
        return rest[1:].lstrip()[:1] or rest[0]
    return rest[0]


def _innermost(text: str) -> str:
    """The bracket that is open at the end of a text; brackets inside strings do not count."""
    opened: list[str] = []
    quoted = escaped = False
    for letter in text:
        if escaped:
            escaped = False
        elif quoted:
            escaped, quoted = letter == "\\", letter != '"'
        elif letter == '"':
            quoted = True
        elif letter in "[{":
            opened.append(letter)
        elif letter in "]}" and opened:
            opened.pop()
    return opened[-1] if opened else ""


def _refuse_constant(word: str) -> NoReturn:
    raise Unreadable(f"invalid character '{word.lstrip('-')[0]}' looking for beginning of value")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise Unreadable(f"json: cannot unmarshal number {digits:.40} into Go value of type float64")
    return number
