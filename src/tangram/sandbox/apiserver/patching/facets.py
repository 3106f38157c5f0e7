"""How a place of an object is owned and merged, as its shape says: field by field, element by element, or whole.

Where the shape knows nothing the value decides: maps are then owned key by key and lists as a whole, which is what the
real server does with fields that a schema leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, cast

from tangram.sandbox.apiserver.patching.copying import Json
from tangram.sandbox.apiserver.patching.elements import Element, keyed, valued
from tangram.sandbox.apiserver.shape import ANYTHING, MISSING, Shape

_RAW: Final = "io.k8s.apimachinery.pkg.runtime.RawExtension"
_ZERO: Final = {"string": "", "integer": 0, "number": 0, "boolean": False}


class Facet(Enum):
    MAP = "map"
    LIST = "list"
    SCALAR = "scalar"


class Unfit(ValueError):  # noqa: N818 - says what it is
    """An element of a list that cannot be found again by what it holds."""


def facet(shape: Shape, value: object) -> Facet:
    """What to treat the value as: what it should be, and only where that is open what it is."""
    if shape.type == "object":
        return Facet.MAP
    if shape.type == "array":
        return Facet.LIST
    if shape.type != "any" or shape.int_or_string:
        return Facet.SCALAR
    if isinstance(value, list):
        return Facet.LIST
    return Facet.MAP if value is None or isinstance(value, dict) else Facet.SCALAR


def fields_of(value: object) -> dict[str, Json]:
    """Of what is no map, and of null: none."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def items_of(value: object) -> list[Json]:
    """Of what is no list, and of null: none."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def below(shape: Shape, name: str) -> Shape | None:
    """The shape of a field; None if there may be no such field."""
    known = shape.properties.get(name)
    if known is not None:
        return known
    if shape.values is not None:
        return shape.values
    return ANYTHING if shape.preserve or not shape.properties else None


def item_shape(shape: Shape) -> Shape:
    """Of every element of a list."""
    return shape.items or ANYTHING


def whole_map(shape: Shape) -> bool:
    """Whether nobody can own only a part."""
    return shape.atomic or shape.definition == _RAW


def whole_list(shape: Shape) -> bool:
    """Whether nobody can own only some elements. Where no list type is stated, the patch strategy speaks for it."""
    if shape.list_type:
        return shape.list_type == "atomic"
    return "merge" not in shape.strategies


def element_of(shape: Shape, item: object) -> Element:
    """The step to an element of a list that is not owned as a whole. Raises `Unfit`."""
    names = _keys(shape)
    if not names:
        return _in_a_set(item)
    if item is None:
        raise Unfit("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise Unfit("associative list with keys may not have non-map elements")
    held = fields_of(cast("object", item))
    keys: dict[str, Json] = {}
    for name in names:
        value = held[name] if name in held else _unsaid(item_shape(shape), name)
        if value is not MISSING:
            keys[name] = value
    if not keys:
        listed = " ".join(f'"{name}"' for name in names)
        raise Unfit(
            f"associative list with keys has an element that omits all key fields [{listed}] "
            "(and doesn't have default values for any key fields)"
        )
    return keyed(keys)


def _keys(shape: Shape) -> Sequence[str]:
    if shape.list_type:
        return shape.list_keys if shape.list_type == "map" else ()
    return (shape.merge_key,) if shape.merge_key else ()


def _unsaid(shape: Shape, name: str) -> Json:
    """What a key is that the element does not state: its default, or what Go fills in."""
    known = shape.properties.get(name)
    if known is None or known.default is not MISSING:
        return MISSING if known is None else known.default
    return _ZERO.get(known.type, MISSING) if shape.definition and name in shape.required else MISSING


def _in_a_set(item: object) -> Element:
    if isinstance(item, dict):
        raise Unfit("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise Unfit("not supported: associative list with lists as elements")
    if item is None:
        raise Unfit("associative list without keys has an element that's an explicit null")
    return valued(item)
