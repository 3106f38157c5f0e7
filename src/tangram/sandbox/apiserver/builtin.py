"""The kinds that are there from the start: what kubectl, our services and the workloads they serve have need of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.sandbox.apiserver.kinds import EVERY_VERB, SCALE, STATUS, Kind, Subresource

_CREATE: Final = ("create",)


def _create(name: str, kind: str, group: str = "") -> Subresource:
    return Subresource(name=name, kind=kind, group=group, verbs=_CREATE)


def _core(kind: str, plural: str, short: str = "", **more: object) -> Kind:
    return _kind("", "io.k8s.api.core.v1", kind, plural, short, **more)


def _kind(group: str, package: str, kind: str, plural: str, short: str = "", **more: object) -> Kind:
    known: dict[str, object] = {
        "group": group,
        "kind": kind,
        "plural": plural,
        "singular": kind.lower(),
        "short": tuple(short.split()),
        "definition": f"{package}.{kind}",
    }
    return Kind(**{**known, **more})  # pyright: ignore[reportArgumentType] - the table below is the proof


def _review(group: str, package: str, kind: str, *, namespaced: bool = False) -> Kind:
    """Asked, answered and forgotten."""
    return _kind(group, package, kind, f"{kind.lower()}s", namespaced=namespaced, verbs=_CREATE)


_APPS: Final = "io.k8s.api.apps.v1"
_ADMISSION: Final = "io.k8s.api.admissionregistration.v1"
_AUTHORIZATION: Final = "io.k8s.api.authorization.v1"
_RBAC: Final = "io.k8s.api.rbac.v1"
_ALL: Final = ("all",)

BUILT_IN: Final[Sequence[Kind]] = (
    _core("Namespace", "namespaces", "ns", namespaced=False, subresources=(
        Subresource(name="finalize", verbs=("update",)), STATUS),
        verbs=tuple(verb for verb in EVERY_VERB if verb != "deletecollection")),
    _core("Node", "nodes", "no", namespaced=False, subresources=(STATUS,)),
    _core("Pod", "pods", "po", categories=_ALL, subresources=(
        _create("binding", "Binding"),
        Subresource(name="ephemeralcontainers"),
        _create("eviction", "Eviction", "policy"),
        Subresource(name="log", verbs=("get",)),
        STATUS,
    )),
    _core("Binding", "bindings", verbs=_CREATE),
    _core("ConfigMap", "configmaps", "cm"),
    _core("Secret", "secrets"),
    _core("ServiceAccount", "serviceaccounts", "sa", subresources=(
        _create("token", "TokenRequest", "authentication.k8s.io"),)),
    _core("Service", "services", "svc", categories=_ALL, subresources=(STATUS,)),
    _core("Endpoints", "endpoints", "ep", singular="endpoints"),
    _core("Event", "events", "ev"),
    _core("LimitRange", "limitranges", "limits"),
    _core("ResourceQuota", "resourcequotas", "quota", subresources=(STATUS,)),
    _core("PersistentVolume", "persistentvolumes", "pv", namespaced=False, subresources=(STATUS,)),
    _core("PersistentVolumeClaim", "persistentvolumeclaims", "pvc", subresources=(STATUS,)),
    _core("PodTemplate", "podtemplates"),
    _core("ReplicationController", "replicationcontrollers", "rc", categories=_ALL, subresources=(SCALE, STATUS)),
    _kind("apps", _APPS, "Deployment", "deployments", "deploy", categories=_ALL, subresources=(SCALE, STATUS)),
    _kind("apps", _APPS, "ReplicaSet", "replicasets", "rs", categories=_ALL, subresources=(SCALE, STATUS)),
    _kind("apps", _APPS, "DaemonSet", "daemonsets", "ds", categories=_ALL, subresources=(STATUS,)),
    _kind("apps", _APPS, "StatefulSet", "statefulsets", "sts", categories=_ALL, subresources=(SCALE, STATUS)),
    _kind("apps", _APPS, "ControllerRevision", "controllerrevisions"),
    _kind("batch", "io.k8s.api.batch.v1", "Job", "jobs", categories=_ALL, subresources=(STATUS,)),
    _kind("batch", "io.k8s.api.batch.v1", "CronJob", "cronjobs", "cj", categories=_ALL, subresources=(STATUS,)),
    _kind("policy", "io.k8s.api.policy.v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb",
          subresources=(STATUS,)),
    _kind("coordination.k8s.io", "io.k8s.api.coordination.v1", "Lease", "leases"),
    _kind("scheduling.k8s.io", "io.k8s.api.scheduling.v1", "PriorityClass", "priorityclasses", "pc", namespaced=False),
    _kind("events.k8s.io", "io.k8s.api.events.v1", "Event", "events", "ev"),
    _kind("discovery.k8s.io", "io.k8s.api.discovery.v1", "EndpointSlice", "endpointslices"),
    _kind("storage.k8s.io", "io.k8s.api.storage.v1", "StorageClass", "storageclasses", "sc", namespaced=False),
    _kind("node.k8s.io", "io.k8s.api.node.v1", "RuntimeClass", "runtimeclasses", namespaced=False),
    _kind("rbac.authorization.k8s.io", _RBAC, "Role", "roles"),
    _kind("rbac.authorization.k8s.io", _RBAC, "RoleBinding", "rolebindings"),
    _kind("rbac.authorization.k8s.io", _RBAC, "ClusterRole", "clusterroles", namespaced=False),
    _kind("rbac.authorization.k8s.io", _RBAC, "ClusterRoleBinding", "clusterrolebindings", namespaced=False),
    _kind("admissionregistration.k8s.io", _ADMISSION, "MutatingWebhookConfiguration",
          "mutatingwebhookconfigurations", namespaced=False, categories=("api-extensions",)),
    _kind("admissionregistration.k8s.io", _ADMISSION, "ValidatingWebhookConfiguration",
          "validatingwebhookconfigurations", namespaced=False, categories=("api-extensions",)),
    _kind("apiextensions.k8s.io", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
          "CustomResourceDefinition", "customresourcedefinitions", "crd crds", namespaced=False,
          categories=("api-extensions",), subresources=(STATUS,)),
    _review("authentication.k8s.io", "io.k8s.api.authentication.v1", "TokenReview"),
    _review("authentication.k8s.io", "io.k8s.api.authentication.v1", "SelfSubjectReview"),
    _review("authorization.k8s.io", _AUTHORIZATION, "SubjectAccessReview"),
    _review("authorization.k8s.io", _AUTHORIZATION, "SelfSubjectAccessReview"),
    _review("authorization.k8s.io", _AUTHORIZATION, "LocalSubjectAccessReview", namespaced=True),
    _kind("authorization.k8s.io", _AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews",
          namespaced=False, verbs=_CREATE),
)  # fmt: skip
