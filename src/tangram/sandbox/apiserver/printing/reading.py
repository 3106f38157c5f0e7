"""Fields of objects, read so that one which is absent gives what an absent field means: nothing, zero, no elements.

The server keeps only what it has checked, but the bookmark of a watch is an object of the same kind with next to
nothing in it, and it is printed like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.kube.objects import Object
from tangram.units.quantity import QuantityError, parse_quantity
from tangram.wire import loose

Members = Mapping[str, object]

NONE: Final = "<none>"
UNSET: Final = "<unset>"


def at(thing: object, *path: str) -> object:
    """What stands at a path, None where it does not lead anywhere."""
    for key in path:
        thing = loose.members(thing).get(key)
    return thing


def text(thing: object, *path: str, otherwise: str = "") -> str:
    """The text at a path, or another one where that is missing or empty."""
    return loose.text(at(thing, *path)) or otherwise


def number(thing: object, *path: str) -> int:
    """The whole number at a path; zero where there is none."""
    return loose.integer(at(thing, *path)) or 0


def truth(thing: object, *path: str) -> bool:
    """Whether `true` stands at a path."""
    return at(thing, *path) is True


def each(thing: object, *path: str) -> list[Members]:
    """The objects of a list."""
    return [loose.members(element) for element in loose.elements(at(thing, *path))]


def texts(thing: object, *path: str) -> list[str]:
    """The texts of a list."""
    return [loose.text(element) for element in loose.elements(at(thing, *path))]


def name_of(thing: Object) -> str:
    """What an object is called."""
    return text(thing, "metadata", "name")


def is_going(thing: Object) -> bool:
    """Whether it is being deleted."""
    return at(thing, "metadata", "deletionTimestamp") is not None


def condition(thing: Object, kind: str) -> Members | None:
    """The first condition of that type in its status."""
    return next((one for one in each(thing, "status", "conditions") if one.get("type") == kind), None)


def is_true(found: Members | None) -> bool:
    """Whether a condition is there and holds."""
    return found is not None and found.get("status") == "True"


def quantity(value: object) -> str:
    """A quantity as the server writes it; nothing counts as zero."""
    written = loose.scalar_text(value)
    if written is None:
        return "0"
    try:
        return str(parse_quantity(written))
    except QuantityError:
        return written
