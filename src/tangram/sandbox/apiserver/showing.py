"""From what is stored to what is shown: the version asked for, and the form the client can read.

Events have two faces, of the core group and of events.k8s.io, over one stored object; every other kind with several
versions has the same fields in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.asking import PARTIAL, PARTIAL_LIST, TABLE, Ask
from tangram.sandbox.apiserver.event_names import NEWER_NAMES, with_core_names
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.printing import as_table
from tangram.sandbox.apiserver.store import Resource, Spot

EVENTS: Final = "events.k8s.io"
_LEFT_OUT_EMPTY: Final = frozenset({"reportingComponent", "reportingInstance"})


def resource_of(kind: Kind) -> Resource:
    """What objects of the kind are stored under."""
    return ("", "events") if kind.group == EVENTS else kind.resource


def spot_of(ask: Ask) -> Spot:
    """Where the object that is asked about is kept."""
    return Spot(resource_of(ask.target.kind), ask.target.namespace, ask.target.name)


def stored(kind: Kind, thing: Object) -> Object:
    """The form in which an object is kept."""
    if kind.group != EVENTS:
        return thing
    return with_core_names(thing) | {"apiVersion": "v1"}


def shown(kind: Kind, thing: Object) -> Object:
    """The form of the version asked for."""
    if thing.get("apiVersion") == kind.api_version:
        return thing
    if kind.group == EVENTS:
        thing = {
            NEWER_NAMES.get(key, key): value
            for key, value in thing.items()
            if value or key not in _LEFT_OUT_EMPTY
        }
    return thing | {"apiVersion": kind.api_version}


def partial(thing: Object) -> Object:
    """Only who an object is."""
    return {"kind": PARTIAL, "apiVersion": "meta.k8s.io/v1", "metadata": thing["metadata"]}


def one(ask: Ask, thing: Object, now: datetime, *, headers: bool = True) -> Object:
    """An object as the client wants to see it; `headers` says whether a table tells its columns."""
    kind = ask.target.kind
    if thing.get("kind") != kind.kind:
        # A Status, a Scale, a token: what is not of the kind has one form only.
        return thing
    thing = shown(kind, thing)
    match ask.form.view:
        case view if view == TABLE:
            version = thing["metadata"].get("resourceVersion", "")
            include = ask.query.get("includeObject", "")
            return as_table(kind, [thing], now=now, include=include, headers=headers, version=version)
        case view if view == PARTIAL:
            return partial(thing)
        case _:
            return thing


def many(ask: Ask, things: Sequence[Object], version: str, more: Object, now: datetime) -> Object:
    """A list as the client wants to see it."""
    kind = ask.target.kind
    things = [shown(kind, thing) for thing in things]
    match ask.form.view:
        case view if view == TABLE:
            include = ask.query.get("includeObject", "")
            return as_table(kind, things, now=now, include=include, version=version, more=more)
        case view if view == PARTIAL_LIST:
            items = [partial(thing) for thing in things]
            head = {"kind": PARTIAL_LIST, "apiVersion": "meta.k8s.io/v1"}
        case _:
            head = {"kind": kind.list_kind, "apiVersion": kind.api_version}
            items = things if kind.columns is not None else [_bare(thing) for thing in things]
    return {**head, "metadata": {"resourceVersion": version, **more}, "items": items}


def _bare(thing: Object) -> Object:
    """Elements of built-in lists do not repeat what the list says."""
    return {key: value for key, value in thing.items() if key not in ("kind", "apiVersion")}
