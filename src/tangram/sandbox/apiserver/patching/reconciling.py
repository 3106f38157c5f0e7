"""Owned fields brought in line with a shape that has changed since they were written down.

When a definition is updated so that a list or map is now owned as a whole, whoever owned a part of it owns all of it.
The other way round nothing is done: an owner of the whole stays one until the next write.
"""

from __future__ import annotations

from tangram.sandbox.apiserver.patching.elements import Element, field_name
from tangram.sandbox.apiserver.patching.facets import below, item_shape, whole_list, whole_map
from tangram.sandbox.apiserver.patching.fields import Fields
from tangram.sandbox.apiserver.shape import Shape


def reconciled(fields: Fields, shape: Shape) -> Fields:
    """The same owner's fields under the shape of now."""
    members = set(fields.members)
    children: dict[Element, Fields] = {}
    for element, under in fields.children.items():
        name = field_name(element)
        known = item_shape(shape) if name is None else below(shape, name)
        if known is None or not (known.properties or known.values or known.items or known.atomic):
            children[element] = under
        elif _is_whole(known):
            members.add(element)
        else:
            children[element] = reconciled(under, known)
    return Fields(members, children)


def _is_whole(shape: Shape) -> bool:
    return whole_list(shape) if shape.type == "array" else whole_map(shape)
