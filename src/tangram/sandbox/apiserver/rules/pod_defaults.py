"""What a pod gets that its author did not write, and a pod in a template of something else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.rules.looking import record, records, word
from tangram.units.quantity import ZERO, Quantity, parse_quantity

GRACE: Final = 30
FILE_MODE: Final = 0o644
TOKEN_SECONDS: Final = 3600
SOURCES: Final = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi",
    "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "fc", "flexVolume", "configMap",
    "downwardAPI", "azureFile", "vsphereVolume", "quobyte", "azureDisk", "photonPersistentDisk", "portworxVolume",
    "storageos", "projected", "scaleIO", "csi", "ephemeral", "image",
)  # fmt: skip
"""The fields of a volume that say what it is, in the order in which they are looked at."""
CONTAINER_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
POD_LEVEL: Final = ("cpu", "memory")


def fill_pod(pod: Object) -> None:
    """A pod of its own."""
    spec: Object = pod.setdefault("spec", {})
    fill_pod_spec(spec)
    # To wait less than not at all once meant to hurry.
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for name in ("containers", "initContainers"):
        for container in records(spec, name):
            _requests_from_limits(container)
            if spec.get("hostNetwork"):
                for port in records(container, "ports"):
                    port.setdefault("hostPort", port.get("containerPort"))
    if record(spec, "resources").get("limits"):
        _pod_requests(spec)
    spec.setdefault("enableServiceLinks", True)


def fill_pod_spec(spec: Object) -> None:
    """What holds in templates too."""
    for volume in records(spec, "volumes"):
        _fill_volume(volume)
    for name in CONTAINER_LISTS:
        for container in records(spec, name):
            fill_container(container)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", GRACE)
    spec.setdefault("schedulerName", "default-scheduler")
    # An old name and a new one for the same thing; both are always there.
    account = word(spec, "serviceAccountName") or word(spec, "serviceAccount")
    if account:
        spec |= {"serviceAccountName": account, "serviceAccount": account}


def fill_container(container: Object) -> None:
    """One container of any kind."""
    latest = tag_of(word(container, "image")) == "latest"
    container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in records(container, "ports"):
        port.setdefault("protocol", "TCP")
    for variable in records(container, "env"):
        source = record(variable, "valueFrom")
        if "fieldRef" in source:
            record(source, "fieldRef").setdefault("apiVersion", "v1")
        if "fileKeyRef" in source:
            record(source, "fileKeyRef").setdefault("optional", False)
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name in container:
            _fill_probe(record(container, name))
    for name in ("postStart", "preStop"):
        _fill_http(record(container, "lifecycle", name))


def tag_of(image: str) -> str:
    """Which version of an image a name means. No tag and no digest: the latest."""
    name, at, _digest = image.partition("@")
    _, colon, tag = name.rpartition(":")
    if colon and "/" not in tag:
        return tag
    return "" if at else "latest"


def _fill_probe(probe: Object) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    _fill_http(probe)
    if isinstance(probe.get("grpc"), dict):
        probe["grpc"].setdefault("service", "")


def _fill_http(handler: Object) -> None:
    if "httpGet" in handler:
        record(handler, "httpGet").setdefault("path", "/")
        record(handler, "httpGet").setdefault("scheme", "HTTP")


def _fill_volume(volume: Object) -> None:
    if not any(source in volume for source in SOURCES):
        volume["emptyDir"] = {}
    for source in ("secret", "configMap", "downwardAPI", "projected"):
        if isinstance(volume.get(source), dict):
            volume[source].setdefault("defaultMode", FILE_MODE)
    if isinstance(volume.get("hostPath"), dict):
        volume["hostPath"].setdefault("type", "")
    if isinstance(volume.get("image"), dict):
        latest = tag_of(word(volume["image"], "reference")) == "latest"
        volume["image"].setdefault("pullPolicy", "Always" if latest else "IfNotPresent")
    claim = record(volume, "ephemeral", "volumeClaimTemplate", "spec")
    if claim:
        claim.setdefault("volumeMode", "Filesystem")
    for item in _downward_items(volume):
        if isinstance(item.get("fieldRef"), dict):
            item["fieldRef"].setdefault("apiVersion", "v1")
    for source in records(record(volume, "projected"), "sources"):
        if isinstance(source.get("serviceAccountToken"), dict):
            source["serviceAccountToken"].setdefault("expirationSeconds", TOKEN_SECONDS)


def _downward_items(volume: Object) -> Iterator[Object]:
    yield from records(record(volume, "downwardAPI"), "items")
    for source in records(record(volume, "projected"), "sources"):
        yield from records(record(source, "downwardAPI"), "items")


def _requests_from_limits(container: Object) -> None:
    limits = record(container, "resources", "limits")
    if limits:
        requests: Object = container["resources"].setdefault("requests", {})
        for name, amount in limits.items():
            requests.setdefault(name, amount)


def _pod_requests(spec: Object) -> None:
    """A pod with limits as a whole asks as a whole for what its containers ask for, or else for its limits."""
    requests: Object = dict(record(spec, "resources", "requests"))
    for name in POD_LEVEL:
        asked = [record(each, "resources", "requests").get(name) for each in records(spec, "containers")]
        given = [each for each in asked if each is not None]
        if given and name not in requests:
            total = sum((parse_quantity(str(each)) for each in given), start=ZERO)
            requests[name] = str(Quantity(total.nanos, total.format))
    for name, amount in record(spec, "resources", "limits").items():
        if name in POD_LEVEL:
            requests.setdefault(name, amount)
    if requests:
        spec["resources"]["requests"] = requests
