"""How an object is made or changed once it is known what is wanted: rules, admission, and the moment it is stored.

Webhooks are asked in between, and others write meanwhile. So nothing is held while they are waited for: the object is
looked at again afterwards, and if it has changed, the change is worked out anew, unless the client named the version it
means.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.admission import Admission, Occasion
from tangram.sandbox.apiserver.asking import Ask
from tangram.sandbox.apiserver.bodies import Body
from tangram.sandbox.apiserver.custom_rules import CustomRules
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.own_metadata import keep_system_metadata, may_go, name_new, owned_by
from tangram.sandbox.apiserver.patching import same_but_for_times, with_managed_fields
from tangram.sandbox.apiserver.refusals import Refused, conflict, exists, invalid, not_found
from tangram.sandbox.apiserver.registry import Registry
from tangram.sandbox.apiserver.rights.granting import Granting
from tangram.sandbox.apiserver.rules import Rules, rules_of
from tangram.sandbox.apiserver.schemas import prune
from tangram.sandbox.apiserver.showing import resource_of, shown, spot_of, stored
from tangram.sandbox.apiserver.store import Spot, Store, fresh
from tangram.wire.timestamps import to_second

TRIES: Final = 5
_GIVEN_LATER: Final = (
    "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "uid", "creationTimestamp",
)  # fmt: skip
MODIFIED_MEANWHILE: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class Written(msgspec.Struct):
    thing: Object
    created: bool = False
    warnings: list[str] = []


class Changing:
    def __init__(
        self,
        store: Store,
        registry: Registry,
        admission: Admission,
        granting: Granting,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._registry = registry
        self._admission = admission
        self._granting = granting
        self._now = now

    async def make(self, ask: Ask, read: Body, *, owned: bool = False) -> Written:
        """Create an object that was read already; `owned` says that it was applied and knows its owners."""
        kind, shape, thing = ask.target.kind, self._registry.shape(ask.target.kind), read.thing
        name_new(ask, thing)
        if kind.definition:
            thing = prune(thing, shape)
        metadata = thing["metadata"]
        if metadata.get("resourceVersion"):
            raise Refused(500, "", "resourceVersion should not be set on objects to be created")
        for key in _GIVEN_LATER:
            metadata.pop(key, None)
        rules = self.rules(kind)
        owners = metadata.get("managedFields") if owned else self._owners(ask, None, thing)
        rules.complete(thing)
        occasion = Occasion(ask=ask, operation="CREATE", thing=thing, old=None)
        warnings = [*read.warnings, *await self._admission.mutate(occasion, rules)]
        # Who it is and how it begins is decided after those who may change it have been asked.
        thing = occasion.thing
        thing["metadata"] |= {"uid": str(uuid.uuid4()), "creationTimestamp": to_second(self._now())}
        self._granting.check(ask, thing, None)
        rules.prepare_create(thing)
        rules.complete(thing)
        self._check(kind, thing, None, ask.target.subresource)
        warnings += await self._admission.validate(occasion)
        thing = owned_by(thing, owners)
        spot = Spot(resource_of(kind), thing["metadata"].get("namespace", ""), thing["metadata"]["name"])
        if (there := self._store.get(spot)) is not None:
            raise exists(kind.group, kind.plural, spot.name, going="deletionTimestamp" in there["metadata"])
        self._admission.still_open(ask.target.namespace, kind, spot.name)
        return Written(self._kept(ask, spot, thing), created=True, warnings=warnings)

    async def change(
        self,
        ask: Ask,
        changed: Callable[[Object], Object],
        *,
        warnings: list[str],
        said: str = "",
        owned: bool = False,
    ) -> Written:
        """Work out the change from the present object, ask everybody, and make it unless somebody else was first.

        `said` is the version the client means, if it named one; `owned` as for `make`. Raises `Refused`.
        """
        kind = ask.target.kind
        group, plural, name = kind.group, kind.plural, ask.target.name
        rules, spot = self.rules(kind), spot_of(ask)
        for _ in range(TRIES):
            kept = self._store.get(spot)
            if kept is None:
                raise not_found(group, plural, name)
            if said and said != kept["metadata"]["resourceVersion"]:
                raise conflict(group, plural, name, MODIFIED_MEANWHILE)
            old = shown(kind, kept)
            new = changed(old)
            keep_system_metadata(new, old)
            owners = new["metadata"].get("managedFields") if owned else self._owners(ask, old, new)
            rules.prepare_update(new, old, ask.target.subresource)
            rules.complete(new)
            occasion = Occasion(ask=ask, operation="UPDATE", thing=new, old=old)
            told = await self._admission.mutate(occasion, rules)
            new = occasion.thing
            self._granting.check(ask, new, old)
            self._check(kind, new, old, ask.target.subresource)
            told += await self._admission.validate(occasion)
            new = owned_by(new, owners)
            if self._store.get(spot) is not kept:
                continue
            if same_but_for_times(new, old):
                return Written(kept, warnings=[*warnings, *told])
            return Written(self._kept(ask, spot, new), warnings=[*warnings, *told])
        raise conflict(group, plural, name, MODIFIED_MEANWHILE)

    def rules(self, kind: Kind) -> Rules:
        """The rules of a kind as it is now."""
        return rules_of(kind) if kind.definition else CustomRules(kind, self._registry.shape(kind))

    def _owners(self, ask: Ask, before: Object | None, after: Object) -> list[Object]:
        """Who owns which field from now on. What the server and its webhooks add later is nobody's."""
        kind = ask.target.kind
        completed = fresh(after)
        self.rules(kind).complete(completed)
        if "managedFields" in after["metadata"]:
            # Empty means that all owners are to be forgotten, and would look like nothing said.
            completed["metadata"]["managedFields"] = after["metadata"]["managedFields"]
        noted = with_managed_fields(
            before,
            completed,
            self._registry.shape(kind),
            manager=ask.manager,
            api_version=kind.api_version,
            subresource=ask.part or ask.target.subresource,
            now=to_second(self._now()),
            status_apart=kind.subresource("status") is not None,
        )
        return noted["metadata"].get("managedFields", [])

    def _kept(self, ask: Ask, spot: Spot, thing: Object) -> Object:
        if ask.dry_run:
            return thing
        thing = stored(ask.target.kind, thing)
        metadata = thing["metadata"]
        if metadata.get("deletionTimestamp") and may_go(thing) and self._store.get(spot) is not None:
            # The last who held it has let go.
            self._store.put(spot, thing)
            return self._store.remove(spot)
        return self._store.put(spot, thing)

    def _check(self, kind: Kind, new: Object, old: Object | None, subresource: str) -> None:
        faults = self.rules(kind).faults(new, old, subresource)
        if faults:
            raise invalid(kind.group, kind.kind, new["metadata"].get("name", ""), faults)
