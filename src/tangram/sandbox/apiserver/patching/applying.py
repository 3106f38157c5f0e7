"""Server-side apply: a manager states the fields it cares about, and owns exactly those from then on.

The stated fields are merged into the object. Fields the manager stated last time and states no more are removed if
nobody else owns them. Changing what somebody else owns is a conflict, unless the manager forces its way, and then the
others lose those fields. Stating a value that is already there makes both owners.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.patching.claiming import claimed, faults
from tangram.sandbox.apiserver.patching.comparing import compared
from tangram.sandbox.apiserver.patching.conflicts import Conflict, conflict_refusal, listed
from tangram.sandbox.apiserver.patching.copying import duplicate
from tangram.sandbox.apiserver.patching.facets import Unfit, fields_of
from tangram.sandbox.apiserver.patching.fields import Fields
from tangram.sandbox.apiserver.patching.last_applied import KUBECTL, applied_before, brought_up_to_date
from tangram.sandbox.apiserver.patching.managers import (
    APPLY,
    UPDATE,
    Holding,
    Managed,
    Owner,
    entries_of,
    owner,
    read,
    with_entries,
    without_entries,
)
from tangram.sandbox.apiserver.patching.merging import merged
from tangram.sandbox.apiserver.patching.pruning import pruned
from tangram.sandbox.apiserver.patching.reconciling import reconciled
from tangram.sandbox.apiserver.patching.refusing import server_error
from tangram.sandbox.apiserver.patching.resets import NEVER_OWNED, ownable, ownable_change
from tangram.sandbox.apiserver.patching.tracking import empty, updated
from tangram.sandbox.apiserver.refusals import bad_request
from tangram.sandbox.apiserver.rules.written import as_written
from tangram.sandbox.apiserver.shape import Shape

_BEFORE: str = "before-first-apply"


class _Applied(NamedTuple):
    thing: Object
    managed: dict[Owner, Holding]
    conflicts: list[Conflict]


def server_side_apply(
    live: Object | None,
    wanted: Object,
    shape: Shape,
    *,
    manager: str,
    force: bool,
    api_version: str,
    subresource: str,
    now: str,
    status_apart: bool = True,
) -> Object:
    """The object with `wanted` applied; `live` is None when there is none yet. Raises `Refused`.

    `status_apart` says of a kind that people defined whether it has a `status` subresource.
    """
    _refuse_strangers(wanted, shape, api_version)
    bare = without_entries(live) if live is not None else empty(shape)
    try:
        managed: Managed = read(entries_of(live)) if live is not None else {}
    except ValueError as error:
        raise server_error(f"failed to decode managed fields: {error}") from error
    one = owner(manager, APPLY, api_version, subresource)
    try:
        if not managed:
            first = owner(_BEFORE, UPDATE, api_version, subresource)
            everything = compared(empty(shape), bare, shape)
            managed = updated({}, everything, shape, first, now, status_apart=status_apart)
        done = _applied(_Step(bare, wanted, shape, managed, one, api_version, now, status_apart), force=force)
    except Unfit as unfit:
        raise server_error(f"failed to create typed live object ({_said(bare)}): {unfit}") from unfit
    return with_entries(done.thing, done.managed)


class _Step(NamedTuple):
    live: Object
    wanted: Object
    shape: Shape
    managed: Managed
    owner: Owner
    api_version: str
    now: str
    status_apart: bool


def _applied(step: _Step, *, force: bool) -> _Applied:
    """Applied, with what `kubectl` alone is allowed. Raises `Refused` for conflicts."""
    done = _apply(step, force=force)
    if done.conflicts and step.owner.manager == KUBECTL:
        allowed = applied_before(step.live, step.shape, step.api_version)
        left = [conflict for conflict in done.conflicts if conflict.path not in allowed]
        done = _apply(step, force=True) if not left else done._replace(conflicts=left)
    if done.conflicts:
        raise conflict_refusal(done.conflicts)
    if step.owner.manager == KUBECTL:
        return done._replace(thing=brought_up_to_date(done.thing, step.wanted))
    return done


def _apply(step: _Step, *, force: bool) -> _Applied:
    shape, one = step.shape, step.owner
    known = {
        each: held._replace(fields=reconciled(held.fields, shape)) for each, held in step.managed.items()
    }
    last = known.get(one)
    stated = ownable(claimed(step.wanted, shape), shape, one.subresource, status_apart=step.status_apart)
    known[one] = Holding(stated, step.api_version, last.time if last else "")
    joined: Any = merged(step.live, step.wanted, shape)
    owned = Fields()
    for held in known.values():
        owned |= held.fields
    joined = pruned(joined, shape, last=last.fields if last else Fields(), owned=owned) or {}
    change = compared(step.live, joined, shape)
    change = ownable_change(change, shape, one.subresource, status_apart=step.status_apart)
    taken = change.modified | change.added
    contested = {each: held.fields & taken for each, held in known.items() if each != one}
    contested = {each: fields for each, fields in contested.items() if fields}
    if contested and not force:
        return _Applied(step.live, known, listed(contested))
    gone = taken | change.removed
    for each, held in list(known.items()):
        if each != one:
            known[each] = held._replace(fields=held.fields - gone)
    known[one] = known[one]._replace(fields=stated - NEVER_OWNED)
    if joined != step.live:
        known[one] = known[one]._replace(time=step.now)
    settled = duplicate(cast("Object", joined))
    if shape.definition:
        as_written(settled, shape.definition)
    return _Applied(settled, {each: held for each, held in known.items() if held.fields}, [])


def _refuse_strangers(wanted: Object, shape: Shape, api_version: str) -> None:
    """What is no configuration of this kind, or states more than one may."""
    expected = shape.definition.rpartition(".")[2]
    if wanted.get("apiVersion") != api_version or (expected and wanted.get("kind") != expected):
        raise bad_request(f"invalid object type: {_kind_said(wanted)}")
    if entries_of(wanted) is not None:
        raise bad_request("metadata.managedFields must be nil")
    wrong = faults(wanted, shape)
    if wrong:
        listed_all = wrong[0] if len(wrong) == 1 else "\n  ".join(["errors:", *wrong])
        raise server_error(f"failed to create typed patch object ({_said(wanted)}): {listed_all}")


def _said(thing: Object) -> str:
    """An object as the server's own errors name it."""
    metadata = fields_of(thing.get("metadata"))
    return f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {_kind_said(thing)}"


def _kind_said(thing: Object) -> str:
    version, kind = str(thing.get("apiVersion") or ""), thing.get("kind") or ""
    return f"{version if '/' in version else f'/{version}'}, Kind={kind}"
