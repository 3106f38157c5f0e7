"""YAML bodies as the server reads them: turned into what the same JSON would have been.

The words that mean true, false and nothing, octal numbers and dates that stay text follow the reader that Kubernetes
uses, not the library's, which takes 12:30 for a number and 2024-01-31 for a date. Most bodies that say they are YAML
are JSON, so that is tried first, at a tenth of the cost.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Final, cast

import yaml

from tangram.daemon.yaml_text import MOST_DEPTH, line_too_deep, problem_of
from tangram.kube.objects import Object
from tangram.sandbox.apiserver.schemas.reading import Unreadable, as_object, parsed, unrecognized

_TAG: Final = "tag:yaml.org,2002:"
_TRUE: Final = frozenset(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"))
_FALSE: Final = frozenset(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"))
_NULL: Final = frozenset(["", "~", "null", "Null", "NULL"])
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASES: Final = {"0x": 16, "0o": 8, "0b": 2}
_UNSIGNED: Final = 2**64
_SIGNED: Final = -(2**63)
_MOST_VALUES: Final = 100_000
"""Of a document with aliases, once each stands where it is used."""


class _Loader(yaml.CSafeLoader):
    """Builds plain JSON values and notes keys that stand twice."""

    # Every plain word but the sign of a merge is resolved by `_plain`; the library's own tables are not used.
    yaml_implicit_resolvers = {"<": [(f"{_TAG}merge", re.compile("<<"))]}  # noqa: RUF012 - the library's own form

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.twice: Final[list[str]] = []


def read_yaml(text: bytes, kind: str = "") -> tuple[Object, list[str]]:
    """As `read_json`, for a YAML body. Repeated keys are told in one text, as they are all found together."""
    if text.lstrip()[:1] == b"{":
        try:
            thing, twice = parsed(text)
        except Unreadable:
            pass
        else:
            if not twice:
                return as_object(thing, text, kind), []
    readable = text.decode("utf-8", errors="replace")
    try:
        line = line_too_deep(readable)
        if line is not None:
            raise unrecognized(f"yaml: line {line}: nested more than {MOST_DEPTH} deep", text, kind)
        loader = _Loader(readable)
        try:
            thing = cast("object", loader.get_single_data())
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = "" if mark is None else f"line {mark.line + 1}: "
        raise unrecognized(f"yaml: {where}{problem_of(error)}", text, kind) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise unrecognized(f"yaml: {' '.join(str(error).split()):.200}", text, kind) from None
    except (LookupError, TypeError):
        # The library believes a tag, and looks in an empty text for the first digit of a number.
        raise unrecognized("yaml: a value is not what its tag says", text, kind) from None
    if b"*" in text:
        thing = _unshared(thing, [_MOST_VALUES], text, kind)
    told = (
        ["\n".join(["yaml: unmarshal errors:", *(f"  {each}" for each in loader.twice)])]
        if loader.twice
        else []
    )
    return as_object(thing, text, kind), told


def _unshared(thing: object, left: list[int], text: bytes, kind: str) -> object:
    """A copy in which nothing is in two places: what follows changes objects, and nine aliases can be a billion."""
    left[0] -= 1
    if left[0] < 0:
        raise unrecognized("yaml: document contains excessive aliasing", text, kind)
    match thing:
        case dict():
            fields = cast("dict[str, object]", thing)
            return {key: _unshared(inner, left, text, kind) for key, inner in fields.items()}
        case list():
            return [_unshared(inner, left, text, kind) for inner in cast("list[object]", thing)]
        case _:
            return thing


def _as_map(loader: _Loader, node: yaml.MappingNode) -> dict[str, object]:
    loader.flatten_mapping(node)
    made: dict[str, object] = {}
    for key_node, value_node in node.value:
        key = _built(loader, key_node)
        if not isinstance(key, str | bool | int | float):
            problem = f"a key of a map must be a word, not {type(key).__name__}"
            raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
        name = key if isinstance(key, str) else _as_word(key)
        if name in made:
            loader.twice.append(f'line {key_node.start_mark.line + 1}: key "{name}" already set in map')
        made[name] = _built(loader, value_node)
    return made


def _built(loader: _Loader, node: yaml.Node) -> object:
    build = cast("Callable[..., object]", loader.construct_object)
    return build(node, deep=True)


def _as_list(loader: _Loader, node: yaml.SequenceNode) -> list[object]:
    return [_built(loader, each) for each in node.value]


def _as_scalar(loader: _Loader, node: yaml.ScalarNode) -> object:
    text = str(loader.construct_scalar(node))
    # A style marks quotes or a block: such a text is one, whatever it spells.
    return text if node.style else _plain(text)


def _plain(text: str) -> object:
    """What an unquoted word stands for."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    digits = text.replace("_", "")
    if digits[:1].isdigit() or digits[:1] in "+-.":
        whole = _whole(digits)
        if whole is not None:
            return whole
        if _FLOAT.fullmatch(digits):
            number = float(digits)
            if math.isfinite(number):
                return number
    return text


def _whole(digits: str) -> int | None:
    unsigned = digits.lstrip("+-")
    if len(digits) - len(unsigned) > 1 or len(unsigned) > 70:
        return None
    base = _BASES.get(unsigned[:2].lower())
    body = unsigned[2:] if base else unsigned
    if base is None:
        base = 8 if len(unsigned) > 1 and unsigned[0] == "0" else 10
    if not body.isascii() or not body.isalnum():
        return None
    try:
        number = int(body, base) * (-1 if digits[0] == "-" else 1)
    except ValueError:
        return None
    return number if _SIGNED <= number < _UNSIGNED else None


def _as_word(key: bool | float) -> str:  # noqa: FBT001 - a key of a map, not a switch
    return str(key).lower() if isinstance(key, bool) else str(key)


def _as_tagged_text(loader: _Loader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


def _prepare() -> None:
    _Loader.add_constructor(f"{_TAG}map", _as_map)
    _Loader.add_constructor(f"{_TAG}seq", _as_list)
    _Loader.add_constructor(f"{_TAG}str", _as_scalar)
    for word in ("timestamp", "binary"):
        _Loader.add_constructor(f"{_TAG}{word}", _as_tagged_text)


_prepare()
