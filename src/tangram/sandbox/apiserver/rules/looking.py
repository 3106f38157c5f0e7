"""Looking into an object without trusting that its parts are there: what is absent is empty.

Types were checked when the request was read, so these only have to answer for what nobody wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from tangram.kube.objects import Object
from tangram.units.quantity import ZERO, Quantity, QuantityError, parse_quantity


def record(thing: object, *names: str) -> Object:
    """The object at the end of these names."""
    for name in names:
        thing = cast("Object", thing).get(name) if isinstance(thing, dict) else None
    return cast("Object", thing) if isinstance(thing, dict) else {}


def members(value: object) -> Object:
    """The fields of a value; what is no object has none."""
    return cast("Object", value) if isinstance(value, dict) else {}


def records(thing: Object, name: str) -> list[Object]:
    """The objects of a list."""
    value: Any = thing.get(name)
    if not isinstance(value, list):
        return []
    return [cast("Object", each) for each in cast("list[Any]", value) if isinstance(each, dict)]


def placed(thing: Object, name: str, path: str) -> Iterator[tuple[str, Object]]:
    """The objects of a list with the path of each."""
    for position, each in enumerate(records(thing, name)):
        yield f"{path}.{name}[{position}]" if path else f"{name}[{position}]", each


def texts(thing: Object, name: str) -> list[str]:
    """The texts of a list."""
    value: Any = thing.get(name)
    return (
        [each for each in cast("list[Any]", value) if isinstance(each, str)]
        if isinstance(value, list)
        else []
    )


def word(thing: Object, name: str) -> str:
    """A text, empty where there is none."""
    value = thing.get(name)
    return value if isinstance(value, str) else ""


def group_of(api_version: str) -> tuple[str, str]:
    """`apps/v1` in its two halves."""
    group, _, version = api_version.rpartition("/")
    return group, version


def quantity(value: object) -> Quantity:
    """An amount; what is none counts as nothing, for reading it has refused it already."""
    try:
        return parse_quantity(str(value))
    except QuantityError:
        return ZERO


def quantities(thing: Object, name: str) -> dict[str, Quantity]:
    """A list of resources."""
    return {key: quantity(value) for key, value in record(thing, name).items()}
