"""The rules of kinds that people defined: what their schema says, and the little that holds for all of them."""

from __future__ import annotations

import re
from typing import Final, cast

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules import metadata_faults
from tangram.sandbox.apiserver.schemas import fill_defaults, prune, value_faults
from tangram.sandbox.apiserver.shape import Shape

_HEAD: Final = frozenset({"metadata", "kind", "apiVersion"})


class CustomRules:
    def __init__(self, kind: Kind, shape: Shape) -> None:
        self._kind = kind
        self._shape = shape
        self._status_apart = kind.subresource("status") is not None

    def complete(self, thing: Object) -> None:
        whole = fill_defaults(prune(thing, self._shape), self._shape)
        thing.clear()
        thing.update(whole)

    def prepare_create(self, thing: Object) -> None:
        if self._status_apart:
            thing.pop("status", None)
        thing["metadata"]["generation"] = 1

    def prepare_update(self, new: Object, old: Object, subresource: str) -> None:
        # What is only left to its default is no change.
        self.complete(new)
        if subresource == "status":
            status = new.get("status")
            managed = new["metadata"].get("managedFields")
            new.clear()
            new.update(old)
            new["metadata"] = {**old["metadata"]}
            if managed is not None:
                new["metadata"]["managedFields"] = managed
            if status is not None:
                new["status"] = status
            else:
                new.pop("status", None)
        elif self._status_apart:
            new.pop("status", None)
            if "status" in old:
                new["status"] = old["status"]
        generation = old["metadata"].get("generation", 1)
        changed = subresource != "status" and self._spec(new) != self._spec(old)
        new["metadata"]["generation"] = generation + changed

    def faults(self, new: Object, old: Object | None, subresource: str) -> list[Fault]:
        del subresource
        found = value_faults(new, self._shape)
        if old is not None:
            # A schema may have become stricter since: what nobody touches may stay as it is.
            found = [fault for fault in found if not _untouched(fault.field, new, old)]
        return [*metadata_faults(new, self._kind, old), *found]

    def _spec(self, thing: Object) -> Object:
        """What counts as a new generation."""
        apart = {"status"} if self._status_apart else set[str]()
        return {key: value for key, value in thing.items() if key not in _HEAD | apart}


def _untouched(field: str, new: Object, old: Object) -> bool:
    """Whether what stands at a place stood there before."""
    now, before = _at(field, new), _at(field, old)
    return now is not None and now == before


def _at(field: str, thing: object) -> object:
    for step in re.findall(r"[^.\[\]]+", field):
        if isinstance(thing, dict):
            thing = cast("Object", thing).get(step)
        elif isinstance(thing, list) and step.isdigit():
            elements = cast("list[object]", thing)
            thing = elements[int(step)] if int(step) < len(elements) else None
        else:
            return None
    return thing
