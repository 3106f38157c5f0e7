"""Disruption budgets, priority classes, runtime classes and rights."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import (
    each_invalid,
    forbidden,
    invalid,
    not_negative,
    number,
    required,
    unchanged,
    unsupported,
)
from tangram.sandbox.apiserver.rules.looking import placed, quantities, record, texts, word
from tangram.sandbox.apiserver.rules.pod_admission import SYSTEM_PRIORITY_CLASSES
from tangram.sandbox.apiserver.rules.resource_faults import amount_faults as resource_amount_faults
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.rules.selectors import selector_faults
from tangram.sandbox.apiserver.rules.wording import label, subdomain
from tangram.sandbox.apiserver.rules.workloads import amount_faults, share_faults

HIGHEST_PRIORITY: Final = 1_000_000_000
_SYSTEM: Final = "system-"
RBAC: Final = "rbac.authorization.k8s.io"
_EVICTION: Final = ("AlwaysAllow", "IfHealthyBudget")


def _budget_faults(new: Object, _old: Object | None) -> list[Fault]:
    spec = record(new, "spec")
    faults: list[Fault] = []
    if "minAvailable" in spec and "maxUnavailable" in spec:
        faults.append(invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for name in ("minAvailable", "maxUnavailable"):
        if name in spec:
            path = f"spec.{name}"
            faults += amount_faults(spec[name], path) + share_faults(spec[name], path)
    policy = word(spec, "unhealthyPodEvictionPolicy")
    if policy and policy not in _EVICTION:
        faults.append(unsupported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION))
    return [*faults, *selector_faults(spec.get("selector"), "spec.selector")]


def _budget_status_faults(new: Object, _old: Object) -> list[Fault]:
    status = record(new, "status")
    return [
        fault
        for name in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
        for fault in not_negative(f"status.{name}", status.get(name))
    ]


BUDGET: Final = Ruling(faults=_budget_faults, status_faults=_budget_status_faults, counts=("spec",))


def _fill_priority(thing: Object) -> None:
    thing.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _priority_faults(new: Object, old: Object | None) -> list[Fault]:
    if old is not None:
        changed = new.get("value") != old.get("value")
        faults = [forbidden("value", "may not be changed in an update.")] if changed else []
        return [*faults, *unchanged("preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"))]
    name, value = word(record(new, "metadata"), "name"), number(new.get("value"))
    faults: list[Fault] = []
    if name.startswith(_SYSTEM):
        known = {each["metadata"]["name"]: each["value"] for each in SYSTEM_PRIORITY_CLASSES}
        if known.get(name) != value:
            why = f"value of {name} PriorityClass must be {known[name]}" if name in known else (
                f"{name} is not a known system priority class")  # fmt: skip
            detail = f"priority class names with '{_SYSTEM}' prefix are reserved for system use only. error: {why}"
            faults.append(forbidden("metadata.name", detail))
    elif value > HIGHEST_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}"
        faults.append(forbidden("value", detail))
    policy = word(new, "preemptionPolicy")
    if policy not in ("PreemptLowerPriority", "Never"):
        faults.append(unsupported("preemptionPolicy", policy, ("PreemptLowerPriority", "Never")))
    return faults


# Its value never changes, so its generation stays 1.
PRIORITY: Final = Ruling(fill=_fill_priority, faults=_priority_faults, counts=("value",))


def _runtime_faults(new: Object, old: Object | None) -> list[Fault]:
    handler = word(new, "handler")
    faults = each_invalid("handler", handler, label(handler)) if handler else [required("handler")]
    for name, amount in quantities(record(new, "overhead"), "podFixed").items():
        faults += resource_amount_faults(name, amount, f"overhead.podFixed[{name}]")
    return faults if old is None else [*faults, *unchanged("handler", handler, old.get("handler"))]


RUNTIME: Final = Ruling(faults=_runtime_faults)


def _role_faults(new: Object, _old: Object | None) -> list[Fault]:
    return _rule_faults(new, namespaced=True)


def _cluster_role_faults(new: Object, _old: Object | None) -> list[Fault]:
    return _rule_faults(new, namespaced=False)


def _rule_faults(thing: Object, *, namespaced: bool) -> list[Fault]:
    faults: list[Fault] = []
    for at, rule in placed(thing, "rules", ""):
        urls = texts(rule, "nonResourceURLs")
        if not texts(rule, "verbs"):
            faults.append(required(f"{at}.verbs", "verbs must contain at least one value"))
        if urls:
            if namespaced:
                detail = "namespaced rules cannot apply to non-resource URLs"
                faults.append(invalid(f"{at}.nonResourceURLs", urls, detail))
            if any(texts(rule, name) for name in ("apiGroups", "resources", "resourceNames")):
                detail = "rules cannot apply to both regular resources and non-resource URLs"
                faults.append(invalid(f"{at}.nonResourceURLs", urls, detail))
            continue
        if not texts(rule, "apiGroups"):
            faults.append(required(f"{at}.apiGroups", "resource rules must supply at least one api group"))
        if not texts(rule, "resources"):
            faults.append(required(f"{at}.resources", "resource rules must supply at least one resource"))
    return faults


ROLE: Final = Ruling(faults=_role_faults)
CLUSTER_ROLE: Final = Ruling(faults=_cluster_role_faults)


def _fill_binding(thing: Object) -> None:
    reference: Object = thing.setdefault("roleRef", {})
    if not word(reference, "apiGroup"):
        reference["apiGroup"] = RBAC
    for _, subject in placed(thing, "subjects", ""):
        if word(subject, "kind") in ("User", "Group") and not word(subject, "apiGroup"):
            subject["apiGroup"] = RBAC


def _binding_faults(new: Object, old: Object | None) -> list[Fault]:
    return _bound_faults(new, old, ("Role", "ClusterRole"))


def _cluster_binding_faults(new: Object, old: Object | None) -> list[Fault]:
    return _bound_faults(new, old, ("ClusterRole",), everywhere=True)


def _bound_faults(
    new: Object, old: Object | None, kinds: tuple[str, ...], *, everywhere: bool = False
) -> list[Fault]:
    reference = record(new, "roleRef")
    faults: list[Fault] = []
    if word(reference, "apiGroup") != RBAC:
        faults.append(unsupported("roleRef.apiGroup", word(reference, "apiGroup"), (RBAC,)))
    if word(reference, "kind") not in kinds:
        faults.append(unsupported("roleRef.kind", word(reference, "kind"), kinds))
    if not word(reference, "name"):
        faults.append(required("roleRef.name"))
    for at, subject in placed(new, "subjects", ""):
        faults += _subject_faults(subject, at, everywhere=everywhere)
    if old is not None and reference != record(old, "roleRef"):
        told = {"APIGroup": reference.get("apiGroup"), "Kind": reference.get("kind"), "Name": reference.get("name")}
        faults.append(invalid("roleRef", told, "cannot change roleRef"))
    return faults


def _subject_faults(subject: Object, path: str, *, everywhere: bool) -> list[Fault]:
    kind, name, group = word(subject, "kind"), word(subject, "name"), word(subject, "apiGroup")
    faults = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        if name:
            faults += each_invalid(f"{path}.name", name, subdomain(name))
        if group:
            faults.append(unsupported(f"{path}.apiGroup", group, ("",)))
        if everywhere and not word(subject, "namespace"):
            faults.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != RBAC:
            faults.append(unsupported(f"{path}.apiGroup", group, (RBAC,)))
    else:
        faults.append(unsupported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
    return faults


ROLE_BINDING: Final = Ruling(fill=_fill_binding, faults=_binding_faults)
CLUSTER_ROLE_BINDING: Final = Ruling(fill=_fill_binding, faults=_cluster_binding_faults)
