"""What the pods of all parts have in common: labels, log options, probes, mounts of the host, a DaemonSet around them.

The charts `tangram` and `metax-gpu-extensions` make gpu-device and gpu-label without an operator, from templates. Both
must be the same pods, so a test compares what comes out of here with what helm made of those templates.

Lists are spelled out and defaults of the API server are left to it: what is sent is what we own, and it is compared
with what the cluster has, so a field that we do not care about must not be in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from tangram.wire.operator.names import MANAGED
from tangram.wire.operator.spec import Log, Resources, Spec

Object = dict[str, Any]

PREFIX: Final = "metax"
MANAGER: Final = "tangram-operator"
"""Who we are in `managedFields`, and the value of the label by which we know our objects again."""
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
COMPONENT: Final = "app.kubernetes.io/component"
VERSION: Final = "app.kubernetes.io/version"
LOG_FOLDER: Final = "/var/log/metax"
"""Always this one inside, so that no choice of a folder on the host hides something that the container needs."""
STATE_FOLDER: Final = "/run/tangram"
"""Also where simulated cards have their socket."""
HOST: Final = "/host"
HOST_USR: Final = "/host/usr"
"""The host's `/usr`, where some drivers are; its own path is the image's."""
SIMULATED: Final = "simulated:"

EVERYWHERE: Final[list[Object]] = [{"operator": "Exists"}]
MANAGED_NODES: Final = {MANAGED: "true"}


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """Where the operator itself runs, and what as."""

    namespace: str
    image: str
    """The image of this very process: every part runs the same."""
    version: str = ""


class Pod(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between the pods of the parts."""

    containers: Sequence[Object]
    init_containers: Sequence[Object] = ()
    volumes: Sequence[Object] = ()
    node_selector: Mapping[str, str] = {}
    affinity: Object | None = None
    host_pid: bool = False
    grace: int | None = None
    at_once: str = "10%"
    """How many nodes may be without it during an update."""


def name_of(part: str) -> str:
    """What the objects of a part are called, its account included."""
    return f"{PREFIX}-{part}"


def selector(part: str) -> dict[str, str]:
    """Which pods are a part's. Never anything that an upgrade changes: selectors cannot change."""
    return {"app.kubernetes.io/name": "metax-operator", COMPONENT: part}


def labels(part: str, site: Site) -> dict[str, str]:
    """On every object."""
    return {
        **selector(part),
        "app.kubernetes.io/instance": "cluster-operator",
        MANAGED_BY: MANAGER,
        VERSION: site.version,
    }


def daemon_set(part: str, spec: Spec, site: Site, pod: Pod, group: str = "") -> Object:
    """A pod of the part on every node that it selects, whatever keeps other pods away from there.

    A part may have several, each with a group of nodes; their pods must not be those of one another's selectors.
    """
    own = f"{part}-{group}" if group else part
    inner: Object = {
        "serviceAccountName": name_of(part),
        **({"imagePullSecrets": secrets} if (secrets := _pull_secrets(spec)) else {}),
        "priorityClassName": "system-node-critical",
        **({"terminationGracePeriodSeconds": pod.grace} if pod.grace is not None else {}),
        **({"hostPID": True} if pod.host_pid else {}),
        **({"nodeSelector": dict(pod.node_selector)} if pod.node_selector else {}),
        **({"affinity": pod.affinity} if pod.affinity else {}),
        "tolerations": EVERYWHERE,
        **({"initContainers": list(pod.init_containers)} if pod.init_containers else {}),
        "containers": list(pod.containers),
        "volumes": list(pod.volumes),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name_of(own), "namespace": site.namespace, "labels": labels(part, site)},
        "spec": {
            "selector": {"matchLabels": selector(own)},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": pod.at_once}},
            "template": {
                "metadata": {"labels": {**selector(own), "hami.io/webhook": "ignore"}},
                "spec": inner,
            },
        },
    }


def tangram(name: str, arguments: Sequence[str], spec: Spec, site: Site) -> Object:
    """The container of a subcommand of ours, without what it may do."""
    return {
        "name": name,
        "image": site.image,
        "imagePullPolicy": spec.image.pull_policy,
        "command": ["tangram"],
        "args": [name, *arguments],
        "env": [node_name()],
    }


def node_name() -> Object:
    """Which node it is on."""
    return {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}


def probes(port: int) -> Object:
    """A hung process is started anew after a minute and a half; one that cannot serve now is only said to be so."""

    def asking(path: str, every: int) -> Object:
        return {"httpGet": {"path": path, "port": "metrics"}, "periodSeconds": every, "timeoutSeconds": 5}

    return {
        "ports": [{"name": "metrics", "containerPort": port}],
        "livenessProbe": asking("/healthz", 30),
        "readinessProbe": asking("/readyz", 5),
    }


def resources(chosen: Resources, cpu: str, memory: str) -> Object:
    """What was chosen, or the usual requests."""
    if chosen:
        return {side: {key: str(value) for key, value in amounts.items()} for side, amounts in chosen.items()}
    return {"requests": {"cpu": cpu, "memory": memory}}


def log_arguments(log: Log) -> list[str]:
    """The options of a part as every process of ours takes them."""
    return [
        *("--log-dir", LOG_FOLDER if log.dir else ""),
        *("--log-level", log.level or ""),
        *("--log-format", log.format or ""),
        *("--log-rotation", log.rotation_time or ""),
        *("--log-max-age", log.max_age or ""),
    ]


def log_mounts(log: Log) -> list[Object]:
    """Where log files go; nothing where there are none."""
    return [mount("logs", LOG_FOLDER)] if log.dir else []


def log_volumes(log: Log) -> list[Object]:
    """The same on the host."""
    return [host_folder("logs", log.dir)] if log.dir else []


def mount(name: str, path: str, *, read_only: bool = False) -> Object:
    """A volume in a container."""
    return {"name": name, "mountPath": path, **({"readOnly": True} if read_only else {})}


def host_folder(name: str, path: str, *, must_exist: bool = False) -> Object:
    """A folder of the host as a volume. One that must exist says that a node is not what we take it for."""
    kind = "Directory" if must_exist else "DirectoryOrCreate"
    return {"name": name, "hostPath": {"path": path, "type": kind}}


def scratch() -> Object:
    """A small folder of its own."""
    return {"name": "tmp", "emptyDir": {"sizeLimit": "16Mi"}}


def built_for() -> Object:
    """On processors that the image is built for. Elsewhere a pod would wait for its image for ever."""
    expression = {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64", "arm64"]}
    return node_affinity([expression])


def node_affinity(expressions: Sequence[Object]) -> Object:
    """Nodes of which all of this is true."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def whole_host() -> tuple[Object, Object]:
    """The host's file system as its root sees it, later mounts included: the mount and the volume."""
    seen = {**mount("host", HOST), "mountPropagation": "HostToContainer"}
    return seen, host_folder("host", "/", must_exist=True)


def all_powers() -> Object:
    """Of a container that works on its host."""
    return {"privileged": True, "runAsUser": 0, "runAsGroup": 0, "readOnlyRootFilesystem": True}


def _pull_secrets(spec: Spec) -> list[Object]:
    return [{"name": secret.name} for secret in spec.image.pull_secrets]
