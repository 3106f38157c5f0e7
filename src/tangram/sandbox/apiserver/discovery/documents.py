"""Discovery as it has always been: a document for all groups, one for each group, one for each version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.discovery.ordering import group_names, of_version, versions
from tangram.sandbox.apiserver.kinds import Kind, Subresource


def core_versions(address: str) -> Object:
    """The answer of `/api`; the address is `host:port`, where clients of every network reach the server."""
    reached = {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [reached]}


def groups(kinds: Sequence[Kind]) -> Object:
    """The answer of `/apis`."""
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(kinds, name) for name in group_names(kinds)],
    }


def group(kinds: Sequence[Kind], name: str) -> Object | None:
    """The answer of `/apis/GROUP`; None for a group nobody knows."""
    if name not in group_names(kinds):
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(kinds, name)}


def resources(kinds: Sequence[Kind], group: str, version: str) -> Object | None:
    """The answer of `/api/v1` (the empty group) and of `/apis/GROUP/VERSION`; None for what nobody knows."""
    served = of_version(kinds, group, version)
    if not served:
        return None
    listed = [document for kind in served for document in _resources(kind)]
    head: Object = {"kind": "APIResourceList"}
    if group:
        # The core group is older than the rule that a document says what it is.
        head["apiVersion"] = "v1"
    return head | {"groupVersion": served[0].api_version, "resources": listed}


def _group(kinds: Iterable[Kind], name: str) -> Object:
    known = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions(kinds, name)]
    return {"name": name, "versions": known, "preferredVersion": known[0]}


def _resources(kind: Kind) -> Iterable[Object]:
    own: Object = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    yield own | {key: list(value) for key, value in _names(kind) if value}
    for part in kind.subresources:
        yield _subresource(kind, part)


def _subresource(kind: Kind, part: Subresource) -> Object:
    head: Object = {
        "name": f"{kind.plural}/{part.name}",
        "singularName": "",
        "namespaced": kind.namespaced,
    }
    if part.group:
        head |= {"group": part.group, "version": part.version}
    return head | {"kind": part.kind or kind.kind, "verbs": list(part.verbs)}


def _names(kind: Kind) -> Iterable[tuple[str, tuple[str, ...]]]:
    return ("shortNames", kind.short), ("categories", kind.categories)
