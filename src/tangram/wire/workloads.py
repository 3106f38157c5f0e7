"""Whatever people have at hand that makes pods, read as the pods it would make.

Nobody writes bare pods: they write a Job or a Deployment and want to know where it would go. Each becomes the one
pod its template describes, under the workload's own name. A `List` gives one pod per member, and members that make
no pods (a Service beside a Deployment) are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.model.pods import Pod
from tangram.wire import loose
from tangram.wire.errors import WireError, shown
from tangram.wire.pods import read_pod

TEMPLATES: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": (),
    "Deployment": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
"""Per kind that makes pods, the way to what they are."""
_LIST = "List"


def read_workload(manifest: Mapping[str, object]) -> tuple[Pod, ...]:
    """The pods a manifest makes, one per template.

    Raises `WireError` when it is of a kind that makes none, or a list without a single member that does.
    """
    kind = loose.text(manifest.get("kind"))
    if kind in TEMPLATES:
        return (_pod(manifest, kind),)
    if not kind.endswith(_LIST):
        raise _no_pods(f"kind {shown(manifest.get('kind'))} makes no pods")
    # The members of a typed list such as PodList do not repeat their kind.
    member_kind = kind.removesuffix(_LIST)
    pods: list[Pod] = []
    for item in loose.elements(manifest.get("items")):
        member = loose.members(item)
        own = loose.text(member.get("kind")) or member_kind
        if own in TEMPLATES:
            pods.append(_pod(member, own))
    if not pods:
        raise _no_pods(f"the {kind} has no member that makes pods")
    return tuple(pods)


def _pod(manifest: Mapping[str, object], kind: str) -> Pod:
    if kind == "Pod":
        return read_pod(manifest)
    template: object = manifest
    for step in TEMPLATES[kind]:
        template = loose.members(template).get(step)
    workload = loose.members(manifest.get("metadata"))
    described = loose.members(template)
    metadata = {
        **loose.members(described.get("metadata")),
        "name": workload.get("name"),
        "generateName": workload.get("generateName"),
        "namespace": workload.get("namespace"),
        "uid": None,
    }
    return read_pod({"metadata": metadata, "spec": described.get("spec")})


def _no_pods(what: str) -> WireError:
    return WireError("kind-unknown", f"{what}: give one of {', '.join(TEMPLATES)}, or a List of them")
