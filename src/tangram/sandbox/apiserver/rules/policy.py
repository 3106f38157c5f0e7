"""Disruption budgets, priority classes and runtime classes."""

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
from tangram.sandbox.apiserver.rules.looking import quantities, record, word
from tangram.sandbox.apiserver.rules.pod_admission import SYSTEM_PRIORITY_CLASSES
from tangram.sandbox.apiserver.rules.resource_faults import amount_faults as resource_amount_faults
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.rules.selectors import selector_faults
from tangram.sandbox.apiserver.rules.templates import amount_faults, share_faults
from tangram.sandbox.apiserver.wording import label

HIGHEST_PRIORITY: Final = 1_000_000_000
_SYSTEM: Final = "system-"
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
        return [
            *faults,
            *unchanged("preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy")),
        ]
    name, value = word(record(new, "metadata"), "name"), number(new.get("value"))
    faults: list[Fault] = []
    if name.startswith(_SYSTEM):
        known = {each["metadata"]["name"]: each["value"] for each in SYSTEM_PRIORITY_CLASSES}
        if known.get(name) != value:
            why = f"value of {name} PriorityClass must be {known[name]}" if name in known else (
                f"{name} is not a known system priority class")  # fmt: skip
            detail = (
                f"priority class names with '{_SYSTEM}' prefix are reserved for system use only. error: {why}"
            )
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
