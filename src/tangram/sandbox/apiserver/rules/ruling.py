"""The form of a kind's rules, and what most kinds have in common.

A kind is described by what it adds: how it is filled in, which of its parts belong to which request, when its
generation goes up, and what is wrong with it. Everything changes the object in place.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.looking import record
from tangram.sandbox.apiserver.rules.metadata import metadata_faults
from tangram.sandbox.apiserver.rules.written import as_written


class Rules(Protocol):
    def complete(self, thing: Object) -> None: ...

    def prepare_create(self, thing: Object) -> None: ...

    def prepare_update(self, new: Object, old: Object, subresource: str) -> None: ...

    def faults(self, new: Object, old: Object | None, subresource: str) -> list[Fault]: ...


def _nothing(*_things: Object) -> None:
    """Most kinds need nothing more."""


def _no_faults(_new: Object, _old: Object | None) -> list[Fault]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What is particular to a kind."""

    fill: Callable[[Object], None] = _nothing
    """Defaults."""
    create: Callable[[Object], None] = _nothing
    update: Callable[[Object, Object], None] = _nothing
    """What a write of the object itself restores: the new object and the old."""
    update_status: Callable[[Object, Object], None] = _nothing
    faults: Callable[[Object, Object | None], list[Fault]] = _no_faults
    status_faults: Callable[[Object, Object], list[Fault]] = lambda _new, _old: []
    keeps_status: bool = False
    """Whether a status sent with a new object stays, as a node's does."""
    counts: tuple[str, ...] = ()
    """The parts whose change is a new generation; none: it has no generation."""


class KindRules:
    """The rules of one kind."""

    def __init__(self, kind: Kind, ruling: Ruling) -> None:
        self._kind = kind
        self._ruling = ruling
        self._has_status = kind.subresource("status") is not None

    def complete(self, thing: Object) -> None:
        as_written(thing, self._kind.definition)
        self._ruling.fill(thing)

    def prepare_create(self, thing: Object) -> None:
        self.complete(thing)
        if self._has_status and not self._ruling.keeps_status:
            thing["status"] = {}
        if self._ruling.counts:
            thing["metadata"]["generation"] = 1
        self._ruling.create(thing)
        self.complete(thing)

    def prepare_update(self, new: Object, old: Object, subresource: str) -> None:
        self.complete(new)
        if subresource == "status":
            for field in [
                field for field in new if field not in {"metadata", "status", "kind", "apiVersion"}
            ]:
                del new[field]
            new |= {
                field: copy.deepcopy(value)
                for field, value in old.items()
                if field not in {"metadata", "status", "kind", "apiVersion"}
            }
            self._ruling.update_status(new, old)
        else:
            if self._has_status:
                _restore(new, old, "status")
            self._ruling.update(new, old)
        self._count(new, old, subresource)

    def faults(self, new: Object, old: Object | None, subresource: str) -> list[Fault]:
        faults = metadata_faults(new, self._kind, old)
        if subresource == "status" and old is not None:
            return _each_once([*faults, *self._ruling.status_faults(new, old)])
        return _each_once([*faults, *self._ruling.faults(new, old)])

    def _count(self, new: Object, old: Object, subresource: str) -> None:
        before = record(old, "metadata").get("generation")
        changed = subresource != "status" and any(
            _part(new, part) != _part(old, part) for part in self._ruling.counts
        )
        if self._ruling.counts:
            new["metadata"]["generation"] = (before or 0) + changed
        elif before is None:
            new["metadata"].pop("generation", None)
        else:
            new["metadata"]["generation"] = before


def _part(thing: Object, dotted: str) -> object:
    *above, last = dotted.split(".")
    return record(thing, *above).get(last)


def _restore(new: Object, old: Object, field: str) -> None:
    if field in old:
        new[field] = copy.deepcopy(old[field])
    else:
        new.pop(field, None)


def _each_once(faults: list[Fault]) -> list[Fault]:
    return list(dict.fromkeys(faults))
