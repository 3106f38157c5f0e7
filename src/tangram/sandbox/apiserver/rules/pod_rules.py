"""The life of a pod in the server: hardly anything of it may be changed once it is there."""

from __future__ import annotations

import copy
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import each_invalid, forbidden, invalid, required, unchanged
from tangram.sandbox.apiserver.rules.looking import placed, record, records, word
from tangram.sandbox.apiserver.rules.metadata import metadata_faults
from tangram.sandbox.apiserver.rules.placement_faults import REQUIRED
from tangram.sandbox.apiserver.rules.pod_admission import give_patience
from tangram.sandbox.apiserver.rules.pod_defaults import fill_pod
from tangram.sandbox.apiserver.rules.pod_faults import pod_faults
from tangram.sandbox.apiserver.rules.qos import qos_class
from tangram.sandbox.apiserver.rules.ruling import KindRules, Ruling
from tangram.sandbox.apiserver.wording import LARGEST_INT32, address, qualified, subdomain

_ONLY: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_SYSTEM_CONDITIONS: Final = ("PodScheduled", "Ready", "Initialized")
_GATED: Final = "Scheduling is blocked due to non-empty scheduling gates"


class PodRules(KindRules):
    """Besides the pod and its status, the debugging containers that are added to it."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind, RULING)
        self._pods = kind

    def prepare_update(self, new: Object, old: Object, subresource: str) -> None:
        if subresource == "ephemeralcontainers":
            added = record(new, "spec").get("ephemeralContainers")
            new["spec"] = copy.deepcopy(record(old, "spec"))
            new["spec"]["ephemeralContainers"] = added or []
        super().prepare_update(new, old, subresource)

    def faults(self, new: Object, old: Object | None, subresource: str) -> list[Fault]:
        if subresource == "ephemeralcontainers" and old is not None:
            return [
                *metadata_faults(new, self._pods, old),
                *pod_faults(new, old),
                *_ephemeral_faults(new, old),
            ]
        return super().faults(new, old, subresource)


def _create(pod: Object) -> None:
    status: Object = {"phase": "Pending", "qosClass": qos_class(pod)}
    if records(pod["spec"], "schedulingGates"):
        gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": _GATED,
                 "lastTransitionTime": record(pod, "metadata").get("creationTimestamp")}  # fmt: skip
        status["conditions"] = [gated]
    pod["status"] = status


def _update(new: Object, old: Object) -> None:
    spec, before = new["spec"], record(old, "spec")
    for field in ("priority", "preemptionPolicy"):
        if spec.get(field) is None and before.get(field) is not None:
            spec[field] = before[field]
    give_patience(spec)


def _update_status(new: Object, old: Object) -> None:
    metadata, before = new["metadata"], record(old, "metadata")
    metadata.pop("ownerReferences", None)
    if "ownerReferences" in before:
        metadata["ownerReferences"] = copy.deepcopy(before["ownerReferences"])
    status, was = new["status"], record(old, "status")
    for field in ("qosClass", "observedGeneration"):
        if not status.get(field) and was.get(field):
            status[field] = was[field]
    generations = {word(each, "type"): each.get("observedGeneration") for each in records(was, "conditions")}
    for condition in records(status, "conditions"):
        seen = generations.get(word(condition, "type"))
        if seen and not condition.get("observedGeneration"):
            condition["observedGeneration"] = seen


def _faults(new: Object, old: Object | None) -> list[Fault]:
    faults = pod_faults(new, old)
    return faults if old is None else [*faults, *_change_faults(record(new, "spec"), record(old, "spec"))]


def _change_faults(new: Object, old: Object) -> list[Fault]:
    faults: list[Fault] = []
    for name in ("containers", "initContainers"):
        if len(records(new, name)) != len(records(old, name)):
            return [*faults, forbidden(f"spec.{name}", "pod updates may not add or remove containers")]
        faults += [
            required(f"{at}.image") for at, each in placed(new, name, "spec") if not word(each, "image")
        ]
    deadline, before = new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    path = "spec.activeDeadlineSeconds"
    if deadline is not None:
        if not 0 <= deadline <= LARGEST_INT32:
            return [*faults, invalid(path, deadline, f"must be between 0 and {LARGEST_INT32}, inclusive")]
        if before is not None and before < deadline:
            return [*faults, invalid(path, deadline, "must be less than or equal to previous value")]
    elif before is not None:
        faults.append(invalid(path, None, "must not update from a positive integer to nil value"))
    faults += _toleration_faults(new, old)
    faults += _gate_faults(new, old)
    return faults if new == old else [*faults, *_other_faults(new, old)]


def _toleration_faults(new: Object, old: Object) -> list[Fault]:
    kept = [{**each, "tolerationSeconds": None} for each in records(new, "tolerations")]
    if all({**each, "tolerationSeconds": None} in kept for each in records(old, "tolerations")):
        return []
    return [
        forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
    ]


def _gate_faults(new: Object, old: Object) -> list[Fault]:
    known = {word(each, "name") for each in records(old, "schedulingGates")}
    return [
        forbidden(
            f"{at}.name", f"only deletion is allowed, but found new scheduling gate '{word(gate, 'name')}'"
        )
        for at, gate in placed(new, "schedulingGates", "spec")
        if word(gate, "name") not in known
    ]


def _other_faults(new: Object, old: Object) -> list[Fault]:
    """Everything that may change is put back; what then still differs may not."""
    put_back: Object = copy.deepcopy(new)
    for name in ("containers", "initContainers"):
        for container, before in zip(records(put_back, name), records(old, name), strict=True):
            container["image"] = before.get("image")
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _put_back(put_back, old, field)
    if old.get("terminationGracePeriodSeconds", 0) < 0 and new.get("terminationGracePeriodSeconds") == 1:
        _put_back(put_back, old, "terminationGracePeriodSeconds")
    faults: list[Fault] = []
    if records(old, "schedulingGates"):
        faults += _narrowing_faults(new, old)
        _put_back(put_back, old, "nodeSelector")
        affinity = {
            **record(put_back, "affinity"),
            "nodeAffinity": record(old, "affinity").get("nodeAffinity"),
        }
        affinity = {name: value for name, value in affinity.items() if value is not None}
        put_back.pop("affinity", None)
        if affinity or "affinity" in old:
            put_back["affinity"] = affinity
    if put_back != old:
        changed = sorted(name for name in {*put_back, *old} if put_back.get(name) != old.get(name))
        told = "".join(f"\n spec.{name}" for name in changed)
        faults.append(forbidden("spec", f"{_ONLY}{told}"))
    return faults


def _put_back(spec: Object, old: Object, field: str) -> None:
    spec.pop(field, None)
    if field in old:
        spec[field] = old[field]


def _narrowing_faults(new: Object, old: Object) -> list[Fault]:
    """A pod that waits at a gate may be told more narrowly where to go, never differently."""
    faults: list[Fault] = []
    selector = record(new, "nodeSelector")
    if any(selector.get(key) != value for key, value in record(old, "nodeSelector").items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        faults.append(invalid("spec.nodeSelector", selector, detail))
    terms = records(record(new, "affinity", "nodeAffinity", REQUIRED), "nodeSelectorTerms")
    before = records(record(old, "affinity", "nodeAffinity", REQUIRED), "nodeSelectorTerms")
    path = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    if before and len(before) != len(terms):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [*faults, invalid(path, terms, detail)]
    for position, (term, was) in enumerate(zip(terms, before, strict=False)):
        for field in ("matchExpressions", "matchFields"):
            kept = records(was, field)
            if records(term, field)[: len(kept)] != kept:
                detail = "only additions are allowed (no mutations or deletions)"
                faults.append(invalid(f"{path}[{position}]", term, detail))
                break
    return faults


def _ephemeral_faults(new: Object, old: Object) -> list[Fault]:
    path = "spec.ephemeralContainers"
    present = {word(each, "name"): each for each in records(record(new, "spec"), "ephemeralContainers")}
    faults: list[Fault] = []
    for each in records(record(old, "spec"), "ephemeralContainers"):
        name = word(each, "name")
        if name not in present:
            faults.append(forbidden(path, f'existing ephemeral containers "{name}" may not be removed\n'))
        elif present[name] != each:
            faults.append(forbidden(path, f'existing ephemeral containers "{name}" may not be changed\n'))
    return faults


def _status_faults(new: Object, old: Object) -> list[Fault]:
    status, was = record(new, "status"), record(old, "status")
    faults: list[Fault] = []
    for at, condition in placed(status, "conditions", "status"):
        kind = word(condition, "type")
        if kind not in _SYSTEM_CONDITIONS:
            faults += each_invalid(f"{at}.Type", kind, qualified(kind))
    nominated = word(status, "nominatedNodeName")
    if nominated and nominated != word(was, "nominatedNodeName"):
        faults += each_invalid("status.nominatedNodeName", nominated, subdomain(nominated))
        if word(record(old, "spec"), "nodeName"):
            detail = "may not be set on pods that are already bound to a node"
            faults.append(forbidden("status.nominatedNodeName", detail))
    faults += unchanged("status.qosClass", status.get("qosClass"), was.get("qosClass"))
    faults += _transition_faults(status, record(old, "spec"), was)
    for field in ("podIPs", "hostIPs"):
        for at, each in placed(status, field, "status"):
            faults += each_invalid(at, word(each, "ip"), address(word(each, "ip")))
    return faults


def _transition_faults(status: Object, spec: Object, was: Object) -> list[Fault]:
    """What has ended stays so where nothing is started again."""
    usual = word(spec, "restartPolicy")
    policies = {
        word(each, "name"): word(each, "restartPolicy") or usual for each in records(spec, "containers")
    }
    ended = {
        word(each, "name"): record(each, "state", "terminated").get("exitCode", 0)
        for each in records(was, "containerStatuses")
        if "terminated" in record(each, "state")
    }
    faults: list[Fault] = []
    for at, each in placed(status, "containerStatuses", "status"):
        name = word(each, "name")
        if name not in ended or "terminated" in record(each, "state"):
            continue
        policy = policies.get(name, usual)
        if policy != "Always" and not (policy == "OnFailure" and ended[name] != 0):
            faults.append(forbidden(f"{at}.state", "may not be transitioned to non-terminated state"))
    return faults


RULING: Final = Ruling(
    fill=fill_pod,
    create=_create,
    update=_update,
    update_status=_update_status,
    faults=_faults,
    status_faults=_status_faults,
    counts=("spec",),
)
