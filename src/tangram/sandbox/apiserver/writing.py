"""Creating and changing objects: reading, rules, admission, and the one moment in which a change is made or refused.

Webhooks are asked in between, and others write meanwhile. So nothing is held while they are waited for: the object is
looked at again afterwards, and if it has changed, the change is worked out anew, unless the client named the version it
means.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.admission import Admission, Occasion
from tangram.sandbox.apiserver.asking import JSON, YAML, Ask
from tangram.sandbox.apiserver.bodies import (
    Body,
    check_fields,
    check_type,
    read_body,
    read_patch,
    unsupported,
)
from tangram.sandbox.apiserver.custom_rules import CustomRules
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.options import CREATE, PATCH, UPDATE, check_options
from tangram.sandbox.apiserver.patching import (
    apply_json_patch,
    apply_merge_patch,
    apply_strategic,
    same_but_for_times,
    server_side_apply,
    with_managed_fields,
)
from tangram.sandbox.apiserver.refusals import (
    Fault,
    Refused,
    bad_request,
    conflict,
    exists,
    invalid,
    not_found,
    stale,
)
from tangram.sandbox.apiserver.registry import Registry
from tangram.sandbox.apiserver.rules import Rules, rules_of
from tangram.sandbox.apiserver.schemas import prune
from tangram.sandbox.apiserver.showing import resource_of, shown, stored
from tangram.sandbox.apiserver.store import Spot, Store, fresh
from tangram.wire import loose

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
TRIES: Final = 5
MODIFIED_MEANWHILE: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
_MADE_BY_PUT: Final = frozenset({"Lease", "Event"})
_NAME_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_BASE: Final = 58
_UNKNOWN_PATCH: Final = Refused(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


class Written(msgspec.Struct):
    thing: Object
    created: bool = False
    warnings: list[str] = []


def moment(now: datetime) -> str:
    """A time as objects carry it."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


class Writer:
    def __init__(
        self, store: Store, registry: Registry, admission: Admission, now: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._registry = registry
        self._admission = admission
        self._now = now
        self._rules: dict[tuple[int, str, str, str], Rules] = {}

    # ---- verbs

    async def create(self, ask: Ask, body: bytes) -> Written:
        check_options(ask, CREATE)
        kind, shape = ask.target.kind, self._registry.shape(ask.target.kind)
        read = read_body(ask, body, kind, shape)
        return await self.make(ask, read)

    async def make(self, ask: Ask, read: Body, *, owned: bool = False) -> Written:
        """Create an object that was read already; `owned` says that it was applied and knows its owners."""
        kind, shape, thing = ask.target.kind, self._registry.shape(ask.target.kind), read.thing
        self._name(ask, thing)
        if kind.definition:
            thing = prune(thing, shape)
        metadata = thing["metadata"]
        if metadata.get("resourceVersion"):
            raise Refused(500, "", "resourceVersion should not be set on objects to be created")
        for key in ("selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"):
            metadata.pop(key, None)
        for key in ("uid", "creationTimestamp"):
            metadata.pop(key, None)
        rules = self.rules(kind)
        owners = metadata.get("managedFields") if owned else self._owners(ask, None, thing)
        rules.complete(thing)
        occasion = Occasion(ask=ask, operation="CREATE", thing=thing, old=None)
        warnings = [*read.warnings, *await self._admission.mutate(occasion, rules)]
        # Who it is and how it begins is decided after those who may change it have been asked.
        thing = occasion.thing
        thing["metadata"] |= {"uid": str(uuid.uuid4()), "creationTimestamp": moment(self._now())}
        rules.prepare_create(thing)
        rules.complete(thing)
        self._check(kind, thing, None, ask.target.subresource)
        warnings += await self._admission.validate(occasion)
        thing = _owned_by(thing, owners)
        spot = Spot(resource_of(kind), thing["metadata"].get("namespace", ""), thing["metadata"]["name"])
        if (there := self._store.get(spot)) is not None:
            raise exists(kind.group, kind.plural, spot.name, going="deletionTimestamp" in there["metadata"])
        self._admission.still_open(ask.target.namespace, kind, spot.name)
        return Written(self._kept(ask, spot, thing), created=True, warnings=warnings)

    async def update(self, ask: Ask, body: bytes) -> Written:
        check_options(ask, UPDATE)
        kind, shape = ask.target.kind, self._registry.shape(ask.target.kind)
        read = read_body(ask, body, kind, shape)
        thing = read.thing
        metadata: Object = thing.setdefault("metadata", {})
        self._same_place(ask, metadata)
        spot = self._spot(ask)
        if self._store.get(spot) is None:
            if kind.kind in _MADE_BY_PUT and not metadata.get("uid"):
                metadata.pop("resourceVersion", None)
                return await self.make(ask, read)
            raise not_found(kind.group, kind.plural, ask.target.name)

        def changed(old: Object) -> Object:
            new = fresh(thing)
            self._check_identity(kind, new, old)
            return prune(new, shape) if kind.definition else new

        said = metadata.get("resourceVersion", "")
        if not said and not kind.definition:
            message = "Invalid value: 0: must be specified for an update"
            fault = Fault("metadata.resourceVersion", "FieldValueInvalid", message)
            raise invalid(kind.group, kind.plural, ask.target.name, [fault])
        return await self._change(ask, changed, exact=bool(said), warnings=read.warnings, said=said)

    async def patch(self, ask: Ask, body: bytes) -> Written:
        kind, shape = ask.target.kind, self._registry.shape(ask.target.kind)
        legal = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH] + ([STRATEGIC_PATCH] if kind.definition else [])
        if ask.content not in legal:
            raise unsupported(ask.content, legal) if not kind.definition else _UNKNOWN_PATCH
        check_options(ask, PATCH, applying=ask.content == APPLY_PATCH)
        change, duplicates = read_patch(ask, body)
        if ask.content == APPLY_PATCH:
            return await self._apply(ask, change, duplicates)
        said: list[str] = []

        def changed(old: Object) -> Object:
            new = self._patched(ask, old, change)
            new.setdefault("metadata", {})
            check_type(new, kind)
            self._same_place(ask, new["metadata"])
            version = new["metadata"].get("resourceVersion", "")
            if version != old["metadata"]["resourceVersion"]:
                said.append(version)
                raise conflict(kind.group, kind.plural, ask.target.name, MODIFIED_MEANWHILE)
            if new["metadata"].get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
                message = f'Invalid value: "{new["metadata"]["uid"]}": field is immutable'
                fault = Fault("metadata.uid", "FieldValueInvalid", message)
                raise invalid(kind.group, kind.kind, ask.target.name, [fault])
            warnings[:] = self._patch_warnings(ask, new, duplicates)
            return prune(new, shape) if kind.definition else new

        warnings: list[str] = []
        return await self._change(ask, changed, exact=False, warnings=warnings)

    # ---- inside

    def rules(self, kind: Kind) -> Rules:
        """The rules of a kind as it is now."""
        if kind.definition:
            return rules_of(kind)
        key = (self._registry.edition, kind.group, kind.version, kind.plural)
        if key not in self._rules:
            self._rules[key] = CustomRules(kind, self._registry.shape(kind))
        return self._rules[key]

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
        self._same_place(ask, metadata)
        if metadata.get("managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        warnings = check_fields(ask, wanted, duplicates, kind, shape)

        def merged(old: Object | None) -> Object:
            return server_side_apply(
                old,
                fresh(wanted),
                shape,
                manager=ask.manager,
                force=ask.flag("force"),
                api_version=kind.api_version,
                subresource=ask.target.subresource,
                now=moment(self._now()),
                status_apart=kind.subresource("status") is not None,
            )

        if self._store.get(self._spot(ask)) is None:
            if metadata.get("uid"):
                raise conflict(
                    kind.group,
                    kind.plural,
                    ask.target.name,
                    "uid mismatch: the provided object specified uid",
                )
            if ask.target.subresource:
                raise not_found(kind.group, kind.plural, ask.target.name)
            thing = merged(None)
            made = Ask(
                method="POST",
                target=ask.target,
                query=ask.query,
                person=ask.person,
                form=ask.form,
                agent=ask.agent,
            )
            return await self.make(made, Body(thing, warnings), owned=True)
        said = loose.text(metadata.get("resourceVersion"))
        return await self._change(ask, merged, exact=bool(said), warnings=warnings, said=said, owned=True)

    async def _change(
        self,
        ask: Ask,
        changed: Callable[[Object], Object],
        *,
        exact: bool,
        warnings: list[str],
        said: str = "",
        owned: bool = False,
    ) -> Written:
        """Work out the change from the present object, ask everybody, and make it unless somebody else was first."""
        kind = ask.target.kind
        group, plural, name = kind.group, kind.plural, ask.target.name
        rules, spot = self.rules(kind), self._spot(ask)
        for _ in range(TRIES):
            kept = self._store.get(spot)
            if kept is None:
                raise not_found(group, plural, name)
            if exact and said != kept["metadata"]["resourceVersion"]:
                raise conflict(group, plural, name, MODIFIED_MEANWHILE)
            old = shown(kind, kept)
            new = changed(old)
            _keep_system_metadata(new, old)
            owners = new["metadata"].get("managedFields") if owned else self._owners(ask, old, new)
            rules.prepare_update(new, old, ask.target.subresource)
            rules.complete(new)
            occasion = Occasion(ask=ask, operation="UPDATE", thing=new, old=old)
            told = await self._admission.mutate(occasion, rules)
            new = occasion.thing
            self._check(kind, new, old, ask.target.subresource)
            told += await self._admission.validate(occasion)
            new = _owned_by(new, owners)
            if self._store.get(spot) is not kept:
                continue
            if same_but_for_times(new, old):
                return Written(kept, warnings=[*warnings, *told])
            return Written(self._kept(ask, spot, new), warnings=[*warnings, *told])
        raise conflict(group, plural, name, MODIFIED_MEANWHILE)

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
            now=moment(self._now()),
            status_apart=kind.subresource("status") is not None,
        )
        return noted["metadata"].get("managedFields", [])

    def _kept(self, ask: Ask, spot: Spot, thing: Object) -> Object:
        if ask.dry_run:
            return thing
        thing = stored(ask.target.kind, thing)
        metadata = thing["metadata"]
        if metadata.get("deletionTimestamp") and _may_go(thing) and self._store.get(spot) is not None:
            # The last who held it has let go.
            self._store.put(spot, thing)
            return self._store.remove(spot)
        return self._store.put(spot, thing)

    def _check(self, kind: Kind, new: Object, old: Object | None, subresource: str) -> None:
        faults = self.rules(kind).faults(new, old, subresource)
        if faults:
            raise invalid(kind.group, kind.kind, new["metadata"].get("name", ""), faults)

    def _patched(self, ask: Ask, old: Object, change: Any) -> Object:  # noqa: ANN401 - JSON of any shape
        match ask.content:
            case content if content == JSON_PATCH:
                return apply_json_patch(fresh(old), change)
            case content if content == MERGE_PATCH:
                return apply_merge_patch(fresh(old), change)
            case _:
                return apply_strategic(fresh(old), change, self._registry.shape(ask.target.kind))

    def _patch_warnings(self, ask: Ask, new: Object, duplicates: list[str]) -> list[str]:
        kind = ask.target.kind
        try:
            return check_fields(ask, new, duplicates, kind, self._registry.shape(kind))
        except Refused as refused:
            _, strict, what = str(refused).partition("strict decoding error: ")
            if not strict:
                # The patch can be applied, but what it makes is no object of the kind.
                message = f"Invalid value: {refused}"
                raise invalid("", "", "", [Fault("patch", "FieldValueInvalid", message)]) from None
            raise Refused(
                422,
                "Invalid",
                f'{kind.kind}{"." + kind.group if kind.group else ""} "{ask.target.name}" is invalid: patch: '
                f"Invalid value: {strict}{what}",
                {"name": ask.target.name, "kind": kind.kind, "causes": [
                    {"reason": "FieldValueInvalid", "field": "patch", "message": f"Invalid value: {strict}{what}"}
                ]},
            ) from None  # fmt: skip

    def _spot(self, ask: Ask) -> Spot:
        return Spot(resource_of(ask.target.kind), ask.target.namespace, ask.target.name)

    def _name(self, ask: Ask, thing: Object) -> None:
        metadata: Object = thing.get("metadata") or {}
        thing["metadata"] = metadata
        if ask.target.name:
            metadata.setdefault("name", ask.target.name)
        self._same_place(ask, metadata, naming=False)
        base = metadata.get("generateName") or ""
        if not metadata.get("name") and base:
            ending = "".join(secrets.choice(_NAME_LETTERS) for _ in range(5))
            metadata["name"] = base[:_LONGEST_BASE] + ending

    def _same_place(self, ask: Ask, metadata: Object, *, naming: bool = True) -> None:
        """What an object says of its own place must be where it was sent."""
        target = ask.target
        if target.kind.namespaced:
            if metadata.get("namespace") and metadata["namespace"] != target.namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            metadata["namespace"] = target.namespace
        else:
            metadata.pop("namespace", None)
        if naming:
            if metadata.get("name") and metadata["name"] != target.name:
                raise bad_request(
                    f"the name of the object ({metadata['name']}) does not match the name on the URL ({target.name})"
                )
            metadata["name"] = target.name

    @staticmethod
    def _check_identity(kind: Kind, new: Object, old: Object) -> None:
        uid = new["metadata"].get("uid")
        if uid and uid != old["metadata"]["uid"]:
            name = old["metadata"]["name"]
            raise conflict(
                kind.group, kind.plural, name,
                stale(_place(kind, old), "UID", uid, old["metadata"]["uid"]),
            )  # fmt: skip


def _place(kind: Kind, thing: Object) -> str:
    """Where the store underneath the real server would keep it."""
    metadata = thing["metadata"]
    words = (
        "" if kind.definition else kind.group,
        kind.plural,
        metadata.get("namespace", ""),
        metadata["name"],
    )
    return "/".join(word for word in words if word)


def _keep_system_metadata(new: Object, old: Object) -> None:
    """What clients cannot change, whatever they send."""
    metadata, before = new["metadata"], old["metadata"]
    for key in (
        "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion",
        "generateName",
    ):  # fmt: skip
        if key in before:
            metadata[key] = before[key]
        else:
            metadata.pop(key, None)
    if "managedFields" not in metadata and "managedFields" in before:
        metadata["managedFields"] = before["managedFields"]
    metadata.pop("selfLink", None)
    for key in ("labels", "annotations", "finalizers", "ownerReferences"):
        if key in metadata and not metadata[key]:
            del metadata[key]


def _owned_by(thing: Object, owners: list[Object] | None) -> Object:
    metadata = {key: value for key, value in thing["metadata"].items() if key != "managedFields"}
    return {**thing, "metadata": {**metadata, **({"managedFields": owners} if owners else {})}}


def _may_go(thing: Object) -> bool:
    metadata = thing["metadata"]
    held = metadata.get("finalizers") or (
        thing["kind"] == "Namespace" and thing.get("spec", {}).get("finalizers")
    )
    return not held and not metadata.get("deletionGracePeriodSeconds")


__all__ = ["JSON", "YAML", "Writer", "Written", "moment"]
