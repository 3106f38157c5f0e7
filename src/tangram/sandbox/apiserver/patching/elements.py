"""One step of the path to an owned field, in the text that `fieldsV1` writes it with.

`f:spec` is a field, `k:{"name":"x"}` the element of a list that has these keys, `v:"x"` an element of a set, `i:0` a
position. Two steps are the same exactly when their texts are, so the texts made here are canonical: keys sorted, no
blanks, and the escapes that Go's encoder writes. Everything else in this package compares and keeps these texts and
never takes one apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, cast

from tangram.sandbox.apiserver.go_writing import go_json

Element = str
Path = Sequence[Element]

SELF: Final = "."
_KINDS: Final = "fkvi"
_KIND_AND_COLON: Final = 2
_REMEMBERED: Final = 8192


def field(name: str) -> Element:
    """The step to a field of a map."""
    return f"f:{name}"


def keyed(keys: Mapping[str, Any]) -> Element:
    """The step to the element with these keys."""
    return f"k:{go_json({name: _plain(value) for name, value in keys.items()})}"


def valued(value: object) -> Element:
    """The step to an element of a set."""
    return f"v:{go_json(_plain(value))}"


def field_name(element: Element) -> str | None:
    """The field that this step names, if it names one."""
    return element[_KIND_AND_COLON:] if element.startswith("f:") else None


@lru_cache(_REMEMBERED)
def canonical(text: str) -> Element | None:
    """A step somebody wrote; None for a kind of step that is not known. Raises `ValueError` for what is none."""
    if len(text) < _KIND_AND_COLON or text[1] != ":":
        raise ValueError(f"{text!r} is no step of a path")
    if text[0] not in _KINDS:
        return None
    rest = text[_KIND_AND_COLON:]
    match text[0]:
        case "f":
            return text
        case "i":
            return f"i:{int(rest)}"
        case "v":
            return valued(json.loads(rest))
        case _:
            keys = json.loads(rest)
            if not isinstance(keys, dict):
                raise ValueError(f"{rest!r} are no keys")  # noqa: TRY004 - one kind of error for all that is malformed
            return keyed(cast("dict[str, Any]", keys))


@lru_cache(_REMEMBERED)
def _place(element: Element) -> tuple[Any, ...]:
    rest = element[_KIND_AND_COLON:]
    match element[0]:
        case "f":
            return (0, rest)
        case "k":
            return (1, tuple((name, _value_place(value)) for name, value in json.loads(rest).items()))
        case "v":
            return (2, _value_place(json.loads(rest)))
        case _:
            return (3, int(rest))


def _value_place(value: object) -> tuple[int, Any]:
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    return (1, value) if isinstance(value, str) else (3, go_json(value))


def in_order(elements: Iterable[Element]) -> list[Element]:
    """Fields by name, then the elements of lists by what they hold: numbers as numbers, not as texts."""
    return sorted(elements, key=_place)


def path_text(path: Path) -> str:
    """As people read it: `.spec.containers[name="x"].image`."""
    return "".join(_text(element) for element in path)


def _text(element: Element) -> str:
    rest = element[_KIND_AND_COLON:]
    match element[0]:
        case "f":
            return f".{rest}"
        case "k":
            return f"[{','.join(f'{name}={go_json(value)}' for name, value in json.loads(rest).items())}]"
        case "v":
            return f"[={go_json(json.loads(rest))}]"
        case _:
            return f"[{rest}]"


def _plain(value: object) -> object:
    """80.0 and 80 are one number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
