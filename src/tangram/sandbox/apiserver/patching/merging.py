"""A configuration merged into an object: what it states wins, what it does not mention stays.

Nothing is removed here; what an applier stopped stating is taken away afterwards (`pruning`). Elements of keyed lists
come in the order of the configuration, with those it does not mention left where they were between their neighbours.
"""

from __future__ import annotations

from collections import deque

from tangram.sandbox.apiserver.patching.copying import Json
from tangram.sandbox.apiserver.patching.elements import Element
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
from tangram.sandbox.apiserver.shape import ANYTHING, MISSING, Shape


def merged(live: Json, wanted: Json, shape: Shape) -> Json:
    """`MISSING` where neither has anything, or only empty things on both sides of a list or map."""
    known = live if wanted is MISSING else wanted
    match facet(shape, known):
        case Facet.MAP:
            old, new = fields_of(live), fields_of(wanted)
            if not whole_map(shape) and (old or new):
                return _merged_fields(old, new, shape)
        case Facet.LIST:
            before, after = items_of(live), items_of(wanted)
            if not whole_list(shape) and (before or after):
                return _merged_items(before, after, shape)
        case Facet.SCALAR:
            pass
    return known


def _merged_fields(old: dict[str, Json], new: dict[str, Json], shape: Shape) -> Json:
    made: dict[str, Json] = {}
    for name in {**old, **new}:
        known = below(shape, name) or ANYTHING
        value = merged(old.get(name, MISSING), new.get(name, MISSING), known)
        if value is not MISSING:
            made[name] = value
    return made or MISSING


def _merged_items(live: list[Json], wanted: list[Json], shape: Shape) -> Json:
    old = [element_of(shape, item) for item in live]
    new = [element_of(shape, item) for item in wanted]
    # Elements that are there twice cannot be merged with: what is wanted replaces them.
    before = {
        element: item if old.count(element) == 1 else None for element, item in zip(old, live, strict=True)
    }
    after = dict(zip(new, wanted, strict=True))
    made: list[Json] = []
    for position, element in _interleaved(old, new):
        item = live[position] if element not in after else before.get(element, MISSING)
        value = merged(item, after.get(element, MISSING), item_shape(shape))
        if value is not MISSING:
            made.append(value)
    return made or MISSING


def _interleaved(old: list[Element], new: list[Element]) -> list[tuple[int, Element]]:
    """The elements of both in their order, each with where it is in the old list if it is only there."""
    known, wanted = set(old), set(new)
    shared = deque(element for element in new if element in known)
    taken: set[Element] = set()
    order: list[tuple[int, Element]] = []
    at = to = 0
    while at < len(old) or to < len(new):
        if at < len(old) and to < len(new):
            if old[at] == new[to]:
                order.append((at, old[at]))
                taken.add(old[at])
                at, to = at + 1, to + 1
                if shared:
                    shared.popleft()
                continue
            if old[at] in wanted and shared and shared[0] != old[at]:
                at += 1
                continue
        if at < len(old):
            if old[at] not in wanted:
                order.append((at, old[at]))
                at += 1
                continue
            if old[at] in taken:
                at += 1
        if to < len(new):
            order.append((-1, new[to]))
            taken.add(new[to])
            if shared and shared[0] == new[to]:
                shared.popleft()
            to += 1
    return order
