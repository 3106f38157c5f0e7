"""What changed between two versions of an object, told as sets of fields.

Equal branches are passed over without a look inside, which is what makes it cheap to ask at every write: most writes
change a handful of fields of an object with hundreds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tangram.sandbox.apiserver.patching.copying import Json
from tangram.sandbox.apiserver.patching.elements import Element
from tangram.sandbox.apiserver.patching.elements import field as step_to
from tangram.sandbox.apiserver.patching.facets import (
    Facet,
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
from tangram.sandbox.apiserver.shape import ANYTHING, MISSING, Shape

_Step = tuple[Element, ...]


@dataclass(slots=True)
class Change:
    removed: Fields = field(default_factory=Fields)
    modified: Fields = field(default_factory=Fields)
    added: Fields = field(default_factory=Fields)

    def without(self, branches: Fields) -> Change:
        return Change(
            self.removed.without_branches(branches),
            self.modified.without_branches(branches),
            self.added.without_branches(branches),
        )

    def only(self, branches: Fields) -> Change:
        return Change(
            self.removed.only_branches(branches),
            self.modified.only_branches(branches),
            self.added.only_branches(branches),
        )


def compared(before: object, after: object, shape: Shape) -> Change:
    """Raises `Unfit` for lists whose elements cannot be told apart."""
    change = Change()
    _compare(before, after, shape, (), change)
    return change


def _compare(before: Json, after: Json, shape: Shape, path: _Step, change: Change) -> None:
    if before is not MISSING and after is not MISSING and before == after:
        return
    leaf = False
    for kind in _kinds(before, after, shape):
        match kind:
            case Facet.SCALAR:
                leaf = True
            case Facet.LIST:
                old, new = items_of(before), items_of(after)
                leaf = whole_list(shape) or not (old or new)
                if not leaf:
                    _compare_items(old, new, shape, path, change)
            case Facet.MAP:
                leaf = whole_map(shape) or not (fields_of(before) or fields_of(after))
                if not leaf:
                    _compare_fields(before, after, shape, path, change)
        if leaf and before is not MISSING and after is not MISSING:
            change.modified.insert(path)
    if before is MISSING:
        change.added.insert(path)
    elif after is MISSING:
        change.removed.insert(path)


def _kinds(before: Json, after: Json, shape: Shape) -> tuple[Facet, ...]:
    """One, unless the place turned from one kind of value into another."""
    if after is MISSING:
        return (facet(shape, before),)
    new = facet(shape, after)
    if before is MISSING:
        return (new,)
    old = facet(shape, before)
    return (new,) if old is new else (old, new)


def _compare_fields(before: Json, after: Json, shape: Shape, path: _Step, change: Change) -> None:
    old, new = fields_of(before), fields_of(after)
    for name in {**old, **new}:
        step = (*path, step_to(name))
        known = below(shape, name) or ANYTHING
        _compare(old.get(name, MISSING), new.get(name, MISSING), known, step, change)


def _compare_items(old: list[Json], new: list[Json], shape: Shape, path: _Step, change: Change) -> None:
    """Elements with the same keys are compared one to one; several with the same are one thing, changed as a whole."""
    before, after = _by_step(old, shape), _by_step(new, shape)
    for element in {**before, **after}:
        ours, theirs = before.get(element, []), after.get(element, [])
        step = (*path, element)
        if len(ours) <= 1 and len(theirs) <= 1:
            first = ours[0] if ours else MISSING
            _compare(first, theirs[0] if theirs else MISSING, item_shape(shape), step, change)
        elif len(ours) > 1 and len(theirs) > 1:
            if ours != theirs:
                change.modified.insert(step)
        elif len(ours) > 1:
            if theirs:
                _compare(MISSING, theirs[0], item_shape(shape), step, change)
            change.removed.insert(step)
        else:
            if ours:
                _compare(ours[0], MISSING, item_shape(shape), step, change)
            change.added.insert(step)


def _by_step(items: list[Json], shape: Shape) -> dict[Element, list[Json]]:
    found: dict[Element, list[Json]] = {}
    for item in items:
        found.setdefault(element_of(shape, item), []).append(item)
    return found
