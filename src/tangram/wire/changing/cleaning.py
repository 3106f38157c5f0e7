"""An object as the API server hands it out, made into one that a person can apply.

What the server, controllers, kubelets and schedulers wrote is taken out: an object that is sent with it is refused, or
claims cards that it does not have. Constants that the server fills in are taken out too, so that what is left is about
what its author wrote. What cannot be told apart from an author's wish stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.wire import allocation_keys, loose
from tangram.wire.changing.templates import Json, Template, template_of, without_empty

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_KEPT_METADATA: Final = ("name", "namespace", "labels", "annotations")
_ANNOTATIONS: Final = frozenset(
    {
        *allocation_keys.ANNOTATIONS,
        LAST_APPLIED,
        "deployment.kubernetes.io/revision",
        "deployment.kubernetes.io/desired-replicas",
        "deployment.kubernetes.io/max-replicas",
        "deprecated.daemonset.template.generation",
        "batch.kubernetes.io/job-tracking",
        "batch.kubernetes.io/cronjob-scheduled-timestamp",
        "kubernetes.io/limit-ranger",
        "k8s.v1.cni.cncf.io/network-status",
        "k8s.v1.cni.cncf.io/networks-status",
    }
)
_ANNOTATION_DOMAINS: Final = ("cni.projectcalico.org", "ovn.kubernetes.io")
_POD_LABELS: Final = frozenset(
    {
        *allocation_keys.LABELS,
        "pod-template-hash",
        "controller-revision-hash",
        "pod-template-generation",
        "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index",
    }
)
_JOB_LABELS: Final = frozenset(
    {
        "controller-uid",
        "job-name",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
        "batch.kubernetes.io/job-completion-index",
    }
)
_SERVER_SPEC: Final = ("nodeName", "serviceAccount", "priority", "preemptionPolicy", "ephemeralContainers")
_USUAL_SPEC: Final[Mapping[str, object]] = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "serviceAccountName": "default",
    "terminationGracePeriodSeconds": 30,
    "securityContext": {},
}
_USUAL_CONTAINER: Final[Mapping[str, object]] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "resources": {},
}
_TOKEN_VOLUME: Final = "kube-api-access-"  # noqa: S105 - the beginning of a volume's name
_USUAL_TOLERATIONS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def applicable(manifest: Mapping[str, object]) -> Json:
    """What a person would write to get this object; what makes no pods stays as it is."""
    template = template_of(manifest)
    if template is None:
        return dict(manifest)
    written, kind = template.manifest, loose.text(manifest.get("kind"))
    written.pop("status", None)
    written["metadata"] = _metadata(loose.members(written.get("metadata")), of_pod=kind == "Pod")
    if kind == "Pod":
        _clean_pod(template)
    else:
        template.metadata.pop("creationTimestamp", None)
        _clean_annotations(template.metadata)
    if kind == "Job":
        _clean_job(template)
    _clean_usual(template)
    without_empty(template.metadata, "labels", "annotations")
    order = ("apiVersion", "kind", "metadata")
    return {**{key: written[key] for key in order if key in written}, **written}


def _metadata(metadata: Mapping[str, object], *, of_pod: bool) -> Json:
    kept: Json = {key: metadata[key] for key in _KEPT_METADATA if metadata.get(key)}
    if "name" not in kept and metadata.get("generateName"):
        kept["generateName"] = metadata["generateName"]
    _clean_annotations(kept)
    if of_pod:
        _clean_labels(kept, _POD_LABELS | _JOB_LABELS)
    return kept


def _clean_annotations(metadata: Json) -> None:
    found = loose.members(metadata.get("annotations"))
    if found:
        metadata["annotations"] = {
            key: value
            for key, value in found.items()
            if key not in _ANNOTATIONS and key.partition("/")[0] not in _ANNOTATION_DOMAINS
        }
    without_empty(metadata, "annotations")


def _clean_labels(metadata: Json, written_by_others: frozenset[str]) -> None:
    found = loose.members(metadata.get("labels"))
    if found:
        metadata["labels"] = {key: value for key, value in found.items() if key not in written_by_others}
    without_empty(metadata, "labels")


def _clean_pod(template: Template) -> None:
    spec = template.spec
    for field in _SERVER_SPEC:
        spec.pop(field, None)
    spec["volumes"] = [each for each in loose.elements(spec.get("volumes")) if not _is_token(each)]
    spec["tolerations"] = [each for each in loose.elements(spec.get("tolerations")) if not _is_usual(each)]
    without_empty(spec, "volumes", "tolerations")
    if spec.get("restartPolicy") == "Always":
        del spec["restartPolicy"]
    for container in template.containers():
        mounts = loose.elements(container.get("volumeMounts"))
        container["volumeMounts"] = [each for each in mounts if not _is_token(each)]
        without_empty(container, "volumeMounts")


def _clean_job(template: Template) -> None:
    """A Job's selector is made from its own uid, unless its author chose one."""
    spec = template.manifest["spec"]
    if spec.get("manualSelector") is True:
        return
    spec.pop("selector", None)
    for metadata in (template.manifest["metadata"], template.metadata):
        _clean_labels(metadata, _JOB_LABELS)


def _clean_usual(template: Template) -> None:
    _drop_usual(template.spec, _USUAL_SPEC)
    for container in template.containers():
        _drop_usual(container, _USUAL_CONTAINER)


def _drop_usual(fields: Json, usual: Mapping[str, object]) -> None:
    for key, value in usual.items():
        if key in fields and fields[key] == value:
            del fields[key]


def _is_token(entry: object) -> bool:
    return loose.text(loose.members(entry).get("name")).startswith(_TOKEN_VOLUME)


def _is_usual(toleration: object) -> bool:
    """Added by admission to every pod."""
    found = loose.members(toleration)
    return found.get("key") in _USUAL_TOLERATIONS and found.get("tolerationSeconds") == 300
