"""Everything that an installation makes in a cluster: its kinds, its names, and the rights it hands to its accounts.

Whoever installs needs the right to make each of these, each name must be free or already ours, and Kubernetes lets
nobody hand out rights they do not have. Tests compare all of it with the installation page.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tangram.services.installation.matrix import POLICIES, Minor
from tangram.wire.koordinator import definition
from tangram.wire.trust_policy import POLICY_NAME

NAME: Final = "tangram-scheduler"
HOME: Final = "kube-system"
"""The namespace of the installation page."""
RBAC: Final = "rbac.authorization.k8s.io"
KUBE_SCHEDULER: Final = "system:kube-scheduler"
ADMISSION: Final = "admissionregistration.k8s.io"


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of object that an installation makes, and the names it takes."""

    group: str = ""
    version: str = "v1"
    resource: str
    names: tuple[str, ...] = ()
    """Names that can clash; empty where the kind's names are nobody else's business."""
    namespaced: bool = True
    first: Minor = (0, 0)
    """The Kubernetes from which on it is made."""
    before: Minor = (999, 0)
    """The Kubernetes from which on it is made no more."""

    @property
    def kind(self) -> str:
        """As RBAC writes it: `deployments.apps`."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    def folder(self, namespace: str) -> str:
        """Where such objects are."""
        top = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return (
            f"{top}/namespaces/{namespace}/{self.resource}" if self.namespaced else f"{top}/{self.resource}"
        )


_EVERYTHING: Final = (
    Made(resource="serviceaccounts", names=(NAME,)),
    Made(resource="configmaps", names=(NAME,)),
    Made(resource="secrets"),
    Made(resource="services", names=(NAME,)),
    Made(group="apps", resource="deployments", names=(NAME,)),
    Made(group="apps", resource="daemonsets", names=("tangram-gpu-device", "tangram-gpu-label")),
    Made(group="policy", resource="poddisruptionbudgets", names=(NAME,)),
    Made(group=RBAC, resource="roles", names=(NAME,)),
    Made(group=RBAC, resource="rolebindings", names=(NAME, "tangram-scheduler-authentication")),
    Made(group=RBAC, resource="clusterroles", names=(NAME,), namespaced=False),
    Made(
        group=RBAC,
        resource="clusterrolebindings",
        names=(NAME, "tangram-kube-scheduler", "tangram-volume-scheduler"),
        namespaced=False,
    ),
    Made(group=ADMISSION, resource="mutatingwebhookconfigurations", names=(NAME,), namespaced=False),
    Made(
        group=ADMISSION,
        resource="validatingwebhookconfigurations",
        names=(NAME,),
        namespaced=False,
        before=POLICIES,
    ),
    Made(
        group=ADMISSION,
        resource="validatingadmissionpolicies",
        names=(POLICY_NAME,),
        namespaced=False,
        first=POLICIES,
    ),
    Made(
        group=ADMISSION,
        resource="validatingadmissionpolicybindings",
        names=(POLICY_NAME,),
        namespaced=False,
        first=POLICIES,
    ),
)
NAMESPACE: Final = Made(resource="namespaces", namespaced=False)
DEVICE_KIND: Final = Made(
    group="apiextensions.k8s.io", resource="customresourcedefinitions", namespaced=False
)
DEVICE_KIND_NAME: Final = definition.NAME

Rule = dict[str, list[str]]
GRANTED: Final[tuple[Rule, ...]] = (
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["pods/binding", "pods/eviction"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["list", "watch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"], "verbs": ["list", "watch"]},
    {"apiGroups": [definition.GROUP], "resources": [definition.PLURAL], "verbs": ["list", "watch"]},
    {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
    {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
    {
        "apiGroups": [ADMISSION],
        "resources": ["mutatingwebhookconfigurations"],
        "resourceNames": [NAME],
        "verbs": ["get", "watch", "patch"],
    },
    {
        "apiGroups": [ADMISSION],
        "resources": ["validatingwebhookconfigurations"],
        "resourceNames": [NAME],
        "verbs": ["get", "watch"],
    },
)
"""The scheduler's ClusterRole, on a Kubernetes of today."""


def made_on(version: Minor | None) -> tuple[Made, ...]:
    """What is made on a Kubernetes of that version; on an unknown one as on today's."""
    asked = version or POLICIES
    return tuple(each for each in _EVERYTHING if each.first <= asked < each.before)


def granted_on(version: Minor | None) -> list[Rule]:
    """The same on a Kubernetes of that version, on which there may be a second webhook to write to."""
    *rest, second = GRANTED
    if (version or POLICIES) >= POLICIES:
        return [*rest, second]
    return [*rest, second | {"verbs": [*second["verbs"], "patch"]}]


def trial_role(name: str, version: Minor | None) -> dict[str, Any]:
    """A ClusterRole with the scheduler's rights, to see whether they may be handed out."""
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": granted_on(version),
    }


def trial_binding(name: str) -> dict[str, Any]:
    """What makes the kube-scheduler beside ours one, to see the same."""
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": KUBE_SCHEDULER},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": HOME}],
    }


def privileged_pod(name: str) -> dict[str, Any]:
    """A pod that needs what the node agent needs: the host's folders, and no fence around it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"hami.io/webhook": "ignore"}},
        "spec": {
            "containers": [
                {
                    "name": "agent",
                    "image": "tangram",
                    "securityContext": {"privileged": True},
                    "volumeMounts": [{"name": "plugins", "mountPath": "/var/lib/kubelet/device-plugins"}],
                }
            ],
            "volumes": [{"name": "plugins", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}}],
        },
    }
