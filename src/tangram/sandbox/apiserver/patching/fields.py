"""Sets of fields: who owns what is said in these, and server-side apply is arithmetic with them.

A set is a tree. At each place stand the members, which belong to the set themselves, and the children, below which
something belongs to it; one does not imply the other. A set is never changed once somebody else has it, so sets share
their branches freely. What is written of one (`fieldsV1`) is made and read here too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from tangram.sandbox.apiserver.patching.elements import SELF, Element, Path, canonical, in_order


class Fields:
    __slots__ = ("children", "members")

    def __init__(
        self, members: Iterable[Element] = (), children: Mapping[Element, Fields] | None = None
    ) -> None:
        self.members: set[Element] = set(members)
        self.children: dict[Element, Fields] = dict(children or {})

    @classmethod
    def of(cls, *paths: Path) -> Fields:
        made = cls()
        for path in paths:
            made.insert(path)
        return made

    def insert(self, path: Path) -> None:
        """Only for whoever is making the set. The whole object, an empty path, is owned by nobody."""
        if not path:
            return
        place = self
        for element in path[:-1]:
            below = place.children.get(element)
            if below is None:
                below = place.children[element] = Fields()
            place = below
        place.members.add(path[-1])

    def __bool__(self) -> bool:
        return bool(self.members) or any(self.children.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and set(self.paths()) == set(other.paths())

    __hash__ = None  # pyright: ignore[reportAssignmentType] - a set that grows while it is made has no hash

    def __contains__(self, path: Path) -> bool:
        place = self
        for element in path[:-1]:
            below = place.children.get(element)
            if below is None:
                return False
            place = below
        return bool(path) and path[-1] in place.members

    def under(self, element: Element) -> Fields:
        return self.children.get(element) or _NONE

    def paths(self, before: tuple[Element, ...] = ()) -> Iterator[tuple[Element, ...]]:
        """Every member in the order they are told to people: those of a place first, then what is below it."""
        for element in in_order(self.members):
            yield (*before, element)
        for element in in_order(self.children):
            yield from self.children[element].paths((*before, element))

    def __or__(self, other: Fields) -> Fields:
        children = dict(self.children)
        for element, theirs in other.children.items():
            ours = children.get(element)
            children[element] = theirs if ours is None else ours | theirs
        return Fields(self.members | other.members, children)

    def __and__(self, other: Fields) -> Fields:
        shared = {e: self.children[e] & other.children[e] for e in self.children if e in other.children}
        return Fields(self.members & other.members, {e: below for e, below in shared.items() if below})

    def __sub__(self, other: Fields) -> Fields:
        """Without the members of the other. What is below one of them stays."""
        children: dict[Element, Fields] = {}
        for element, ours in self.children.items():
            theirs = other.children.get(element)
            left = ours if theirs is None else ours - theirs
            if left:
                children[element] = left
        return Fields(self.members - other.members, children)

    def without_branches(self, other: Fields) -> Fields:
        """Without the members of the other and everything below them."""
        children: dict[Element, Fields] = {}
        for element, ours in self.children.items():
            if element in other.members:
                continue
            theirs = other.children.get(element)
            left = ours if theirs is None else ours.without_branches(theirs)
            if left:
                children[element] = left
        return Fields(self.members - other.members, children)

    def only_branches(self, other: Fields) -> Fields:
        """Only what is on the way to a member of the other, or below one."""
        kept = {
            element: below if element in other.members else below.only_branches(other.under(element))
            for element, below in self.children.items()
        }
        on_the_way = other.members | other.children.keys()
        return Fields(self.members & on_the_way, {element: below for element, below in kept.items() if below})


_NONE = Fields()


def fields_v1(fields: Fields) -> dict[str, Any]:
    """As `fieldsV1`."""
    said: dict[str, Any] = {}
    for element in in_order(fields.members | fields.children.keys()):
        below = fields.children.get(element)
        said[element] = fields_v1(below) if below is not None else {}
        if below is not None and element in fields.members:
            said[element] = {SELF: {}} | said[element]
    return said


def read_fields_v1(said: object) -> Fields:
    """From `fieldsV1`. Raises `ValueError` for what is none; steps of a kind not known yet are left out."""
    if not isinstance(said, dict):
        raise ValueError("fieldsV1 is no object")  # noqa: TRY004 - one kind of error for all that is malformed
    fields = Fields()
    for text, below in cast("dict[str, Any]", said).items():
        if text == SELF:
            continue
        element = canonical(text)
        if element is None:
            continue
        if below == {}:
            fields.members.add(element)
            continue
        under = read_fields_v1(below)
        if under:
            fields.children[element] = under
        if not under or SELF in below:
            fields.members.add(element)
    return fields
