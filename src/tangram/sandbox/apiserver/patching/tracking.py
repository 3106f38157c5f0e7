"""Ownership after a create, an update or a patch that is no apply: whoever changes a field owns it from then on.

The real server asks this before admission and before it fills in what it assigns itself, so what webhooks and the
server add is owned by nobody; callers keep to that order. An object that lost its `managedFields` is not tracked any
more until somebody applies.
"""

from __future__ import annotations

from functools import cache

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.patching.comparing import Change, compared
from tangram.sandbox.apiserver.patching.copying import duplicate
from tangram.sandbox.apiserver.patching.facets import Unfit
from tangram.sandbox.apiserver.patching.managers import (
    UPDATE,
    Holding,
    Managed,
    Owner,
    capped,
    entries_of,
    owner,
    read,
    with_entries,
    without_entries,
)
from tangram.sandbox.apiserver.patching.reconciling import reconciled
from tangram.sandbox.apiserver.patching.resets import NEVER_OWNED, ownable_change
from tangram.sandbox.apiserver.rules.written import as_written
from tangram.sandbox.apiserver.shape import Shape


def with_managed_fields(
    before: Object | None,
    after: Object,
    shape: Shape,
    *,
    manager: str,
    api_version: str,
    subresource: str,
    now: str,
    status_apart: bool = True,
) -> Object:
    """`after`, with who owns what. `before` is None for a create.

    `status_apart` says of a kind that people defined whether it has a `status` subresource.
    """
    if after == before:
        return after
    managed = _known(before, after, subresource)
    bare = without_entries(after)
    if not managed and before is not None:
        return bare
    one = owner(manager, UPDATE, api_version, subresource)
    live = empty(shape) if before is None else without_entries(before)
    try:
        managed = updated(managed, compared(live, bare, shape), shape, one, now, status_apart=status_apart)
    except Unfit:
        # As the real server: an object nobody can keep books about is stored without any.
        return bare
    return with_entries(bare, capped(managed))


def updated(
    managed: Managed, change: Change, shape: Shape, one: Owner, now: str, *, status_apart: bool
) -> dict[Owner, Holding]:
    """The owners after `one` made the change."""
    change = ownable_change(change, shape, one.subresource, status_apart=status_apart)
    taken = change.modified | change.added
    gone = taken | change.removed
    left = dict(managed)
    if gone:
        left = {
            each: held._replace(fields=reconciled(held.fields, shape) - gone)
            for each, held in managed.items()
        }
    kept = {each: held for each, held in left.items() if held.fields}
    own = taken - NEVER_OWNED
    if own:
        previous = kept.get(one)
        joined = own if previous is None else own | previous.fields
        kept[one] = Holding(joined, one.api_version, now)
    return kept


def empty(shape: Shape) -> Object:
    """An object of this kind with nothing set: what a create is compared with."""
    return duplicate(_empty(shape.definition))


@cache
def _empty(definition: str) -> Object:
    made: Object = {}
    if definition:
        as_written(made, definition)
    return made


def _known(before: Object | None, after: Object, subresource: str) -> Managed:
    """Those the client sent, unless it sent none; a client that sends an empty list wants them forgotten."""
    live: Managed = {} if before is None else _read_or_nothing(entries_of(before))
    if subresource:
        return live
    sent = entries_of(after)
    return {} if sent in ([], [{}]) else _read_or_nothing(sent) or live


def _read_or_nothing(entries: object) -> Managed:
    try:
        return read(entries)
    except ValueError:
        return {}
