"""The questions that tests ask of rendered objects: which are workloads, what runs in them, who they run as."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from builders.charts.goldens import Object, key_of

CLUSTER_WIDE: Final = frozenset(
    {
        "ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "PriorityClass", "Namespace",
        "CustomResourceDefinition", "ClusterOperator",
    }
)  # fmt: skip
WORKLOADS: Final = frozenset({"Deployment", "DaemonSet", "Job"})
PROGRAM: Final = "tangram"
"""What the image starts if a container names no command."""
THEIRS: Final = frozenset({"oauth2-proxy"})
"""Containers that people put beside ours: what is in them is not the charts' affair."""


class Running(NamedTuple):
    """One container of a workload."""

    workload: Object
    container: Object

    def __str__(self) -> str:
        return f"{key_of(self.workload)}: {self.container['name']}"

    @property
    def command(self) -> list[str]:
        return [*self.container.get("command", [PROGRAM]), *self.container.get("args", [])]

    @property
    def is_ours(self) -> bool:
        return self.command[0] == PROGRAM


def of_kind(objects: Iterable[Object], *kinds: str) -> list[Object]:
    return [each for each in objects if each["kind"] in kinds]


def workloads(objects: Iterable[Object]) -> list[Object]:
    return of_kind(objects, *WORKLOADS)


def pod_of(workload: Object) -> Object:
    """Its pod template."""
    return workload["spec"]["template"]


def containers(objects: Iterable[Object]) -> Iterator[Running]:
    """Those that the charts make."""
    for workload in workloads(objects):
        spec = pod_of(workload)["spec"]
        for container in [*spec.get("initContainers", []), *spec["containers"]]:
            if container["name"] not in THEIRS:
                yield Running(workload, container)


def labels_of(thing: Object) -> Mapping[str, str]:
    return thing["metadata"].get("labels", {})


def namespace_of(thing: Object) -> str:
    return thing["metadata"].get("namespace", "")


def selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def ports_of(container: Object) -> dict[str, int]:
    return {each["name"]: each["containerPort"] for each in container.get("ports", [])}


def has_port(pod: Object, port: Any) -> bool:  # noqa: ANN401 - a name or a number, as Kubernetes has it
    """Whether a container of the pod says that it listens there."""
    return any(
        port in ports or port in ports.values()
        for ports in (ports_of(each) for each in pod["spec"]["containers"])
    )
