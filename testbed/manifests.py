"""Objects that tests create, in the fewest words. Anything unusual is a change to the returned dictionary."""

from collections.abc import Mapping, Sequence

from testbed.api import Object

BUSYBOX = "docker.io/local/busybox:1"
SLEEP = "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"


def container(
    name: str = "main",
    *,
    script: str = SLEEP,
    limits: Mapping[str, str | int] | None = None,
    image: str = BUSYBOX,
) -> Object:
    """A container that runs a shell script; by default it sleeps, and ends at once when told to."""
    made: Object = {
        "name": name,
        "image": image,
        "imagePullPolicy": "Never",
        "command": ["/bin/sh", "-c", script],
    }
    if limits:
        made["resources"] = {"limits": {key: str(value) for key, value in limits.items()}}
    return made


def pod(
    name: str,
    *containers: Object,
    node: str = "",
    scheduler: str = "",
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    inits: Sequence[Object] = (),
    **spec: object,
) -> Object:
    """A pod of these containers (one sleeping container when none is given). `node` binds it without any scheduler."""
    described: Object = {
        "containers": list(containers) or [container()],
        "terminationGracePeriodSeconds": 1,
        "restartPolicy": "Never",
        **spec,
    }
    if inits:
        described["initContainers"] = list(inits)
    if node:
        described["nodeName"] = node
    if scheduler:
        described["schedulerName"] = scheduler
    metadata: Object = {"name": name, "annotations": dict(annotations or {}), "labels": dict(labels or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": described}


def sidecar(made: Object) -> Object:
    """An init container that keeps running beside the others."""
    return {**made, "restartPolicy": "Always"}


def binding(
    name: str,
    node: str,
    *,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    uid: str = "",
) -> Object:
    """The body of POST .../pods/NAME/binding."""
    metadata: Object = {"name": name, "annotations": dict(annotations or {}), "labels": dict(labels or {})}
    if uid:
        metadata["uid"] = uid
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": metadata,
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


def tolerates_kwok() -> list[Object]:
    """For pods that shall run on nodes that exist only as objects."""
    return [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}]


def is_running(seen: Object) -> bool:
    """Every container runs: the phase alone says Running as soon as one of them does."""
    status = seen.get("status", {})
    states = [one.get("state", {}) for one in status.get("containerStatuses", [])]
    return status.get("phase") == "Running" and bool(states) and all("running" in state for state in states)


def is_over(seen: Object) -> bool:
    """It will not run again."""
    return seen.get("status", {}).get("phase") in {"Succeeded", "Failed"}


def is_gone(seen: Object) -> bool:
    """The API server has no such object any more."""
    return not seen


def is_bound(seen: Object) -> bool:
    """Some scheduler, or its author, has chosen a node."""
    return bool(seen.get("spec", {}).get("nodeName"))


def waiting_reason(seen: Object, container_name: str = "main") -> str:
    """Why a container does not run yet, in the kubelet's word (CreateContainerError, say)."""
    statuses = [
        *seen.get("status", {}).get("containerStatuses", []),
        *seen.get("status", {}).get("initContainerStatuses", []),
    ]
    return next(
        (
            one["state"].get("waiting", {}).get("reason", "")
            for one in statuses
            if one["name"] == container_name
        ),
        "",
    )
