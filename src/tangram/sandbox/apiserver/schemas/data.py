"""The shapes of the built-in kinds, read from the statement beside this module.

`make schemas` writes that statement from what a real API server says of itself (testbed/schemas.py tells its form);
here it becomes shapes, one definition at a time and only when somebody asks, because most runs never look at most of
them. Nothing is added to what the server said: where the statement is silent, so is the shape.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from copy import copy
from functools import cache
from importlib import resources
from typing import Any, Final

from tangram.sandbox.apiserver.shape import Shape, Type

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_PLAIN: Final[Mapping[str, Type]] = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "object": "object",
    "any": "any",
}
_SAID: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    "default": ("default", json.loads),
    "list": ("list_type", str),
    "keys": ("list_keys", lambda value: tuple(value.split(","))),
    "merge": ("merge_key", str),
    "strategy": ("strategies", lambda value: frozenset(value.split(","))),
}
"""Words of a field, each with what it sets in a shape."""
_made: Final[dict[str, Shape]] = {}


def built_in(definition: str) -> Shape:
    """The shape of a definition such as io.k8s.api.core.v1.Pod. Raises `KeyError` for one that is not there."""
    known = _made.get(definition)
    if known is not None:
        return known
    stated = _statement()[definition]
    package = definition.rpartition(".")[0]
    if isinstance(stated, str):
        shape = copy(_of_type(stated, package))
        shape.definition = definition
        _made[definition] = shape
        return shape
    fields = {name: text.split(" ") for name, text in stated.items() if name != "*"}
    shape = Shape(
        type="object",
        definition=definition,
        required=tuple(name for name, words in fields.items() if "required" in words),
        atomic="*" in stated,
    )
    # Known before its fields are: JSONSchemaProps is made of itself.
    _made[definition] = shape
    for name, words in fields.items():
        shape.properties[name] = _field(words, package)
    return shape


@cache
def statement_digest() -> bytes:
    """Changes when the statement does."""
    return hashlib.sha256(_text()).digest()


@cache
def _statement() -> Mapping[str, str | Mapping[str, str]]:
    return json.loads(_text())


def _text() -> bytes:
    return resources.files(__package__ or __name__).joinpath("kubernetes.json").read_bytes()


def _field(words: list[str], package: str) -> Shape:
    shape = _of_type(words[0], package)
    said: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    for word in words[1:]:
        name, _, value = word.partition("=")
        match name:
            case "required":
                continue
            case "atomic" | "granular":
                said["atomic"] = name == "atomic"
            case "enum":
                limits["enum"] = json.loads(value)
            case "of":
                _innermost(shape).limits["enum"] = json.loads(value)
            case _ if name in _SAID:
                attribute, read = _SAID[name]
                said[attribute] = read(value)
            case _:
                raise ValueError(
                    f"the statement of Kubernetes' shapes holds the word {word!r}, which means nothing"
                )
    if not said and not limits:
        return shape
    # What is said of one field must not be heard by the others of its type; `properties` stay shared, so a definition
    # that is still being filled is whole here too as soon as it is.
    own = copy(shape)
    own.limits = shape.limits | limits
    for name, value in said.items():
        setattr(own, name, value)
    return own


def _innermost(shape: Shape) -> Shape:
    """What a list or map of this field, and of no other, is made of."""
    within = shape.items or shape.values
    return shape if within is None else _innermost(within)


def _of_type(text: str, package: str) -> Shape:
    if text.startswith("[]"):
        return Shape(type="array", items=_of_type(text[2:], package))
    if text.startswith("{}"):
        return Shape(type="object", values=_of_type(text[2:], package))
    plain, _, form = text.partition(":")
    if plain == "integer|string":
        return Shape(int_or_string=True, limits={"format": form} if form else {})
    if plain == "string|number":
        # A quantity: written as text or as a number, kept as text.
        return Shape(limits={"oneOf": [Shape(type="string"), Shape(type="number")]})
    known = _PLAIN.get(plain)
    if known is not None:
        free = known in {"object", "any"}
        return Shape(type=known, preserve=free, limits={"format": form} if form else {})
    return built_in(plain if "." in plain else f"{package}.{plain}")
