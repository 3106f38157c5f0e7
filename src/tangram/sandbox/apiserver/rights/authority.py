"""Whether somebody may do something, and by which role.

Every request asks, and a sandbox of a thousand machines makes thousands in a second. So what somebody holds in a
namespace is worked out once, and which of it speaks of a verb on a resource once more; all of it is forgotten with the
next change of a role or a binding, and so is what would grow too long.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from tangram.sandbox.apiserver.go_writing import go_quoted
from tangram.sandbox.apiserver.identities import MASTERS, Person
from tangram.sandbox.apiserver.refusals import Refused, named, qualified
from tangram.sandbox.apiserver.rights.bindings import Binding, Bindings
from tangram.sandbox.apiserver.rights.policy import Rule, allows, allows_some, rules_of_role
from tangram.sandbox.apiserver.rights.wanted import Wanted
from tangram.sandbox.apiserver.rules.rights import RBAC
from tangram.sandbox.apiserver.store import Change, Spot, Store

ROLES: Final = (RBAC, "roles")
CLUSTER_ROLES: Final = (RBAC, "clusterroles")
ROLE_BINDINGS: Final = (RBAC, "rolebindings")
CLUSTER_ROLE_BINDINGS: Final = (RBAC, "clusterrolebindings")
MOST_REMEMBERED: Final = 10_000
_ROLE_KINDS: Final = {"Role": ROLES, "ClusterRole": CLUSTER_ROLES}
_BINDINGS: Final = frozenset({ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS})
_OURS: Final = frozenset({ROLES, CLUSTER_ROLES, *_BINDINGS})
_UNMARKED: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class Decision(Struct, frozen=True):
    """Yes or no, and by what."""

    allowed: bool
    reason: str = ""


_ALWAYS: Final = Decision(allowed=True)


class _Held:
    """What somebody holds in one namespace, or outside of all."""

    def __init__(self, rules: list[tuple[Rule, Binding]], troubles: list[str]) -> None:
        self.rules: Final = rules
        told = list(dict.fromkeys(troubles))
        joined = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
        self.refusal: Final = Decision(allowed=False, reason=f"RBAC: {joined}" if told else "")
        self._speaking: dict[tuple[str, str, str], list[tuple[Rule, Binding]]] = {}

    def allowing(self, wanted: Wanted) -> Binding | None:
        """The first binding by which this is allowed."""
        if wanted.path:
            return next((binding for rule, binding in self.rules if allows(rule, wanted)), None)
        for rule, binding in self._about(wanted):
            if not rule.names or wanted.name in rule.names:
                return binding
        return None

    def _about(self, wanted: Wanted) -> list[tuple[Rule, Binding]]:
        """What speaks of a verb on a resource, whatever the object is called."""
        about = (wanted.verb, wanted.group, wanted.combined)
        found = self._speaking.get(about)
        if found is None:
            if len(self._speaking) >= MOST_REMEMBERED:
                self._speaking.clear()
            found = [each for each in self.rules if allows_some(each[0], wanted)]
            self._speaking[about] = found
        return found


class Authority:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._bindings = Bindings()
        self._held: dict[tuple[str, tuple[str, ...], str], _Held] = {}
        store.listeners.append(self._heard)

    def load(self) -> None:
        """Take the bindings that were there before anybody was told of them."""
        for resource in _BINDINGS:
            for thing in self._store.all(resource):
                self._bindings.put(thing)

    # ---- asking

    def decide(self, person: Person, wanted: Wanted) -> Decision:
        if MASTERS in person.groups:
            return _ALWAYS
        held = self._what_is_held(person, wanted.namespace)
        by = held.allowing(wanted)
        return (
            held.refusal
            if by is None
            else Decision(allowed=True, reason=f"RBAC: allowed by {by.told(person)}")
        )

    def check(self, person: Person, wanted: Wanted) -> None:
        """Raises `Refused` for what somebody may not do."""
        if MASTERS in person.groups:
            return
        held = self._what_is_held(person, wanted.namespace)
        if held.allowing(wanted) is None:
            raise forbidden(person, wanted, held.refusal.reason)

    def rules_for(self, person: Person, namespace: str) -> list[Rule]:
        """All that somebody may do there."""
        return [rule for rule, _ in self._what_is_held(person, namespace).rules]

    def rules_of(self, kind: str, namespace: str, name: str) -> tuple[Rule, ...] | None:
        """What a Role or ClusterRole allows; None where there is none."""
        role = self._store.get(Spot(_ROLE_KINDS[kind], namespace if kind == "Role" else "", name))
        return None if role is None else rules_of_role(role)

    # ---- remembering

    def _what_is_held(self, person: Person, namespace: str) -> _Held:
        key = (person.name, person.groups, namespace)
        held = self._held.get(key)
        if held is None:
            if len(self._held) >= MOST_REMEMBERED:
                self._held.clear()
            troubles: list[str] = []
            held = _Held(list(self._look(person, namespace, troubles)), troubles)
            self._held[key] = held
        return held

    def _look(self, person: Person, namespace: str, troubles: list[str]) -> Iterator[tuple[Rule, Binding]]:
        for binding in self._bindings.of(person, namespace):
            rules = self.rules_of(binding.role_kind, binding.namespace, binding.role)
            if rules is None:
                troubles.append(f'{binding.role_kind.lower()}.{RBAC} "{binding.role}" not found')
            for rule in rules or ():
                yield rule, binding

    def _heard(self, change: Change) -> None:
        resource = change.spot.resource
        if resource not in _OURS:
            return
        self._held.clear()
        if resource in _BINDINGS:
            if change.type == "DELETED":
                self._bindings.drop((change.spot.namespace, change.spot.name))
            else:
                self._bindings.put(change.thing)


def forbidden(person: Person, wanted: Wanted, reason: str = "") -> Refused:
    """A refusal in the words of the real server."""
    user = go_quoted(person.name)
    if wanted.path:
        why = f"User {user} cannot {wanted.verb} path {go_quoted(wanted.path)}"
    else:
        inside = f"in the namespace {go_quoted(wanted.namespace)}"
        why = (
            f"User {user} cannot {wanted.verb} resource {go_quoted(wanted.combined)} in API group "
            f"{go_quoted(wanted.group)} {inside if wanted.namespace else 'at the cluster scope'}"
        )
    why = why.translate(_UNMARKED) + (f": {reason}" if reason else "")
    if wanted.path:
        return Refused(403, "Forbidden", f"forbidden: {why}", {})
    return refused_grant(wanted.group, wanted.resource, wanted.name, why)


def refused_grant(group: str, resource: str, name: str, why: str) -> Refused:
    """The same about an object, for a reason of its own."""
    called = f" {go_quoted(name)}" if name else ""
    message = f"{qualified(group, resource)}{called} is forbidden: {why}"
    return Refused(403, "Forbidden", message, named(group, resource, name))
