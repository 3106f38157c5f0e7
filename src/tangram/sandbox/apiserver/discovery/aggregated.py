"""Discovery in one document, which spares a client forty requests: `APIGroupDiscoveryList`.

Clients ask for it with `application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList` at `/api` and at `/apis`.
The older `v2beta1` has the same fields; the real server no longer answers in it, and clients that know nothing newer
then ask for each group by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.discovery.ordering import group_names, of_version, versions
from tangram.sandbox.apiserver.kinds import Kind, Subresource


def aggregated(kinds: Sequence[Kind], *, core: bool, version: str = "v2") -> Object:
    """The answer of `/api` (`core`) or of `/apis`, in a version of `apidiscovery.k8s.io`."""
    names = [""] if core else group_names(kinds)
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [_group(kinds, name) for name in names],
    }


def _group(kinds: Sequence[Kind], name: str) -> Object:
    return {
        "metadata": {"name": name} if name else {},
        "versions": [
            {
                "version": version,
                "resources": [_resource(kind) for kind in of_version(kinds, name, version)],
                "freshness": "Current",
            }
            for version in versions(kinds, name)
        ],
    }


def _resource(kind: Kind) -> Object:
    told: Object = {
        "resource": kind.plural,
        "responseKind": _response(kind, kind.kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    further = {
        "shortNames": list(kind.short),
        "categories": list(kind.categories),
        "subresources": [_subresource(kind, part) for part in kind.subresources],
    }
    return told | {key: value for key, value in further.items() if value}


def _subresource(kind: Kind, part: Subresource) -> Object:
    if part.group:
        answered = {"group": part.group, "version": part.version, "kind": part.kind}
    else:
        answered = _response(kind, part.kind or kind.kind)
    return {"subresource": part.name, "responseKind": answered, "verbs": list(part.verbs)}


def _response(kind: Kind, name: str) -> Object:
    """Built-in kinds leave out what the place in the document says already; those defined by people do not."""
    if kind.definition:
        return {"group": "", "version": "", "kind": name}
    return {"group": kind.group, "version": kind.version, "kind": name}
