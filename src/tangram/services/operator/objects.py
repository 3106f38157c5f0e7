"""Objects of the cluster as the operator handles them: where they live, what they must say, what differs.

A wanted object carries a hash of itself, so that a change of ours can be told from a change of somebody else's: where
the hash is that of what we want and the object still differs from it, somebody edited it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from tangram.kube.api import Object
from tangram.services.operator.parts.pods import MANAGED_BY, MANAGER
from tangram.wire import loose

HASH: Final = "tangram.dev/operator.hash"
MOST_NAMED: Final = 5

_PATHS: Final = {
    "DaemonSet": "/apis/apps/v1/namespaces/{namespace}/daemonsets",
    "ConfigMap": "/api/v1/namespaces/{namespace}/configmaps",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
}
_SERVERS: Final = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")
_NOBODYS: Final = frozenset({".status", *(f".metadata.{key}" for key in _SERVERS)})
"""What the API server and the controllers write."""
_COUNTED: Final = ".metadata.annotations.deprecated.daemonset."
"""The API server's count of templates, which it keeps in an annotation."""


class Name(NamedTuple):
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def name_of(thing: Mapping[str, Any]) -> Name:
    """What an object is called; lists of one kind leave the kind out, so it can be given."""
    metadata = loose.members(thing.get("metadata"))
    return Name(
        loose.text(thing.get("kind")), loose.text(metadata.get("namespace")), loose.text(metadata.get("name"))
    )


def collection_of(name: Name) -> str:
    """The path of the list that an object is in."""
    return _PATHS[name.kind].format(namespace=name.namespace)


def path_of(name: Name) -> str:
    """Where the API server keeps an object."""
    return f"{collection_of(name)}/{name.name}"


def hash_of(wanted: Object) -> str:
    """Of all that is wanted of an object."""
    return hashlib.sha256(msgspec.json.encode(wanted, order="sorted")).hexdigest()[:16]


def signed(wanted: Object) -> Object:
    """The object with its hash, as it is sent."""
    metadata = {**wanted["metadata"], "annotations": {HASH: hash_of(wanted)}}
    return {**wanted, "metadata": metadata}


def hash_on(live: Object) -> str:
    """The hash of what was applied last."""
    return loose.text_map(loose.members(live.get("metadata")).get("annotations")).get(HASH, "")


def is_ours(live: Object) -> bool:
    """Whether the operator made it."""
    return loose.text_map(loose.members(live.get("metadata")).get("labels")).get(MANAGED_BY) == MANAGER


def owner_of(live: Object) -> str:
    """Who keeps an object that is not ours, in words."""
    metadata = loose.members(live.get("metadata"))
    annotations = loose.text_map(metadata.get("annotations"))
    release = annotations.get("meta.helm.sh/release-name", "")
    if release:
        return f"helm release {release} in namespace {annotations.get('meta.helm.sh/release-namespace', '')}"
    by = loose.text_map(metadata.get("labels")).get(MANAGED_BY, "")
    return by or "somebody else"


def differences(before: object, after: object, path: str = "") -> Iterator[str]:
    """Places in which two states of an object differ, but for its status and what the API server notes of it."""
    if path in _NOBODYS or path.startswith(_COUNTED):
        return
    if loose.is_object(before) and loose.is_object(after):
        old, new = loose.members(before), loose.members(after)
        for key in sorted({*old, *new}):
            yield from differences(old.get(key), new.get(key), f"{path}.{key}")
    elif loose.is_list(before) and loose.is_list(after):
        ours, theirs = loose.elements(before), loose.elements(after)
        if len(ours) != len(theirs):
            yield path
            return
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{path}[{_called(one, number)}]")
    elif before != after:
        yield path


def shortened(places: list[str]) -> str:
    """The first of them, in words."""
    more = len(places) - MOST_NAMED
    listed = ", ".join(place.removeprefix(".") for place in places[:MOST_NAMED])
    return f"{listed} and {more} more" if more > 0 else listed


def last_editor(live: Object) -> str:
    """Who wrote last beside us and beside those who keep the status; empty if nobody else did."""
    latest, who = "", ""
    for each in loose.elements(loose.members(live.get("metadata")).get("managedFields")):
        entry = loose.members(each)
        manager, when = loose.text(entry.get("manager")), loose.text(entry.get("time"))
        if manager != MANAGER and not entry.get("subresource") and when >= latest:
            latest, who = when, manager
    return who


def _called(element: object, number: int) -> str:
    name = loose.members(element).get("name")
    return name if isinstance(name, str) else str(number)
