"""Who holds which role: the bindings of a cluster, found by whom they name.

There may be one for every namespace and thousands of them, so nobody walks through all: each is kept under its
subjects, and somebody's bindings are those under their name and their groups.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from msgspec import Struct

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.identities import Person
from tangram.sandbox.apiserver.rules.looking import record, records, word

ACCOUNT_PREFIX: Final = "system:serviceaccount:"
_Place = tuple[str, str]
"""Namespace, empty for a ClusterRoleBinding, and name."""


class Binding(Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    role_kind: str
    role: str
    subjects: tuple[tuple[str, str], ...]
    """What each answers to, a group or a user, and how it is told."""

    def told(self, person: Person) -> str:
        """In the words in which a right is explained."""
        ways = {f"User {person.name}", *(f"Group {group}" for group in person.groups)}
        subject = next(told for way, told in self.subjects if way in ways)
        kind = "RoleBinding" if self.namespace else "ClusterRoleBinding"
        name = f"{self.name}/{self.namespace}" if self.namespace else self.name
        return f'{kind} "{name}" of {self.role_kind} "{self.role}" to {subject}'


def read_binding(thing: Object) -> Binding:
    """A RoleBinding or ClusterRoleBinding."""
    metadata, role = record(thing, "metadata"), record(thing, "roleRef")
    namespace = word(metadata, "namespace")
    subjects = (_subject(each, namespace) for each in records(thing, "subjects"))
    return Binding(
        namespace=namespace,
        name=word(metadata, "name"),
        role_kind=word(role, "kind"),
        role=word(role, "name"),
        subjects=tuple(each for each in subjects if each is not None),
    )


def _subject(subject: Object, namespace: str) -> tuple[str, str] | None:
    kind, name = word(subject, "kind"), word(subject, "name")
    if kind in ("User", "Group"):
        return f"{kind} {name}", f'{kind} "{name}"'
    home = word(subject, "namespace") or namespace
    if kind != "ServiceAccount" or not home:
        return None
    return f"User {ACCOUNT_PREFIX}{home}:{name}", f'ServiceAccount "{name}/{home}"'


class Bindings:
    def __init__(self) -> None:
        self._known: dict[_Place, Binding] = {}
        self._by_subject: defaultdict[str, set[_Place]] = defaultdict(set)

    def put(self, thing: Object) -> None:
        binding = read_binding(thing)
        place = (binding.namespace, binding.name)
        self.drop(place)
        self._known[place] = binding
        for way, _ in binding.subjects:
            self._by_subject[way].add(place)

    def drop(self, place: _Place) -> None:
        known = self._known.pop(place, None)
        for way, _ in known.subjects if known is not None else ():
            self._by_subject[way].discard(place)
            if not self._by_subject[way]:
                del self._by_subject[way]

    def of(self, person: Person, namespace: str) -> list[Binding]:
        """Those everywhere, then those of one namespace, each by name."""
        ways = (f"User {person.name}", *(f"Group {group}" for group in person.groups))
        places = {place for way in ways for place in self._by_subject.get(way, ())}
        return [self._known[place] for place in sorted(places) if place[0] in ("", namespace)]
