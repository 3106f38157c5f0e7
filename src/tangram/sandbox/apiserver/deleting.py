"""How objects go: at once, after a while, or when everybody who holds on to them has let go.

Pods on a node are first marked and go when their kubelet says so. An object with finalizers is marked and waits for
them. What becomes of the dependents is a finalizer too; the garbage collector, which is a controller, sees to it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.admission import Admission, Occasion
from tangram.sandbox.apiserver.asking import Ask, Target
from tangram.sandbox.apiserver.bodies import read_options
from tangram.sandbox.apiserver.refusals import (
    Fault,
    Refused,
    bad_request,
    conflict,
    invalid,
    named,
    not_found,
)
from tangram.sandbox.apiserver.rules import faulting
from tangram.sandbox.apiserver.rules.metadata import FOREGROUND, ORPHAN
from tangram.sandbox.apiserver.selecting import selection_of
from tangram.sandbox.apiserver.showing import resource_of, spot_of
from tangram.sandbox.apiserver.store import Store
from tangram.wire import loose
from tangram.wire.timestamps import to_second

OPTIONS: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
_POLICIES: Final = {"Foreground": FOREGROUND, "Orphan": ORPHAN, "Background": ""}
_ENDED: Final = frozenset({"Succeeded", "Failed"})
_ANSWERED_WHOLE: Final = frozenset({
    "Namespace", "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate", "ResourceQuota", "Service",
    "ServiceAccount", "StorageClass",
})  # fmt: skip
"""Whose deletion is answered with the object as it last was, not with a Status."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """DeleteOptions, from the body or the query."""

    grace: int | None = None
    policy: str | None = None
    uid: str = ""
    version: str = ""
    dry_run: bool = False

    def written(self) -> Object:
        """As webhooks are told."""
        said: Object = {} if self.grace is None else {"gracePeriodSeconds": self.grace}
        if self.policy is not None:
            said["propagationPolicy"] = self.policy
        if self.uid or self.version:
            pairs = (("uid", self.uid), ("resourceVersion", self.version))
            said["preconditions"] = {key: value for key, value in pairs if value}
        return said | ({"dryRun": ["All"]} if self.dry_run else {})


class Deleter:
    def __init__(self, store: Store, admission: Admission, now: Callable[[], datetime]) -> None:
        self._store = store
        self._admission = admission
        self._now = now

    async def delete(self, ask: Ask, body: bytes) -> Object:
        """The object where it stays for a while, else a Status."""
        wish = read_wish(ask, body)
        return await self._delete(ask, wish)

    async def delete_all(self, ask: Ask, body: bytes) -> list[Object]:
        """Everything a selection takes; the objects as they were."""
        wish = read_wish(ask, body)
        kind, selection = ask.target.kind, selection_of(ask)
        found = [
            each for each in self._store.all(resource_of(kind), ask.target.namespace) if selection.takes(each)
        ]
        for thing in found:
            metadata = thing["metadata"]
            target = Target(kind, metadata.get("namespace", ""), metadata["name"])
            try:
                await self._delete(msgspec.structs.replace(ask, target=target), wish)
            except Refused as refused:
                # Somebody else was faster with this one.
                if refused.reason != "NotFound":
                    raise
        return found

    async def _delete(self, ask: Ask, wish: Wish) -> Object:
        kind = ask.target.kind
        spot = spot_of(ask)
        kept = self._store.get(spot)
        if kept is None:
            raise not_found(kind.group, kind.plural, spot.name)
        _check(kind.kind, kept, wish)
        self._check_protected(kind.kind, kept)
        await self._admission.validate(
            Occasion(
                ask=msgspec.structs.replace(ask, method="DELETE"),
                operation="DELETE",
                thing={},
                old=kept,
                options=wish.written(),
            )
        )
        kept = self._store.get(spot)
        if kept is None:
            raise not_found(kind.group, kind.plural, spot.name)
        marked, stays = self._marked(kept, wish)
        gone = marked if kind.definition and kind.kind in _ANSWERED_WHOLE else _done(ask, kept)
        if wish.dry_run or ask.dry_run:
            return marked if stays else gone
        if not stays:
            if "deletionGracePeriodSeconds" in marked["metadata"] and marked != kept:
                self._store.put(spot, marked)
            self._store.remove(spot)
            return gone
        return kept if marked == kept else self._store.put(spot, marked)

    def _marked(self, thing: Object, wish: Wish) -> tuple[Object, bool]:
        """The object as it is from now on, and whether it is still there."""
        metadata = {**thing["metadata"]}
        marked = {**thing, "metadata": metadata}
        finalizers = [each for each in metadata.get("finalizers", ()) if each not in (FOREGROUND, ORPHAN)]
        before = [each for each in metadata.get("finalizers", ()) if each in (FOREGROUND, ORPHAN)]
        policy = _POLICIES.get(wish.policy or "", "")
        wanted = ([policy] if policy else []) if wish.policy is not None else before
        metadata["finalizers"] = [*finalizers, *wanted]
        if not metadata["finalizers"]:
            del metadata["finalizers"]
        grace = _grace(thing, wish)
        held = bool(metadata.get("finalizers"))
        if thing["kind"] == "Namespace" and "status" in thing:
            held = held or bool(thing.get("spec", {}).get("finalizers"))
            marked["status"] = {**thing["status"], "phase": "Terminating"}
        stays = held or bool(grace)
        earlier = metadata.get("deletionGracePeriodSeconds")
        begins = "deletionTimestamp" not in metadata and (stays or thing["kind"] == "Pod")
        if begins or (earlier is not None and grace < earlier):
            at = self._now() + timedelta(seconds=grace)
            metadata |= {"deletionTimestamp": to_second(at), "deletionGracePeriodSeconds": grace}
            if "generation" in metadata and thing["kind"] != "Namespace":
                metadata["generation"] += 1
        return marked, stays

    @staticmethod
    def _check_protected(kind: str, thing: Object) -> None:
        name = thing["metadata"]["name"]
        if kind == "Namespace" and name in ("default", "kube-system", "kube-public"):
            raise Refused(
                403,
                "Forbidden",
                f'namespaces "{name}" is forbidden: this namespace may not be deleted',
                named("", "namespaces", name),
            )


def read_wish(ask: Ask, body: bytes) -> Wish:
    """Raises `Refused`."""
    written = read_options(ask, body, OPTIONS)
    said = written.get("kind") or "DeleteOptions"
    if said != "DeleteOptions":
        raise bad_request(
            f"a deletion is sent with DeleteOptions and not with an object of kind {said!s:.80}"
        )
    query = ask.query
    grace = written.get("gracePeriodSeconds", query.get("gracePeriodSeconds") or None)
    policy = written.get("propagationPolicy", query.get("propagationPolicy") or None)
    orphan = written.get("orphanDependents", query.get("orphanDependents") or None)
    if policy is not None and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        raise _bad_options(faulting.invalid("propagationPolicy", f"{policy:.40}", why))
    if policy is None and orphan is not None:
        policy = "Orphan" if str(orphan).lower() == "true" else "Background"
    if policy is not None and policy not in _POLICIES:
        legal = ("Foreground", "Background", "Orphan", "nil")
        raise _bad_options(faulting.unsupported("propagationPolicy", f"{policy:.40}", legal))
    conditions = loose.members(written.get("preconditions"))
    seconds = None if grace is None else loose.integer(grace)
    if grace is not None and seconds is None:
        raise bad_request(f"gracePeriodSeconds is {grace!r:.40}: it is a whole number of seconds")
    return Wish(
        # Below zero means one second, as ever since this was possible.
        grace=1 if seconds is not None and seconds < 0 else seconds,
        policy=None if policy is None else str(policy),
        uid=loose.text(conditions.get("uid")),
        version=loose.text(conditions.get("resourceVersion")),
        dry_run=bool(written.get("dryRun")),
    )


def _bad_options(fault: Fault) -> Refused:
    return invalid("meta.k8s.io", "DeleteOptions", "", [fault])


def _grace(thing: Object, wish: Wish) -> int:
    """Seconds until it goes. Only pods that run somewhere are given any."""
    if thing["kind"] != "Pod" or thing.get("apiVersion") != "v1":
        return 0
    spec = thing.get("spec", {})
    if not spec.get("nodeName") or thing.get("status", {}).get("phase") in _ENDED:
        return 0
    if wish.grace is not None:
        return wish.grace
    return int(spec.get("terminationGracePeriodSeconds") or 0)


def _check(kind: str, thing: Object, wish: Wish) -> None:
    metadata = thing["metadata"]
    for label, said, have in (
        ("UID", wish.uid, metadata["uid"]),
        ("ResourceVersion", wish.version, metadata["resourceVersion"]),
    ):
        if said and said != have:
            raise conflict(
                "",
                kind,
                metadata["name"],
                f"Precondition failed: {label} in precondition: {said}, {label} in object meta: {have}"
                if label == "UID"
                else f"the {label} in the precondition ({said}) does not match the {label} in record ({have}). "
                "The object might have been modified",
            )


def _done(ask: Ask, thing: Object) -> Object:
    kind, metadata = ask.target.kind, thing["metadata"]
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": named(kind.group, kind.plural, metadata["name"]) | {"uid": metadata["uid"]},
    }
