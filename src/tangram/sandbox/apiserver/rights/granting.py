"""Nobody gives away what they do not have: roles and bindings are held against the rights of who writes them.

Two verbs of their own make exceptions: `escalate` on roles and `bind` on the role that is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.asking import Ask
from tangram.sandbox.apiserver.go_writing import go_quoted
from tangram.sandbox.apiserver.identities import MASTERS, Person
from tangram.sandbox.apiserver.refusals import Refused, not_found
from tangram.sandbox.apiserver.rights.authority import Authority, refused_grant
from tangram.sandbox.apiserver.rights.policy import ALL, Rule, missing, rules_of_role
from tangram.sandbox.apiserver.rights.wanted import Wanted
from tangram.sandbox.apiserver.rules.looking import record, records, word
from tangram.sandbox.apiserver.rules.rights import RBAC

_EVERYTHING: Final = (
    Rule(verbs=(ALL,), groups=(ALL,), resources=(ALL,)),
    Rule(verbs=(ALL,), urls=(ALL,)),
)
_ROLES: Final = frozenset({"roles", "clusterroles"})
_BINDINGS: Final = frozenset({"rolebindings", "clusterrolebindings"})
_LEFT_ALONE: Final = frozenset({"ownerReferences", "finalizers", "managedFields", "resourceVersion"})
"""What the collector of garbage changes so that an object can go. It needs nobody's rights for that."""


class Granting:
    def __init__(self, authority: Authority) -> None:
        self._authority = authority

    def check(self, ask: Ask, new: Object, old: Object | None) -> None:
        """Raises `Refused` for a role or a binding that gives more than its writer has."""
        kind = ask.target.kind
        if kind.group != RBAC or MASTERS in ask.person.groups:
            return
        if old is not None and _essence(new) == _essence(old):
            return
        if kind.plural in _ROLES:
            self._check_role(ask, new, old)
        elif kind.plural in _BINDINGS:
            self._check_binding(ask, new)

    def _check_role(self, ask: Ask, new: Object, old: Object | None) -> None:
        target = ask.target
        wanted = Wanted("escalate", RBAC, target.kind.plural, "", target.namespace, target.name)
        if self._authority.decide(ask.person, wanted).allowed:
            return
        self._check_held(ask, new, rules_of_role(new))
        if _aggregates(new) or _aggregates(old or {}):
            held = self._authority.rules_for(ask.person, target.namespace)
            if missing(held, _EVERYTHING):
                raise _refused(ask, new, "must have cluster-admin privileges to use the aggregationRule")

    def _check_binding(self, ask: Ask, new: Object) -> None:
        namespace, role = ask.target.namespace, record(new, "roleRef")
        kind, name = word(role, "kind"), word(role, "name")
        if kind not in ("Role", "ClusterRole"):
            # It is about to be refused for that, in words of its own.
            return
        plural = f"{kind.lower()}s"
        wanted = Wanted("bind", word(role, "apiGroup"), plural, "", namespace, name)
        if self._authority.decide(ask.person, wanted).allowed:
            return
        rules = self._authority.rules_of(kind, namespace, name)
        if rules is None:
            # The real server says it of the binding that was asked for, with the name of the role.
            raise not_found(RBAC, ask.target.kind.plural, name)
        self._check_held(ask, new, rules)

    def _check_held(self, ask: Ask, new: Object, given: Sequence[Rule]) -> None:
        lacking = missing(self._authority.rules_for(ask.person, ask.target.namespace), given)
        if lacking:
            raise _refused(ask, new, _told(ask.person, lacking))


def _refused(ask: Ask, new: Object, why: str) -> Refused:
    return refused_grant(RBAC, ask.target.kind.plural, word(record(new, "metadata"), "name"), why)


def _aggregates(role: Object) -> bool:
    return bool(records(record(role, "aggregationRule"), "clusterRoleSelectors"))


def _essence(thing: Object) -> Object:
    metadata = {key: value for key, value in thing["metadata"].items() if key not in _LEFT_ALONE}
    return {**thing, "metadata": metadata}


def _told(person: Person, lacking: Iterable[Rule]) -> str:
    """What is missing, with the verbs of one resource together."""
    verbs: dict[Rule, list[str]] = {}
    lines: set[str] = set()
    for piece in lacking:
        if piece.urls:
            lines.add(_line(piece))
        else:
            alone = Rule(groups=piece.groups, resources=piece.resources, names=piece.names)
            verbs.setdefault(alone, []).extend(piece.verbs)
    for alone, some in verbs.items():
        lines.add(
            _line(Rule(verbs=tuple(some), groups=alone.groups, resources=alone.resources, names=alone.names))
        )
    who = f"user {go_quoted(person.name)} (groups={_quoted(person.groups)})"
    told = "\n".join(sorted(lines))
    return f"{who} is attempting to grant RBAC permissions not currently held:\n{told}"


def _line(rule: Rule) -> str:
    fields = (
        ("APIGroups", rule.groups),
        ("Resources", rule.resources),
        ("NonResourceURLs", rule.urls),
        ("ResourceNames", rule.names),
        ("Verbs", rule.verbs),
    )
    return "{" + ", ".join(f"{name}:{_quoted(values)}" for name, values in fields if values) + "}"


def _quoted(values: Iterable[str]) -> str:
    return f"[{' '.join(go_quoted(each) for each in values)}]"
