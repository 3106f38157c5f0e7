"""Who makes a pod, where to read it, and how a change to it is applied.

A change to a pod that a controller made lasts until the controller makes the next one, so it belongs into the
controller's object; and if another object made that one, into the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from tangram.units.ids import is_dns_label, is_dns_subdomain
from tangram.wire import loose
from tangram.wire.changing.cleaning import LAST_APPLIED

MOST_OWNERS: Final = 3
"""One above the other: a pod, a Job, a CronJob."""
_RESOURCES: Final[Mapping[tuple[str, str], str]] = {
    ("apps", "ReplicaSet"): "replicasets",
    ("apps", "Deployment"): "deployments",
    ("apps", "StatefulSet"): "statefulsets",
    ("apps", "DaemonSet"): "daemonsets",
    ("batch", "Job"): "jobs",
    ("batch", "CronJob"): "cronjobs",
}
FILE: Final = "changed.yaml"


class Owner(NamedTuple):
    kind: str
    name: str
    path: str
    """Of the API server; empty for a kind that nobody here knows."""


def pod_path(namespace: str, name: str) -> str:
    """Where the API server has a pod; empty for names that no pod has, which could lead anywhere."""
    legal = is_dns_label(namespace) and is_dns_subdomain(name)
    return f"/api/v1/namespaces/{namespace}/pods/{name}" if legal else ""


def owner_of(manifest: Mapping[str, object]) -> Owner | None:
    """The controller that made an object; None for one that a person made."""
    metadata = loose.members(manifest.get("metadata"))
    for each in loose.elements(metadata.get("ownerReferences")):
        reference = loose.members(each)
        if reference.get("controller") is not True:
            continue
        kind, name = loose.text(reference.get("kind")), loose.text(reference.get("name"))
        return Owner(kind, name, _path(loose.text(reference.get("apiVersion")), kind, metadata, name))
    return None


def _path(group_version: str, kind: str, metadata: Mapping[str, object], name: str) -> str:
    group, _, version = group_version.rpartition("/")
    home, resource = loose.text(metadata.get("namespace")), _RESOURCES.get((group, kind))
    legal = is_dns_label(version) and is_dns_label(home) and is_dns_subdomain(name)
    return f"/apis/{group}/{version}/namespaces/{home}/{resource}/{name}" if resource and legal else ""


def applying(manifest: Mapping[str, object]) -> tuple[str, ...]:
    """The commands that put a changed object in the place of the one that was read."""
    kind, metadata = loose.text(manifest.get("kind")), loose.members(manifest.get("metadata"))
    if kind in ("Pod", "Job"):
        # What they say of containers cannot be changed in place.
        return (f"kubectl replace --force -f {FILE}",)
    if LAST_APPLIED in loose.members(metadata.get("annotations")):
        return (f"kubectl apply -f {FILE}",)
    # Apply takes nothing away from an object that was not made by it.
    return (f"kubectl replace -f {FILE}",)


def keeps_its_pods(manifest: Mapping[str, object]) -> bool:
    """Whether pods that wait stay as they were until somebody deletes them."""
    return loose.text(manifest.get("kind")) in ("ReplicaSet", "StatefulSet")
