"""What an applied configuration claims: every field it states, and what is wrong with it if it fits no shape.

An applier owns exactly what it writes down, so nothing is left out here for being unknown or badly typed: such a
configuration is refused before anything of it is claimed.
"""

from __future__ import annotations

from collections import Counter
from typing import cast

from tangram.sandbox.apiserver.go_writing import go_text
from tangram.sandbox.apiserver.patching.copying import Json
from tangram.sandbox.apiserver.patching.elements import Element, field, path_text
from tangram.sandbox.apiserver.patching.facets import (
    Facet,
    Unfit,
    below,
    element_of,
    facet,
    fields_of,
    item_shape,
    items_of,
    whole_list,
    whole_map,
)
from tangram.sandbox.apiserver.patching.fields import Fields
from tangram.sandbox.apiserver.shape import ANYTHING, Shape

_Step = tuple[Element, ...]


def claimed(thing: object, shape: Shape) -> Fields:
    """Every field stated. A configuration with faults has no such set; ask `faults` first where it may have some."""
    found = Fields()
    _claim(thing, shape, (), found)
    return found


def _claim(value: object, shape: Shape, path: _Step, found: Fields) -> None:
    match facet(shape, value):
        case Facet.SCALAR:
            found.insert(path)
        case Facet.LIST:
            _claim_list(value, shape, path, found)
        case Facet.MAP:
            _claim_map(value, shape, path, found)


def _claim_list(value: object, shape: Shape, path: _Step, found: Fields) -> None:
    if whole_list(shape):
        found.insert(path)
        return
    items = items_of(value)
    steps = [element_of(shape, item) for item in items]
    repeated = Counter(steps)
    for step, item in zip(steps, items, strict=True):
        found.insert((*path, step))
        if repeated[step] == 1:
            _claim(item, item_shape(shape), (*path, step), found)


def _claim_map(value: object, shape: Shape, path: _Step, found: Fields) -> None:
    if whole_map(shape):
        found.insert(path)
        return
    for name, held in fields_of(value).items():
        step = (*path, field(name))
        _claim(held, below(shape, name) or ANYTHING, step, found)
        if held is None or held == {} or name not in shape.properties:
            found.insert(step)


def faults(thing: object, shape: Shape) -> list[str]:
    """What does not fit the shape, each with its place."""
    found: list[str] = []
    _look(thing, shape, (), found)
    return found


def _look(value: Json, shape: Shape, path: _Step, found: list[str]) -> None:
    kind = facet(shape, value)
    if value is None:
        return
    if kind is Facet.MAP and isinstance(value, dict):
        for name, held in fields_of(cast("object", value)).items():
            known = below(shape, name)
            if known is None:
                found.append(f"{path_text((*path, field(name)))}: field not declared in schema")
                return
            _look(held, known, (*path, field(name)), found)
    elif kind is Facet.LIST and isinstance(value, list):
        _look_at_items(items_of(cast("object", value)), shape, path, found)
    elif kind is Facet.SCALAR:
        wrong = _wrong_scalar(value, shape)
        if wrong:
            found.append(_at(path, wrong))
    else:
        found.append(_at(path, f"expected {kind.value}, got &{{{go_text(value)}}}"))


def _look_at_items(items: list[Json], shape: Shape, path: _Step, found: list[str]) -> None:
    seen: set[Element] = set()
    for position, item in enumerate(items):
        step = f"i:{position}"
        if not whole_list(shape):
            try:
                step = element_of(shape, item)
            except Unfit as unfit:
                found.append(_at(path, f"element {position}: {unfit}"))
                return
            if step in seen:
                found.append(_at(path, f"duplicate entries for key {path_text((step,))}"))
            seen.add(step)
        _look(item, item_shape(shape), (*path, step), found)


def _wrong_scalar(value: object, shape: Shape) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match shape.type:
        case "integer" | "number":
            return "" if number else f"expected numeric (int or float), got {_go_type(value)}"
        case "string" if "format" not in shape.limits or shape.limits["format"] == "byte":
            return "" if isinstance(value, str) else f"expected string, got {_said(value)}"
        case "boolean":
            return "" if isinstance(value, bool) else f"expected boolean, got &{{{go_text(value)}}}"
        case _:
            fits = number or isinstance(value, str | bool)
            return "" if fits else f"expected any scalar, got &{{{go_text(value)}}}"


def _at(path: _Step, wrong: str) -> str:
    return f"{path_text(path)}: {wrong}" if path else wrong


def _said(value: object) -> str:
    """Which of two ways of printing a value the real server takes depends on the sentence."""
    return f"&value.valueUnstructured{{Value:{go_text(value)}}}"


def _go_type(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, dict):
        return "map[string]interface {}"
    return "[]interface {}" if isinstance(value, list) else "string"
