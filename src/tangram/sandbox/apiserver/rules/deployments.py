"""Deployments, ReplicaSets and ReplicationControllers."""

from __future__ import annotations

import copy
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import (
    forbidden,
    invalid,
    not_negative,
    number,
    required,
    unsupported,
)
from tangram.sandbox.apiserver.rules.looking import record, word
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.rules.templates import (
    HISTORY,
    amount_faults,
    available_faults,
    is_none,
    is_readable,
    lasting_template_faults,
    replica_faults,
    same_selector_faults,
    selecting_faults,
    share_faults,
    template_of,
)

QUARTER: Final = "25%"


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
    if is_readable(spec.get("selector")):
        faults += lasting_template_faults(spec, "ReplicaSet")
    faults += _deployment_strategy_faults(record(spec, "strategy"))
    for name in ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"):
        faults += not_negative(f"spec.{name}", spec.get(name))
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= number(spec.get("minReadySeconds")):
        faults.append(
            invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")
        )
    return [*faults, *same_selector_faults(new, old)]


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
    if is_none(unavailable) and is_none(surge):
        faults.append(invalid(f"{at}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    return [*faults, *share_faults(unavailable, f"{at}.maxUnavailable")]


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


def _fill_replica_set(thing: Object) -> None:
    thing["spec"].setdefault("replicas", 1)
    template_of(thing["spec"])


def _replica_set_faults(new: Object, old: Object | None) -> list[Fault]:
    spec = record(new, "spec")
    faults = not_negative("spec.replicas", spec.get("replicas"))
    faults += not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    faults += selecting_faults(spec, "deployment")
    if is_readable(spec.get("selector")):
        faults += lasting_template_faults(spec, "ReplicaSet")
    return [*faults, *same_selector_faults(new, old)]


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


DEPLOYMENT: Final = Ruling(
    fill=_fill_deployment,
    faults=_deployment_faults,
    status_faults=_deployment_status_faults,
    update_status=_keep_labels,
    counts=("spec", "metadata.annotations"),
)
REPLICA_SET: Final = Ruling(
    fill=_fill_replica_set, faults=_replica_set_faults, status_faults=_replica_status_faults, counts=("spec",)
)
REPLICATION_CONTROLLER: Final = Ruling(
    fill=_fill_controller, faults=_controller_faults, status_faults=_replica_status_faults, counts=("spec",)
)
