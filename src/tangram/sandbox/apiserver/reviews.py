"""Questions that are answered and forgotten: who somebody is, and what they may do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.asking import Ask
from tangram.sandbox.apiserver.identities import OURS, Identities, Person
from tangram.sandbox.apiserver.refusals import Fault, bad_request, conflict, invalid, not_found
from tangram.sandbox.apiserver.rights.authority import Authority
from tangram.sandbox.apiserver.rights.wanted import Wanted
from tangram.sandbox.apiserver.rules import faulting
from tangram.sandbox.apiserver.store import Change, Spot, Store
from tangram.wire import loose
from tangram.wire.timestamps import to_second

ACCOUNTS: Final = ("", "serviceaccounts")
SHORTEST_LIFE_S: Final = 600
USUAL_LIFE_S: Final = 3600


class Reviews:
    def __init__(
        self, store: Store, identities: Identities, authority: Authority, now: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._identities = identities
        self._authority = authority
        self._now = now
        store.listeners.append(self._heard)

    def _heard(self, change: Change) -> None:
        if change.type == "DELETED" and change.spot.resource == ACCOUNTS:
            self._identities.forget(change.thing)

    def answer(self, ask: Ask, thing: Object) -> Object:
        """The object that was sent, with its status."""
        spec = loose.members(thing.get("spec"))
        metadata: Object = {
            key: value for key, value in thing.get("metadata", {}).items() if value is not None
        }
        if ask.target.namespace:
            metadata["namespace"] = ask.target.namespace
        answered: Object = {**thing, "metadata": metadata}
        match ask.target.kind.kind:
            case "TokenReview":
                answered["status"] = self._token_reviewed(spec)
            case "SelfSubjectReview":
                metadata["creationTimestamp"] = to_second(self._now())
                answered["status"] = {"userInfo": ask.person.written()}
            case "SelfSubjectRulesReview":
                answered |= {"spec": {}, "status": self._rules(ask.person, loose.text(spec.get("namespace")))}
            case kind:
                _check_access(kind, spec, ask.target.namespace)
                person = ask.person if kind == "SelfSubjectAccessReview" else _subject(spec)
                decision = self._authority.decide(person, _wanted(spec))
                reason = {"reason": decision.reason} if decision.reason else {}
                answered["status"] = {"allowed": decision.allowed, **reason}
        return answered

    def _rules(self, person: Person, namespace: str) -> Object:
        if not namespace:
            raise bad_request("no namespace on request")
        rules = self._authority.rules_for(person, namespace)
        return {
            "resourceRules": [rule.written() for rule in rules if rule.resources],
            "nonResourceRules": [rule.written() for rule in rules if rule.urls],
            "incomplete": False,
        }

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


def _check_access(kind: str, spec: object, namespace: str) -> None:
    """That a question about rights asks for something. Raises `Refused`."""
    asked = loose.members(spec)
    faults: list[Fault] = []
    resource, path = asked.get("resourceAttributes"), asked.get("nonResourceAttributes")
    if resource is not None and path is not None:
        what = "cannot be specified in combination with resourceAttributes"
        faults.append(faulting.invalid("spec.nonResourceAttributes", path, what))
    if resource is None and path is None:
        what = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        faults.append(faulting.invalid("spec.resourceAttributes", None, what))
    if kind != "SelfSubjectAccessReview" and not asked.get("user") and not asked.get("groups"):
        faults.append(faulting.invalid("spec.user", "", "at least one of user or group must be specified"))
    if kind == "LocalSubjectAccessReview":
        there = loose.text(loose.members(resource).get("namespace"))
        if resource is not None and there != namespace:
            where = "spec.resourceAttributes.namespace"
            faults.append(faulting.invalid(where, there, "must match metadata.namespace"))
        if path is not None:
            what = "disallowed on this kind of request"
            faults.append(faulting.invalid("spec.nonResourceAttributes", path, what))
    if faults:
        raise invalid("authorization.k8s.io", kind, "", faults)


def _subject(spec: Mapping[str, object]) -> Person:
    """Whom a question is about, in exactly the groups it names."""
    groups = tuple(loose.text(each) for each in loose.elements(spec.get("groups")))
    return Person(name=loose.text(spec.get("user")), groups=groups)


def _wanted(spec: Mapping[str, object]) -> Wanted:
    path = spec.get("nonResourceAttributes")
    if path is not None:
        asked = loose.members(path)
        return Wanted(loose.text(asked.get("verb")), path=loose.text(asked.get("path")))
    asked = loose.members(spec.get("resourceAttributes"))
    fields = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Wanted(*(loose.text(asked.get(field)) for field in fields))
