"""Questions that are answered and forgotten: who somebody is, and what they may do.

Everybody with a token may do everything here, and the answers say so.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.asking import Ask
from tangram.sandbox.apiserver.identities import MASTERS, Identities
from tangram.sandbox.apiserver.refusals import Fault, invalid, not_found
from tangram.sandbox.apiserver.store import Spot, Store
from tangram.sandbox.apiserver.writing import moment
from tangram.wire import loose

ACCOUNTS: Final = ("", "serviceaccounts")
NODES: Final = ("", "nodes")
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
                person = self._identities.known(loose.text(spec.get("token")))
                answered["status"] = (
                    {"authenticated": True, "user": person.written(), "audiences": _AUDIENCES}
                    if person is not None
                    else {"error": "invalid bearer token", "user": {}}
                )
            case "SelfSubjectReview":
                metadata["creationTimestamp"] = moment(self._now())
                answered["status"] = {"userInfo": ask.person.written()}
            case "SelfSubjectRulesReview":
                everything = {"verbs": ["*"]}
                answered["status"] = {
                    "incomplete": False,
                    "resourceRules": [{**everything, "apiGroups": ["*"], "resources": ["*"]}],
                    "nonResourceRules": [{**everything, "nonResourceURLs": ["*"]}],
                }
            case _:
                answered["status"] = {"allowed": True, "reason": _why(ask, spec)}
        return answered

    def token(self, ask: Ask, thing: Object) -> Object:
        """A TokenRequest for a service account, answered."""
        target = ask.target
        account = self._store.get(Spot(ACCOUNTS, target.namespace, target.name))
        if account is None:
            raise not_found("", "serviceaccounts", target.name)
        spec: Object = dict(loose.members(thing.get("spec")))
        life = loose.integer(spec.get("expirationSeconds")) or USUAL_LIFE_S
        if life < SHORTEST_LIFE_S:
            message = f"Invalid value: {life}: may not specify a duration less than 10 minutes"
            raise invalid(
                "authentication.k8s.io", "TokenRequest", target.name,
                [Fault("spec.expirationSeconds", "FieldValueInvalid", message)],
            )  # fmt: skip
        node = self._node(loose.members(spec.get("boundObjectRef")))
        spec = {"audiences": _AUDIENCES, "expirationSeconds": life, "boundObjectRef": None} | spec
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": target.name,
                "namespace": target.namespace,
                "creationTimestamp": moment(self._now()),
            },
            "spec": spec,
            "status": {
                "token": self._identities.issue(account, node),
                "expirationTimestamp": moment(self._now() + timedelta(seconds=life)),
            },
        }

    def _node(self, bound: object) -> Object | None:
        reference = loose.members(bound)
        if reference.get("kind") != "Node":
            return None
        name = loose.text(reference.get("name"))
        node = self._store.get(Spot(NODES, "", name))
        if node is None:
            raise not_found("", "nodes", name)
        return node


_AUDIENCES: Final = ["https://kubernetes.default.svc"]


def _why(ask: Ask, spec: object) -> str:
    groups = loose.elements(loose.members(spec).get("groups")) or ask.person.groups
    return "" if MASTERS in groups else "the sandbox lets everybody do everything"
