"""Questions that are answered and forgotten: who somebody is, and what they may do.

Everybody with a token may do everything here, and the answers say so.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.asking import Ask
from tangram.sandbox.apiserver.identities import MASTERS, OURS, Identities
from tangram.sandbox.apiserver.refusals import Fault, bad_request, conflict, invalid, not_found
from tangram.sandbox.apiserver.rules import faulting
from tangram.sandbox.apiserver.store import Spot, Store
from tangram.wire import loose
from tangram.wire.timestamps import to_second

ACCOUNTS: Final = ("", "serviceaccounts")
SHORTEST_LIFE_S: Final = 600
USUAL_LIFE_S: Final = 3600


class Reviews:
    def __init__(self, store: Store, identities: Identities, now: Callable[[], datetime]) -> None:
        self._store = store
        self._identities = identities
        self._now = now

    def answer(self, ask: Ask, thing: Object) -> Object:
        """The object that was sent, with its status."""
        spec = loose.members(thing.get("spec"))
        metadata: Object = {**thing.get("metadata", {}), "creationTimestamp": None}
        answered: Object = {**thing, "metadata": metadata}
        match ask.target.kind.kind:
            case "TokenReview":
                answered["status"] = self._token_reviewed(spec)
            case "SelfSubjectReview":
                metadata["creationTimestamp"] = to_second(self._now())
                answered["status"] = {"userInfo": ask.person.written()}
            case "SelfSubjectRulesReview":
                everything = {"verbs": ["*"]}
                answered["status"] = {
                    "incomplete": False,
                    "resourceRules": [{**everything, "apiGroups": ["*"], "resources": ["*"]}],
                    "nonResourceRules": [{**everything, "nonResourceURLs": ["*"]}],
                }
            case kind:
                _check_access(kind, spec)
                answered["status"] = {"allowed": True, "reason": _why(ask, spec)}
        return answered

    def _token_reviewed(self, spec: object) -> Object:
        asked = loose.members(spec)
        token = loose.text(asked.get("token"))
        if not token:
            raise bad_request("token is required for TokenReview in authentication")
        for audience in loose.elements(asked.get("audiences")) or [OURS]:
            person = self._identities.known(token, loose.text(audience))
            if person is not None:
                return {"authenticated": True, "user": person.written(), "audiences": [audience]}
        return {"error": "invalid bearer token", "user": {}}

    def token(self, ask: Ask, thing: Object) -> Object:
        """A TokenRequest for a service account, answered."""
        target = ask.target
        account = self._store.get(Spot(ACCOUNTS, target.namespace, target.name))
        if account is None:
            raise not_found("", "serviceaccounts", target.name)
        spec: Object = dict(loose.members(thing.get("spec")))
        life = loose.integer(spec.get("expirationSeconds")) or USUAL_LIFE_S
        if life < SHORTEST_LIFE_S:
            why = "may not specify a duration less than 10 minutes"
            fault = faulting.invalid("spec.expirationSeconds", life, why)
            raise invalid("authentication.k8s.io", "TokenRequest", "", [fault])
        bound = self._bound(spec.get("boundObjectRef"), target.namespace)
        spec = {"expirationSeconds": life, "boundObjectRef": None} | spec
        spec["audiences"] = spec.get("audiences") or [OURS]
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": target.name,
                "namespace": target.namespace,
                "uid": account["metadata"]["uid"],
                "creationTimestamp": to_second(self._now()),
            },
            "spec": spec,
            "status": {
                "token": self._identities.issue(account, bound, spec["audiences"]),
                "expirationTimestamp": to_second(self._now() + timedelta(seconds=life)),
            },
        }

    def _bound(self, said: object, namespace: str) -> Object | None:
        """What a token is to last no longer than. Raises `Refused` where there is no such thing."""
        reference = loose.members(said)
        if not reference:
            return None
        version, kind = loose.text(reference.get("apiVersion")), loose.text(reference.get("kind"))
        plural = _BINDABLE.get(kind) if version in ("", "v1") else None
        if plural is None:
            group, _, version = version.rpartition("/")
            raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
        name, uid = loose.text(reference.get("name")), loose.text(reference.get("uid"))
        found = self._store.get(Spot(("", plural), "" if kind == "Node" else namespace, name))
        if found is None:
            raise not_found("", plural, name)
        if uid and uid != found["metadata"]["uid"]:
            why = f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            raise conflict("", plural, name, f"{why}The object might have been deleted and then recreated")
        return found


_BINDABLE: Final = {"Node": "nodes", "Pod": "pods", "Secret": "secrets"}


def _check_access(kind: str, spec: object) -> None:
    """That a question about rights asks for something. Raises `Refused`."""
    asked = loose.members(spec)
    faults: list[Fault] = []
    both = bool(asked.get("resourceAttributes")), bool(asked.get("nonResourceAttributes"))
    if sum(both) != 1:
        what = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        faults.append(faulting.invalid("spec.resourceAttributes", None, what))
    if kind == "SubjectAccessReview" and not asked.get("user") and not asked.get("groups"):
        faults.append(faulting.invalid("spec.user", "", "at least one of user or group must be specified"))
    if faults:
        raise invalid("authorization.k8s.io", kind, "", faults)


def _why(ask: Ask, spec: object) -> str:
    groups = loose.elements(loose.members(spec).get("groups")) or ask.person.groups
    return "" if MASTERS in groups else "the sandbox lets everybody do everything"
