"""What every cluster has from its first moment: four namespaces and two priority classes.

And what every namespace has: an account for its pods. A controller sees to that in the real server too, a moment later,
and whoever is faster than it is refused; here nobody can be.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.store import Change, Spot, Store

_NAMESPACES: Final = ("", "namespaces")
NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_CLASSES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


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
    for name, value in _CLASSES.items():
        yield (
            Spot(("scheduling.k8s.io", "priorityclasses"), "", name),
            {
                "kind": "PriorityClass",
                "apiVersion": "scheduling.k8s.io/v1",
                "metadata": _metadata(name, now) | {"generation": 1},
                "value": value,
                "preemptionPolicy": "PreemptLowerPriority",
                "description": "Used for system critical pods that must run in the cluster.",
            },
        )


def _account(namespace: str, now: str) -> Object:
    metadata = _metadata("default", now) | {"namespace": namespace}
    return {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": metadata}


def _metadata(name: str, now: str) -> Object:
    return {"name": name, "uid": str(uuid.uuid4()), "creationTimestamp": now}
