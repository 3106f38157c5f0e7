"""What every API object has, whatever its kind: a name, a uid that is never used again, and a version.

Versions of one list are ordered: a server with a longer or larger number has seen more. Where one is not a plain
number (nothing that Kubernetes makes), no order is claimed, and a newcomer counts as newer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tangram.kube.errors import ApiUnreachable
from tangram.wire import loose

Object = dict[str, Any]


class Key(NamedTuple):
    """What an object is called. A new object under an old name has another uid, and counts as another object."""

    namespace: str
    name: str


class Identity(NamedTuple):
    """Which object in which state: the same three texts always mean the same content."""

    key: Key
    uid: str
    version: str


def identity_of(thing: object) -> Identity:
    """Who an object is. Raises `ApiUnreachable` for what is no API object: whoever sent that is no API server."""
    metadata = loose.members(loose.members(thing).get("metadata"))
    name = loose.text(metadata.get("name"))
    if not name:
        raise ApiUnreachable(
            "the answer holds something that is no API object: it has no metadata with a name"
        )
    return Identity(
        Key(loose.text(metadata.get("namespace")), name),
        loose.text(metadata.get("uid")),
        loose.text(metadata.get("resourceVersion")),
    )


def version_of(thing: Object) -> str:
    """The version of a list or a bookmark; empty when it names none."""
    return loose.text(loose.members(thing.get("metadata")).get("resourceVersion"))


def older(version: str, than: str) -> bool:
    """Whether a version certainly came before another one of the same list."""
    if not (version.isdigit() and than.isdigit()):
        return False
    return (len(version), version) < (len(than), than)
