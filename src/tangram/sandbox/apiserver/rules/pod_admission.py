"""What the cluster itself makes of a new pod before any webhook sees it: account, priority and patience with nodes.

These are the admission plugins of the real server that are on by default and that a pod's author notices:
ServiceAccount, Priority and DefaultTolerationSeconds. What they look up is handed in, so that nothing here asks
anybody.
"""

from __future__ import annotations

from typing import Any, Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Refused
from tangram.sandbox.apiserver.rules.looking import record, records, word
from tangram.sandbox.apiserver.rules.pod_defaults import FILE_MODE

PATIENCE: Final = 300
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path
TOKEN_SECONDS: Final = 3607
MIRROR: Final = "kubernetes.io/config.mirror"


def _system_class(name: str, value: int, description: str) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": description,
        "preemptionPolicy": "PreemptLowerPriority",
    }


SYSTEM_PRIORITY_CLASSES: Final = (
    _system_class("system-cluster-critical", 2000000000,
                  "Used for system critical pods that must run in the cluster, but can be moved to another node if "
                  "necessary."),
    _system_class("system-node-critical", 2000001000,
                  "Used for system critical pods that must not be moved from their current node."),
)  # fmt: skip
"""They are there from the start, and nobody else may have such names."""


def admit_pod(
    pod: Object, priority_class: Object | None, *, account: Object | None = None, suffix: str = ""
) -> None:
    """Change a new pod in place. Raises `Refused` where it claims a priority it was not given.

    `priority_class` is the one the pod names or the cluster's default, `account` its ServiceAccount; with a `suffix`
    of five letters the account's token is mounted, as a volume whose name ends so.
    """
    spec: Object = pod.setdefault("spec", {})
    if MIRROR not in record(pod, "metadata", "annotations"):
        _give_account(spec, account or {}, suffix)
    _give_priority(pod, spec, priority_class)
    give_patience(spec)


def _give_account(spec: Object, account: Object, suffix: str) -> None:
    name = word(spec, "serviceAccountName") or "default"
    spec |= {"serviceAccountName": name, "serviceAccount": name}
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(each) for each in records(account, "imagePullSecrets")]
    mounts = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True))
    if mounts and suffix:
        _mount_token(spec, f"kube-api-access-{suffix}")


def _mount_token(spec: Object, volume: str) -> None:
    bare = [
        container
        for name in ("initContainers", "containers")
        for container in records(spec, name)
        if not any(mount.get("mountPath") == TOKEN_PATH for mount in records(container, "volumeMounts"))
    ]
    if not bare or any(
        word(each, "name").startswith("kube-api-access-") for each in records(spec, "volumes")
    ):
        return
    for container in bare:
        mounts: list[Any] = container.get("volumeMounts") or []
        container["volumeMounts"] = [*mounts, {"name": volume, "readOnly": True, "mountPath": TOKEN_PATH}]
    spec["volumes"] = [*records(spec, "volumes"), _token_volume(volume)]


def _token_volume(name: str) -> Object:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [namespace]}},
            ],
            "defaultMode": FILE_MODE,
        },
    }


def _give_priority(pod: Object, spec: Object, given: Object | None) -> None:
    value = given.get("value", 0) if given else 0
    preemption = word(given, "preemptionPolicy") if given else ""
    if given and not word(spec, "priorityClassName"):
        spec["priorityClassName"] = word(record(given, "metadata"), "name")
    if spec.get("priority") not in {None, value}:
        raise _refused(pod, f"the integer value of priority ({spec['priority']})", value)
    spec["priority"] = value
    preemption = preemption or "PreemptLowerPriority"
    if word(spec, "preemptionPolicy") not in {"", preemption}:
        raise _refused(pod, f"the string value of PreemptionPolicy ({spec['preemptionPolicy']})", preemption)
    spec["preemptionPolicy"] = preemption


def _refused(pod: Object, what: str, computed: object) -> Refused:
    name = word(record(pod, "metadata"), "name")
    message = (
        f'pods "{name}" is forbidden: {what} must not be provided in pod spec; priority admission controller computed '
        f"{computed} from the given PriorityClass name"
    )
    return Refused(403, "Forbidden", message, {"name": name, "kind": "pods"})


def give_patience(spec: Object) -> None:
    """A pod stays five minutes on a node that has gone silent, unless it said otherwise."""
    for key in (NOT_READY, UNREACHABLE):
        if not any(_tolerates(each, key) for each in records(spec, "tolerations")):
            given = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": PATIENCE}
            spec["tolerations"] = [*records(spec, "tolerations"), given]


def _tolerates(toleration: Object, key: str) -> bool:
    return word(toleration, "key") in {"", key} and word(toleration, "effect") in {"", "NoExecute"}
