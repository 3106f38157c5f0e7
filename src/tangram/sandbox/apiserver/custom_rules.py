"""The rules of kinds that people defined: what their schema says, and the little that holds for all of them."""

from __future__ import annotations

from typing import Final

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
        return [*metadata_faults(new, self._kind, old), *value_faults(new, self._shape)]

    def _spec(self, thing: Object) -> Object:
        """What counts as a new generation."""
        apart = {"status"} if self._status_apart else set[str]()
        return {key: value for key, value in thing.items() if key not in _HEAD | apart}
