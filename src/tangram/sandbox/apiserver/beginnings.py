"""What every cluster has from its first moment: four namespaces, two priority classes, and the roles people know.

And what every namespace has: an account for its pods. A controller sees to that in the real server too, a moment later,
and whoever is faster than it is refused; here nobody can be.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.rights.authority import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from tangram.sandbox.apiserver.rights.first_roles import first_bindings, first_roles
from tangram.sandbox.apiserver.rules import SYSTEM_PRIORITY_CLASSES
from tangram.sandbox.apiserver.store import Change, Spot, Store

_NAMESPACES: Final = ("", "namespaces")
NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


def begin(store: Store, now: Callable[[], str]) -> None:
    """Put what is missing, and from now on what every new namespace needs."""

    def heard(change: Change) -> None:
        if change.type == "ADDED" and change.spot.resource == _NAMESPACES:
            spot = Spot(("", "serviceaccounts"), change.spot.name, "default")
            if store.get(spot) is None:
                store.put(spot, _account(change.spot.name, now()))

    store.listeners.append(heard)
    for spot, thing in _first_things(now()):
        if store.get(spot) is None:
            store.put(spot, thing)


def _first_things(now: str) -> Iterator[tuple[Spot, Object]]:
    for name in NAMESPACES:
        labels = {"kubernetes.io/metadata.name": name}
        namespace = {
            "kind": "Namespace",
            "apiVersion": "v1",
            "metadata": _metadata(name, now) | {"labels": labels},
        }
        yield (
            Spot(_NAMESPACES, "", name),
            namespace | {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}},
        )
    for each in SYSTEM_PRIORITY_CLASSES:
        name = each["metadata"]["name"]
        yield (
            Spot(("scheduling.k8s.io", "priorityclasses"), "", name),
            {**each, "metadata": _metadata(name, now) | {"generation": 1}},
        )

    for resource, things in ((CLUSTER_ROLES, first_roles()), (CLUSTER_ROLE_BINDINGS, first_bindings())):
        for thing in things:
            metadata = thing["metadata"]
            yield (
                Spot(resource, "", metadata["name"]),
                {**thing, "metadata": _metadata(metadata["name"], now) | metadata},
            )


def _account(namespace: str, now: str) -> Object:
    metadata = _metadata("default", now) | {"namespace": namespace}
    return {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": metadata}


def _metadata(name: str, now: str) -> Object:
    return {"name": name, "uid": str(uuid.uuid4()), "creationTimestamp": now}
