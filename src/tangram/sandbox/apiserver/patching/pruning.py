"""Fields taken out of an object: those an applier stated last time, states no more, and nobody else owns."""

from __future__ import annotations

from tangram.sandbox.apiserver.patching.claiming import claimed
from tangram.sandbox.apiserver.patching.copying import Json
from tangram.sandbox.apiserver.patching.elements import Element, field, field_name
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
from tangram.sandbox.apiserver.shape import ANYTHING, Shape


def pruned(thing: Json, shape: Shape, *, last: Fields, owned: Fields) -> Json:
    """The merged object without what is in `last` and in nobody's `owned` set, the applier's new one included."""
    if not last:
        return thing
    given_up = with_named(last, shape)
    everything = with_named(claimed(thing, shape), shape)
    left = with_named(claimed(without(thing, given_up, shape), shape), shape)
    kept = without(thing, everything - (left | with_named(owned, shape)), shape)
    left = with_named(claimed(kept, shape), shape)
    return without(thing, (everything - left) & given_up, shape)


def with_named(fields: Fields, shape: Shape) -> Fields:
    """With the named fields on the way to a member as members too; keys of free maps are not."""
    members = set(fields.members)
    children: dict[Element, Fields] = {}
    for element, under in fields.children.items():
        name = field_name(element)
        if name is not None and name in shape.properties:
            members.add(element)
        children[element] = with_named(under, _shape_at(shape, name))
    return Fields(members, children)


def _shape_at(shape: Shape, name: str | None) -> Shape:
    if name is None:
        return item_shape(shape)
    return below(shape, name) or ANYTHING


def without(thing: Json, fields: Fields, shape: Shape) -> Json:
    """The object without the members of the set. What was whole and is touched becomes null, as in the real server."""
    match facet(shape, thing):
        case Facet.SCALAR:
            return thing
        case Facet.MAP:
            return None if whole_map(shape) else _without_fields(fields_of(thing), fields, shape)
        case Facet.LIST:
            return None if whole_list(shape) else _without_items(items_of(thing), fields, shape)


def _without_fields(held: dict[str, Json], fields: Fields, shape: Shape) -> Json:
    left: dict[str, Json] = {}
    for name, value in held.items():
        element = field(name)
        if element in fields.members:
            continue
        under = fields.under(element)
        left[name] = without(value, under, below(shape, name) or ANYTHING) if under else value
    return left or None


def _without_items(items: list[Json], fields: Fields, shape: Shape) -> Json:
    left: list[Json] = []
    for item in items:
        element = element_of(shape, item)
        if element in fields.members:
            continue
        under = fields.under(element)
        left.append(without(item, under, item_shape(shape)) if under else item)
    return left or None
