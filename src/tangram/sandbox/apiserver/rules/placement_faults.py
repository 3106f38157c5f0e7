"""Where a pod wants to be: tolerations, affinities and spreading."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import (
    child,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    number,
    required,
    unsupported,
)
from tangram.sandbox.apiserver.rules.looking import placed, record, records, texts, word
from tangram.sandbox.apiserver.rules.selectors import requirement_faults, selector_faults
from tangram.sandbox.apiserver.wording import label, label_value, qualified, subdomain

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_POSITIVE: Final = "must be greater than zero"
_WEIGHT: Final = "must be in the range 1-100"


def toleration_faults(spec: Object, path: str) -> list[Fault]:
    """Of every toleration."""
    faults: list[Fault] = []
    for at, each in placed(spec, "tolerations", path):
        key, operator, value = word(each, "key"), word(each, "operator"), word(each, "value")
        effect = word(each, "effect")
        if key:
            faults += each_invalid(f"{at}.key", key, qualified(key))
        elif operator != "Exists":
            detail = (
                'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            )
            faults.append(invalid(f"{at}.operator", operator, detail))
        if each.get("tolerationSeconds") is not None and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            faults.append(invalid(f"{at}.effect", effect, detail))
        faults += _operator_faults(operator, value, f"{at}.operator")
        if effect and effect not in EFFECTS:
            faults.append(unsupported(f"{at}.effect", effect, EFFECTS))
    return faults


def _operator_faults(operator: str, value: str, path: str) -> list[Fault]:
    if operator in ("Equal", ""):
        wrong = label_value(value)
        return [invalid(path, value, ";".join(wrong))] if wrong else []
    if operator == "Exists":
        return [invalid(path, value, "value must be empty when `operator` is 'Exists'")] if value else []
    if operator in ("Lt", "Gt"):
        return [unsupported(path, operator, ("Equal", "Exists", "Lt", "Gt"))]
    return [unsupported(path, operator, ("Equal", "Exists"))]


def affinity_faults(spec: Object, path: str) -> list[Fault]:
    """Of all three kinds of affinity."""
    affinity, at = record(spec, "affinity"), child(path, "affinity")
    faults: list[Fault] = []
    if "nodeAffinity" in affinity:
        faults += _node_faults(record(affinity, "nodeAffinity"), f"{at}.nodeAffinity")
    for name in ("podAffinity", "podAntiAffinity"):
        terms = record(affinity, name)
        for where, term in placed(terms, REQUIRED, f"{at}.{name}"):
            faults += _term_faults(term, where)
        for where, weighted in placed(terms, PREFERRED, f"{at}.{name}"):
            faults += _weight_faults(weighted, where)
            faults += _term_faults(record(weighted, "podAffinityTerm"), f"{where}.podAffinityTerm")
    return faults


def node_selector_faults(selector: Object, path: str) -> list[Fault]:
    """Of terms of which a node must meet one."""
    if not records(selector, "nodeSelectorTerms"):
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    faults: list[Fault] = []
    for at, term in placed(selector, "nodeSelectorTerms", path):
        faults += _node_term_faults(term, at)
    return faults


def _node_faults(affinity: Object, path: str) -> list[Fault]:
    faults: list[Fault] = []
    if REQUIRED in affinity:
        faults += node_selector_faults(record(affinity, REQUIRED), f"{path}.{REQUIRED}")
    for at, term in placed(affinity, PREFERRED, path):
        faults += _weight_faults(term, at)
        faults += _node_term_faults(record(term, "preference"), f"{at}.preference", loose=True)
    return faults


def _node_term_faults(term: Object, path: str, *, loose: bool = False) -> list[Fault]:
    faults: list[Fault] = []
    for at, requirement in placed(term, "matchExpressions", path):
        faults += requirement_faults(requirement, at, compares=True, loose=loose)
    for at, requirement in placed(term, "matchFields", path):
        faults += _field_faults(requirement, at)
    return faults


def _field_faults(requirement: Object, path: str) -> list[Fault]:
    operator, key, values = (
        word(requirement, "operator"),
        word(requirement, "key"),
        texts(requirement, "values"),
    )
    faults: list[Fault] = []
    if operator not in ("In", "NotIn"):
        faults.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        faults.append(required(f"{path}.values", detail))
    if key != "metadata.name":
        return [*faults, invalid(f"{path}.key", key, "not a valid field selector key")]
    for position, value in enumerate(values):
        faults += each_invalid(f"{path}.values[{position}]", value, subdomain(value))
    return faults


def _weight_faults(term: Object, path: str) -> list[Fault]:
    weight = number(term.get("weight"))
    return [] if 1 <= weight <= 100 else [invalid(f"{path}.weight", weight, _WEIGHT)]


def _term_faults(term: Object, path: str) -> list[Fault]:
    key = word(term, "topologyKey")
    faults = selector_faults(term.get("labelSelector"), f"{path}.labelSelector")
    faults += selector_faults(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in texts(term, "namespaces"):
        faults += each_invalid(f"{path}.namespace", name, label(name))
    faults += _label_key_faults(term, path)
    faults += [] if key else [required(f"{path}.topologyKey", "can not be empty")]
    return [*faults, *each_invalid(f"{path}.topologyKey", key, qualified(key))]


def _label_key_faults(term: Object, path: str) -> list[Fault]:
    faults: list[Fault] = []
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = texts(term, name)
        if keys and "labelSelector" not in term:
            faults.append(forbidden(f"{path}.{name}", "must not be specified when labelSelector is not set"))
            continue
        for position, key in enumerate(keys):
            faults += each_invalid(f"{path}.{name}[{position}]", key, qualified(key))
    return faults


def spread_faults(spec: Object, path: str) -> list[Fault]:
    """Of constraints on how evenly pods are spread."""
    faults: list[Fault] = []
    every = records(spec, "topologySpreadConstraints")
    for position, each in enumerate(every):
        at = f"{path}.topologySpreadConstraints[{position}]"
        skew, key, action = (
            number(each.get("maxSkew")),
            word(each, "topologyKey"),
            word(each, "whenUnsatisfiable"),
        )
        faults += [] if skew > 0 else [invalid(f"{at}.maxSkew", skew, _POSITIVE)]
        faults += [] if key else [required(f"{at}.topologyKey", "can not be empty")]
        faults += [] if action in _ACTIONS else [unsupported(f"{at}.whenUnsatisfiable", action, _ACTIONS)]
        if any((word(later, "topologyKey"), word(later, "whenUnsatisfiable")) == (key, action)
               for later in every[position + 1 :]):  # fmt: skip
            faults.append(duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        faults += _domain_faults(each, action, at)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if name in each and each[name] not in ("Honor", "Ignore"):
                faults.append(unsupported(f"{at}.{name}", each[name], ("Honor", "Ignore")))
        faults += selector_faults(each.get("labelSelector"), f"{at}.labelSelector")
        faults += _label_key_faults(each, at)
    return faults


def _domain_faults(constraint: Object, action: str, path: str) -> list[Fault]:
    least = constraint.get("minDomains")
    if least is None:
        return []
    faults = [] if least > 0 else [invalid(f"{path}.minDomains", least, _POSITIVE)]
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        faults.append(invalid(f"{path}.minDomains", least, detail))
    return faults
