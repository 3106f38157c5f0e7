"""The verbs that write: what a request wants to be made or changed, read and checked before anything is done."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.asking import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Ask
from tangram.sandbox.apiserver.bodies import (
    Body,
    check_fields,
    check_type,
    read_body,
    read_patch,
    unsupported,
)
from tangram.sandbox.apiserver.changing import MODIFIED_MEANWHILE, Changing, Written
from tangram.sandbox.apiserver.options import CREATE, PATCH, UPDATE, check_options
from tangram.sandbox.apiserver.own_metadata import check_identity, check_place
from tangram.sandbox.apiserver.patching import (
    apply_json_patch,
    apply_merge_patch,
    apply_strategic,
    server_side_apply,
)
from tangram.sandbox.apiserver.refusals import Refused, bad_request, conflict, invalid, not_found
from tangram.sandbox.apiserver.registry import Registry
from tangram.sandbox.apiserver.rights.authority import Authority
from tangram.sandbox.apiserver.rights.wanted import Wanted
from tangram.sandbox.apiserver.rules import faulting
from tangram.sandbox.apiserver.schemas import prune
from tangram.sandbox.apiserver.showing import spot_of
from tangram.sandbox.apiserver.store import Store, fresh
from tangram.wire import loose
from tangram.wire.timestamps import to_second

_MADE_BY_PUT: Final = frozenset({"Lease", "Event"})


class Writer:
    def __init__(
        self,
        store: Store,
        registry: Registry,
        changing: Changing,
        authority: Authority,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._registry = registry
        self._changing = changing
        self._authority = authority
        self._now = now

    async def create(self, ask: Ask, body: bytes) -> Written:
        check_options(ask, CREATE)
        kind, shape = ask.target.kind, self._registry.shape(ask.target.kind)
        read = read_body(ask, body, kind, shape)
        return await self._changing.make(ask, read)

    async def update(self, ask: Ask, body: bytes) -> Written:
        check_options(ask, UPDATE)
        kind, shape = ask.target.kind, self._registry.shape(ask.target.kind)
        read = read_body(ask, body, kind, shape)
        thing = read.thing
        metadata: Object = thing.setdefault("metadata", {})
        check_place(ask, metadata)
        spot = spot_of(ask)
        if self._store.get(spot) is None:
            if kind.kind in _MADE_BY_PUT and not metadata.get("uid"):
                metadata.pop("resourceVersion", None)
                self._may_create(ask)
                return await self._changing.make(ask, read)
            raise not_found(kind.group, kind.plural, ask.target.name)

        def changed(old: Object) -> Object:
            new = fresh(thing)
            check_identity(kind, new, old)
            return prune(new, shape) if kind.definition else new

        said = metadata.get("resourceVersion", "")
        if not said and not kind.definition:
            fault = faulting.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid(kind.group, kind.plural, ask.target.name, [fault])
        return await self._changing.change(ask, changed, warnings=read.warnings, said=said)

    async def patch(self, ask: Ask, body: bytes) -> Written:
        kind, shape = ask.target.kind, self._registry.shape(ask.target.kind)
        legal = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH] + ([STRATEGIC_PATCH] if kind.definition else [])
        if ask.content not in legal:
            if not kind.definition:
                raise unsupported(ask.content, legal)
            raise Refused(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
        check_options(ask, PATCH, applying=ask.content == APPLY_PATCH)
        change, duplicates = read_patch(ask, body)
        if ask.content == APPLY_PATCH:
            return await self._apply(ask, change, duplicates)

        def changed(old: Object) -> Object:
            new = self._patched(ask, old, change)
            new.setdefault("metadata", {})
            check_type(new, kind)
            check_place(ask, new["metadata"])
            version = new["metadata"].get("resourceVersion", "")
            if version != old["metadata"]["resourceVersion"]:
                raise conflict(kind.group, kind.plural, ask.target.name, MODIFIED_MEANWHILE)
            if new["metadata"].get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
                fault = faulting.invalid("metadata.uid", new["metadata"]["uid"], faulting.IMMUTABLE)
                raise invalid(kind.group, kind.kind, ask.target.name, [fault])
            warnings[:] = self._patch_warnings(ask, new, duplicates)
            return prune(new, shape) if kind.definition else new

        warnings: list[str] = []
        return await self._changing.change(ask, changed, warnings=warnings)

    async def _apply(self, ask: Ask, wanted: Object, duplicates: list[str]) -> Written:
        kind, shape = ask.target.kind, self._registry.shape(ask.target.kind)
        if not wanted.get("kind") or not wanted.get("apiVersion"):
            raise bad_request("the object to apply names no kind or no apiVersion: both are needed")
        if (wanted["apiVersion"], wanted["kind"]) != (kind.api_version, kind.kind):
            group, _, version = str(wanted["apiVersion"]).rpartition("/")
            raise bad_request(f"invalid object type: {group}/{version}, Kind={wanted['kind']}")
        metadata: Object = wanted.setdefault("metadata", {})
        if not metadata.get("name"):
            raise bad_request(
                f"the name of the object ({ask.target.name} based on URL) was undeterminable: name must be provided"
            )
        check_place(ask, metadata)
        if metadata.get("managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        warnings = check_fields(ask, wanted, duplicates, kind, shape)

        def merged(old: Object | None) -> Object:
            return server_side_apply(
                old,
                wanted,
                shape,
                manager=ask.manager,
                force=ask.flag("force"),
                api_version=kind.api_version,
                subresource=ask.target.subresource,
                now=to_second(self._now()),
                status_apart=kind.subresource("status") is not None,
            )

        if self._store.get(spot_of(ask)) is None:
            if metadata.get("uid"):
                raise conflict(
                    kind.group,
                    kind.plural,
                    ask.target.name,
                    "uid mismatch: the provided object specified uid",
                )
            if ask.target.subresource:
                raise not_found(kind.group, kind.plural, ask.target.name)
            self._may_create(ask)
            thing = merged(None)
            made = msgspec.structs.replace(ask, method="POST")
            return await self._changing.make(made, Body(thing, warnings), owned=True)
        said = loose.text(metadata.get("resourceVersion"))
        return await self._changing.change(ask, merged, warnings=warnings, said=said, owned=True)

    def _may_create(self, ask: Ask) -> None:
        """That who replaces or applies what is not there may also make it. Raises `Refused`."""
        target = ask.target
        wanted = Wanted("create", *target.kind.resource, target.subresource, target.namespace, target.name)
        self._authority.check(ask.person, wanted)

    def _patched(self, ask: Ask, old: Object, change: Any) -> Object:  # noqa: ANN401 - JSON of any shape
        match ask.content:
            case content if content == JSON_PATCH:
                return apply_json_patch(old, change)
            case content if content == MERGE_PATCH:
                return apply_merge_patch(old, change)
            case _:
                return apply_strategic(old, change, self._registry.shape(ask.target.kind))

    def _patch_warnings(self, ask: Ask, new: Object, duplicates: list[str]) -> list[str]:
        kind = ask.target.kind
        try:
            return check_fields(ask, new, duplicates, kind, self._registry.shape(kind))
        except Refused as refused:
            _, strict, what = str(refused).partition("strict decoding error: ")
            if not strict:
                # The patch can be applied, but what it makes is no object of the kind.
                raise invalid("", "", "", [faulting.unsaid("patch", str(refused))]) from None
            fault = faulting.unsaid("patch", f"{strict}{what}")
            raise invalid(kind.group, kind.kind, ask.target.name, [fault]) from None
