"""StatefulSets, and the revisions and templates that they and others keep."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import (
    each_invalid,
    forbidden,
    invalid,
    not_negative,
    required,
    unchanged,
)
from tangram.sandbox.apiserver.rules.looking import record, records, word
from tangram.sandbox.apiserver.rules.pod_faults import template_faults
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.rules.templates import (
    HISTORY,
    available_faults,
    is_readable,
    lasting_template_faults,
    replica_faults,
    selecting_faults,
    template_of,
)
from tangram.sandbox.apiserver.wording import label

_SET_FIELDS: Final = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip
_ONLY_SET_FIELDS: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def _fill_stateful_set(thing: Object) -> None:
    spec = thing["spec"]
    template_of(spec)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy: Object = spec.setdefault("updateStrategy", {})
    if "type" not in strategy:
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention: Object = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", HISTORY)
    for claim in records(spec, "volumeClaimTemplates"):
        claim |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        claim.setdefault("status", {}).setdefault("phase", "Pending")


def _stateful_set_faults(new: Object, old: Object | None) -> list[Fault]:
    spec = record(new, "spec")
    strategy, policy = record(spec, "updateStrategy"), word(spec, "podManagementPolicy")
    faults: list[Fault] = []
    if policy not in ("OrderedReady", "Parallel"):
        faults.append(invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'"))
    if word(strategy, "type") not in ("RollingUpdate", "OnDelete"):
        faults.append(invalid("spec.updateStrategy", strategy, "must be 'RollingUpdate' or 'OnDelete'"))
    for name in ("replicas", "minReadySeconds"):
        faults += not_negative(f"spec.{name}", spec.get(name))
    service = word(spec, "serviceName")
    if old is None and service:
        faults += each_invalid("spec.serviceName", service, label(service))
    faults += selecting_faults(spec, "statefulset")
    if is_readable(spec.get("selector")):
        faults += lasting_template_faults(_with_claims(spec), "StatefulSet")
    if old is not None:
        before = record(old, "spec")
        put_back = {**spec, **{name: before[name] for name in _SET_FIELDS if name in before}}
        if {
            key: value for key, value in put_back.items() if key in before or key not in _SET_FIELDS
        } != before:
            faults.append(forbidden("spec", _ONLY_SET_FIELDS))
    return faults


def _with_claims(spec: Object) -> Object:
    """Its containers may mount what it makes claims for."""
    claimed: list[Object] = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}}
        for name in (word(record(each, "metadata"), "name") for each in records(spec, "volumeClaimTemplates"))
    ]
    if not claimed:
        return spec
    names = {each["name"] for each in claimed}
    inner = record(spec, "template", "spec")
    volumes = [*claimed, *(each for each in records(inner, "volumes") if word(each, "name") not in names)]
    return {**spec, "template": {**record(spec, "template"), "spec": {**inner, "volumes": volumes}}}


def _stateful_status_faults(new: Object, _old: Object) -> list[Fault]:
    status = record(new, "status")
    within = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    faults = replica_faults(status, ("replicas", *within, "observedGeneration", "collisionCount"), within)
    return [*faults, *available_faults(status, "status.readyReplicas")]


def _fill_pod_template(thing: Object) -> None:
    template_of(thing)


def _pod_template_faults(new: Object, _old: Object | None) -> list[Fault]:
    return template_faults(record(new, "template"), "template")


def _revision_faults(new: Object, old: Object | None) -> list[Fault]:
    faults = not_negative("revision", new.get("revision"))
    if new.get("data") is None:
        faults.append(required("data", "data is mandatory"))
    return faults if old is None else [*faults, *unchanged("data", new.get("data"), old.get("data"))]


STATEFUL_SET: Final = Ruling(
    fill=_fill_stateful_set,
    faults=_stateful_set_faults,
    status_faults=_stateful_status_faults,
    counts=("spec",),
)
POD_TEMPLATE: Final = Ruling(fill=_fill_pod_template, faults=_pod_template_faults, counts=("template",))
REVISION: Final = Ruling(faults=_revision_faults)
