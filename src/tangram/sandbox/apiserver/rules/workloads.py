"""Deployments, ReplicaSets, DaemonSets, StatefulSets and what else keeps copies of a pod."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import (
    NOT_NEGATIVE,
    child,
    each_invalid,
    forbidden,
    invalid,
    not_negative,
    number,
    required,
    unchanged,
    unsupported,
)
from tangram.sandbox.apiserver.rules.looking import record, records, word
from tangram.sandbox.apiserver.rules.pod_defaults import fill_pod_spec
from tangram.sandbox.apiserver.rules.pod_faults import template_faults
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.rules.selectors import is_empty, requirement_faults, selector_faults, takes
from tangram.sandbox.apiserver.rules.wording import label, percent

QUARTER: Final = "25%"
HISTORY: Final = 10
_MORE_THAN_ALL: Final = "cannot be greater than status.replicas"
_SET_FIELDS: Final = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip
_ONLY_SET_FIELDS: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def template_of(spec: Object) -> Object:
    """The template, filled in."""
    template: Object = spec.setdefault("template", {})
    fill_pod_spec(template.setdefault("spec", {}))
    return template


def amount_faults(value: Any, path: str) -> list[Fault]:  # noqa: ANN401 - read from JSON
    """A count or a percentage."""
    if isinstance(value, str):
        return each_invalid(path, value, percent(value))
    return [invalid(path, value, NOT_NEGATIVE)] if number(value) < 0 else []


def share_faults(value: Any, path: str) -> list[Fault]:  # noqa: ANN401 - the same
    """Not more than all."""
    if isinstance(value, str) and not percent(value) and int(value[:-1]) > 100:
        return [invalid(path, value, "must not be greater than 100%")]
    return []


def _is_none(value: Any) -> bool:  # noqa: ANN401 - the same
    if isinstance(value, str):
        return percent(value) == [] and int(value[:-1]) == 0
    return number(value) == 0


def _readable(selector: object) -> bool:
    """Whether the selector can be asked at all."""
    whole = record({"it": selector}, "it")
    return not any(requirement_faults(each, "") for each in records(whole, "matchExpressions"))


def selecting_faults(spec: Object, kind: str) -> list[Fault]:
    """A selector, and a template that it selects."""
    selector, path = spec.get("selector"), "spec.selector"
    faults: list[Fault] = []
    if selector is None:
        faults.append(required(path))
    else:
        faults += selector_faults(selector, path)
        if is_empty(selector):
            faults.append(invalid(path, selector, f"empty selector is invalid for {kind}"))
    if not _readable(selector):
        return [*faults, invalid(path, selector, "" if kind == "statefulset" else "invalid label selector")]
    labels = record(spec, "template", "metadata").get("labels")
    if (selector is None or not is_empty(selector)) and not takes(selector, labels or {}):
        detail = "`selector` does not match template `labels`"
        faults.append(invalid("spec.template.metadata.labels", labels, detail))
    return faults


def lasting_template_faults(spec: Object, owner: str) -> list[Fault]:
    """A template of pods that are always started again."""
    faults = template_faults(record(spec, "template"), "spec.template")
    inner = record(spec, "template", "spec")
    if inner.get("restartPolicy") != "Always":
        faults.append(unsupported("spec.template.spec.restartPolicy", inner.get("restartPolicy"), ("Always",)))
    if inner.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {owner} is not Supported"
        faults.append(forbidden("spec.template.spec.activeDeadlineSeconds", detail))
    return faults


def replica_faults(status: Object, counted: Sequence[str], within: Sequence[str]) -> list[Fault]:
    """Counts that cannot be."""
    faults: list[Fault] = []
    for name in counted:
        faults += not_negative(f"status.{name}", status.get(name))
    every = number(status.get("replicas"))
    for name in within:
        if number(status.get(name)) > every:
            faults.append(invalid(f"status.{name}", number(status.get(name)), _MORE_THAN_ALL))
    return faults


def available_faults(status: Object, words: str = "readyReplicas") -> list[Fault]:
    """What is available is ready."""
    available = number(status.get("availableReplicas"))
    if available <= number(status.get("readyReplicas")):
        return []
    return [invalid("status.availableReplicas", available, f"cannot be greater than {words}")]


# ---- Deployments


def _fill_deployment(thing: Object) -> None:
    spec = thing["spec"]
    template_of(spec)
    spec.setdefault("replicas", 1)
    strategy: Object = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling: Object = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", QUARTER)
        rolling.setdefault("maxSurge", QUARTER)
    spec.setdefault("revisionHistoryLimit", HISTORY)
    spec.setdefault("progressDeadlineSeconds", 600)


def _deployment_faults(new: Object, old: Object | None) -> list[Fault]:
    spec = record(new, "spec")
    faults = not_negative("spec.replicas", spec.get("replicas"))
    faults += selecting_faults(spec, "deployment")
    if _readable(spec.get("selector")):
        faults += lasting_template_faults(spec, "ReplicaSet")
    faults += _deployment_strategy_faults(record(spec, "strategy"))
    for name in ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"):
        faults += not_negative(f"spec.{name}", spec.get(name))
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= number(spec.get("minReadySeconds")):
        faults.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return [*faults, *_same_selector(new, old)]


def _deployment_strategy_faults(strategy: Object) -> list[Fault]:
    path, kind = "spec.strategy", word(strategy, "type")
    if kind == "Recreate":
        if "rollingUpdate" not in strategy:
            return []
        return [forbidden(f"{path}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")]
    if kind != "RollingUpdate":
        return [unsupported(path, strategy, ("Recreate", "RollingUpdate"))]
    rolling, at = record(strategy, "rollingUpdate"), f"{path}.rollingUpdate"
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    faults = amount_faults(unavailable, f"{at}.maxUnavailable") + amount_faults(surge, f"{at}.maxSurge")
    if _is_none(unavailable) and _is_none(surge):
        faults.append(invalid(f"{at}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    return [*faults, *share_faults(unavailable, f"{at}.maxUnavailable")]


def _same_selector(new: Object, old: Object | None) -> list[Fault]:
    if old is None:
        return []
    return unchanged("spec.selector", record(new, "spec").get("selector"), record(old, "spec").get("selector"))


def _deployment_status_faults(new: Object, _old: Object) -> list[Fault]:
    status = record(new, "status")
    counted = (
        "observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
        "unavailableReplicas", "terminatingReplicas", "collisionCount",
    )  # fmt: skip
    faults = replica_faults(status, counted, ("updatedReplicas", "readyReplicas", "availableReplicas"))
    return [*faults, *available_faults(status)]


def _keep_labels(new: Object, old: Object) -> None:
    new["metadata"].pop("labels", None)
    if "labels" in record(old, "metadata"):
        new["metadata"]["labels"] = copy.deepcopy(old["metadata"]["labels"])


# ---- ReplicaSets and ReplicationControllers


def _fill_replica_set(thing: Object) -> None:
    thing["spec"].setdefault("replicas", 1)
    template_of(thing["spec"])


def _replica_set_faults(new: Object, old: Object | None) -> list[Fault]:
    spec = record(new, "spec")
    faults = not_negative("spec.replicas", spec.get("replicas"))
    faults += not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    faults += selecting_faults(spec, "deployment")
    if _readable(spec.get("selector")):
        faults += lasting_template_faults(spec, "ReplicaSet")
    return [*faults, *_same_selector(new, old)]


def _replica_status_faults(new: Object, _old: Object) -> list[Fault]:
    status = record(new, "status")
    counted = (
        "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration",
        "terminatingReplicas",
    )  # fmt: skip
    faults = replica_faults(status, counted, ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"))
    return [*faults, *available_faults(status)]


def _fill_controller(thing: Object) -> None:
    spec = thing["spec"]
    spec.setdefault("replicas", 1)
    if "template" not in spec:
        return
    template = template_of(spec)
    labels = record(template, "metadata").get("labels")
    if labels:
        spec["selector"] = spec.get("selector") or dict(labels)
        thing["metadata"]["labels"] = thing["metadata"].get("labels") or dict(labels)


def _controller_faults(new: Object, _old: Object | None) -> list[Fault]:
    spec = record(new, "spec")
    faults = not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    selector = record(spec, "selector")
    faults += [] if selector else [required("spec.selector")]
    faults += not_negative("spec.replicas", spec.get("replicas"))
    if "template" not in spec:
        return [*faults, required("spec.template")]
    labels = record(spec, "template", "metadata", "labels")
    if any(labels.get(key) != value for key, value in selector.items()):
        detail = "`selector` does not match template `labels`"
        faults.append(invalid("spec.template.metadata.labels", labels, detail))
    return [*faults, *lasting_template_faults(spec, "ReplicationController")]


# ---- DaemonSets


def _fill_daemon_set(thing: Object) -> None:
    spec = thing["spec"]
    template_of(spec)
    strategy: Object = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling: Object = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", HISTORY)


GENERATION: Final = "deprecated.daemonset.template.generation"


def _create_daemon_set(thing: Object) -> None:
    annotations: Object = thing["metadata"].setdefault("annotations", {})
    annotations.setdefault(GENERATION, "1")


def _update_daemon_set(new: Object, old: Object) -> None:
    before = number(_digits(record(old, "metadata", "annotations").get(GENERATION)))
    changed = record(new, "spec").get("template") != record(old, "spec").get("template")
    annotations: Object = new["metadata"].setdefault("annotations", {})
    annotations[GENERATION] = str(before + changed)


def _digits(text: object) -> int:
    return int(text) if isinstance(text, str) and text.isdecimal() else 0


def _daemon_set_faults(new: Object, old: Object | None) -> list[Fault]:
    spec = record(new, "spec")
    selector, labels = spec.get("selector"), record(spec, "template", "metadata").get("labels")
    faults = selector_faults(selector, "spec.selector")
    if _readable(selector) and not takes(selector, labels or {}):
        detail = "`selector` does not match template `labels`"
        faults.append(invalid("spec.template.metadata.labels", labels, detail))
    if selector is not None and is_empty(selector):
        faults.append(invalid("spec.selector", selector, "empty selector is invalid for daemonset"))
    faults += lasting_template_faults(spec, "DaemonSet")
    faults += not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    faults += _daemon_strategy_faults(record(spec, "updateStrategy"))
    faults += not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    return [*faults, *_same_selector(new, old)]


def _daemon_strategy_faults(strategy: Object) -> list[Fault]:
    path, kind = "spec.updateStrategy", word(strategy, "type")
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        return [unsupported(path, strategy, ("RollingUpdate", "OnDelete"))]
    at, faults = f"{path}.rollingUpdate", list[Fault]()
    rolling = record(strategy, "rollingUpdate")
    for name in ("maxUnavailable", "maxSurge"):
        faults += amount_faults(rolling.get(name), child(at, name)) + share_faults(rolling.get(name), child(at, name))
    stops, surges = not _is_none(rolling.get("maxUnavailable")), not _is_none(rolling.get("maxSurge"))
    if stops and surges:
        detail = "may not be set when maxUnavailable is non-zero"
        faults.append(invalid(f"{at}.maxSurge", rolling.get("maxSurge"), detail))
    elif not stops and not surges:
        faults.append(required(f"{at}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return faults


def _daemon_status_faults(new: Object, _old: Object) -> list[Fault]:
    counted = (
        "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
        "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount",
    )  # fmt: skip
    return replica_faults(record(new, "status"), counted, ())


# ---- StatefulSets


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
    if _readable(spec.get("selector")):
        faults += lasting_template_faults(_with_claims(spec), "StatefulSet")
    if old is not None:
        before = record(old, "spec")
        put_back = {**spec, **{name: before[name] for name in _SET_FIELDS if name in before}}
        if {key: value for key, value in put_back.items() if key in before or key not in _SET_FIELDS} != before:
            faults.append(forbidden("spec", _ONLY_SET_FIELDS))
    return faults


def _with_claims(spec: Object) -> Object:
    """Its containers may mount what it makes claims for."""
    claimed = [
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


# ---- the rest


def _fill_pod_template(thing: Object) -> None:
    template_of(thing)


def _pod_template_faults(new: Object, _old: Object | None) -> list[Fault]:
    return template_faults(record(new, "template"), "template")


def _revision_faults(new: Object, old: Object | None) -> list[Fault]:
    faults = not_negative("revision", new.get("revision"))
    if new.get("data") is None:
        faults.append(required("data", "data is mandatory"))
    return faults if old is None else [*faults, *unchanged("data", new.get("data"), old.get("data"))]


RULINGS: Final = {
    "Deployment": Ruling(
        fill=_fill_deployment,
        faults=_deployment_faults,
        status_faults=_deployment_status_faults,
        update_status=_keep_labels,
        counts=("spec", "metadata.annotations"),
    ),
    "ReplicaSet": Ruling(
        fill=_fill_replica_set,
        faults=_replica_set_faults,
        status_faults=_replica_status_faults,
        counts=("spec",),
    ),
    "ReplicationController": Ruling(
        fill=_fill_controller,
        faults=_controller_faults,
        status_faults=_replica_status_faults,
        counts=("spec",),
    ),
    "DaemonSet": Ruling(
        fill=_fill_daemon_set,
        create=_create_daemon_set,
        update=_update_daemon_set,
        faults=_daemon_set_faults,
        status_faults=_daemon_status_faults,
        counts=("spec",),
    ),
    "StatefulSet": Ruling(
        fill=_fill_stateful_set,
        faults=_stateful_set_faults,
        status_faults=_stateful_status_faults,
        counts=("spec",),
    ),
    "PodTemplate": Ruling(fill=_fill_pod_template, faults=_pod_template_faults, counts=("template",)),
    "ControllerRevision": Ruling(faults=_revision_faults),
}
