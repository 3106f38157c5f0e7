"""Jobs: how their pods are told apart, and what of them may change while they run."""

from __future__ import annotations

import copy
from typing import Any, Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import (
    duplicate,
    each_invalid,
    invalid,
    not_negative,
    number,
    required,
    unchanged,
    unsaid,
    unsupported,
)
from tangram.sandbox.apiserver.rules.job_status import status_faults
from tangram.sandbox.apiserver.rules.looking import placed, record, records, word
from tangram.sandbox.apiserver.rules.pod_faults import template_faults
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.rules.selectors import selector_faults, takes
from tangram.sandbox.apiserver.rules.templates import template_of
from tangram.sandbox.apiserver.wording import LARGEST_INT32, label, qualified, subdomain

PREFIX: Final = "batch.kubernetes.io/"
UID_LABELS: Final = ("controller-uid", f"{PREFIX}controller-uid")
NAME_LABELS: Final = ("job-name", f"{PREFIX}job-name")
ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_MOST_PARALLEL: Final = 100_000
_INDEXED: Final = "requires indexed completion mode"


def fill_job_spec(spec: Object) -> None:
    """Also of the Job in a CronJob."""
    template_of(spec)
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", LARGEST_INT32 if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)
    for rule in records(record(spec, "podFailurePolicy"), "rules"):
        for condition in records(rule, "onPodConditions"):
            if not word(condition, "status"):
                condition["status"] = "True"


def _fill(job: Object) -> None:
    fill_job_spec(job["spec"])
    labels = record(job, "spec", "template", "metadata").get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(labels)


def _create(job: Object) -> None:
    spec = job["spec"]
    if spec["manualSelector"]:
        return
    metadata = job["metadata"]
    labels: Object = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
    borrowed = labels and metadata.get("labels") == labels
    for name in NAME_LABELS:
        labels.setdefault(name, metadata.get("name", ""))
    for name in UID_LABELS:
        labels.setdefault(name, metadata.get("uid", ""))
    chosen: Object = spec.setdefault("selector", {}).setdefault("matchLabels", {})
    chosen.setdefault(UID_LABELS[1], metadata.get("uid", ""))
    if borrowed:
        # A Job without labels of its own has its template's, and those have just become more.
        metadata["labels"] = dict(labels)


def _faults(new: Object, old: Object | None) -> list[Fault]:
    spec = record(new, "spec")
    faults = [*_generated_faults(new), *job_spec_faults(spec, "spec")]
    selector, labels = spec.get("selector"), record(spec, "template", "metadata").get("labels")
    if selector is None:
        faults.append(required("spec.selector"))
    faults += selector_faults(selector, "spec.selector")
    if not takes(selector, labels or {}):
        detail = "`selector` does not match template `labels`"
        faults.append(invalid("spec.template.metadata.labels", labels, detail))
    name, completions = word(record(new, "metadata"), "name"), number(spec.get("completions"))
    if spec.get("completionMode") == "Indexed" and completions > 0:
        longest = f"{name}-{completions - 1}"
        if label(longest):
            detail = f"will not able to create pod with invalid DNS label: {longest}"
            faults.append(invalid("metadata.name", name, detail))
    return faults if old is None else [*faults, *_change_faults(new, old)]


def _generated_faults(job: Object) -> list[Fault]:
    """Labels and selector that the server makes may not be somebody else's."""
    spec, metadata = record(job, "spec"), record(job, "metadata")
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    labels = record(spec, "template", "metadata", "labels")
    expected: Object = {
        **dict.fromkeys(UID_LABELS, metadata.get("uid", "")),
        **dict.fromkeys(NAME_LABELS, metadata.get("name", "")),
    }
    faults: list[Fault] = []
    for key, value in expected.items():
        if key not in labels:
            faults.append(required(f"spec.template.metadata.labels[{key}]", f"must be '{value}'"))
        elif labels[key] != value:
            faults.append(invalid(f"spec.template.metadata.labels[{key}]", labels, f"must be '{value}'"))
    if not takes(spec["selector"], expected):
        faults.append(invalid("spec.selector", spec["selector"], "`selector` not auto-generated"))
    return faults


def job_spec_faults(spec: Object, path: str) -> list[Fault]:
    """What does not depend on the selector."""
    faults: list[Fault] = []
    for name in (
        "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
        "backoffLimitPerIndex", "maxFailedIndexes",
    ):  # fmt: skip
        faults += not_negative(f"{path}.{name}", spec.get(name))
    faults += _managed_faults(spec, path)
    faults += _mode_faults(spec, path)
    faults += _policy_faults(spec, path)
    replacement, own = word(spec, "podReplacementPolicy"), "podFailurePolicy" in spec
    legal = ("Failed",) if own else ("Failed", "TerminatingOrFailed")
    if replacement and replacement not in legal:
        faults.append(unsupported(f"{path}.podReplacementPolicy", replacement, legal))
    faults += template_faults(record(spec, "template"), f"{path}.template")
    return [*faults, *_restart_faults(spec, f"{path}.template.spec.restartPolicy")]


def _restart_faults(spec: Object, path: str) -> list[Fault]:
    policy = word(record(spec, "template", "spec"), "restartPolicy")
    if policy in ("", "Always"):
        return [required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [unsupported(path, policy, ("OnFailure", "Never"))]
    if "podFailurePolicy" in spec and policy != "Never":
        return [invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def _managed_faults(spec: Object, path: str) -> list[Fault]:
    manager = spec.get("managedBy")
    if manager is None:
        return []
    domain, _, rest = str(manager).partition("/")
    if not manager:
        return [required(f"{path}.managedBy")]
    if not domain or not rest:
        return [
            invalid(f"{path}.managedBy", manager, 'must be a domain-prefixed path (such as "acme.io/foo")')
        ]
    return each_invalid(f"{path}.managedBy", domain, subdomain(domain))


def _mode_faults(spec: Object, path: str) -> list[Fault]:
    mode, faults = word(spec, "completionMode"), list[Fault]()
    if mode not in ("", "NonIndexed", "Indexed"):
        faults.append(unsupported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode == "Indexed":
        if spec.get("completions") is None:
            faults.append(required(f"{path}.completions", "when completion mode is Indexed"))
        if number(spec.get("parallelism")) > _MOST_PARALLEL:
            detail = f"must be less than or equal to {_MOST_PARALLEL} when completion mode is Indexed"
            faults.append(invalid(f"{path}.parallelism", spec["parallelism"], detail))
        most = spec.get("maxFailedIndexes")
        if most is not None and spec.get("completions") is not None and most > spec["completions"]:
            faults.append(
                invalid(f"{path}.maxFailedIndexes", most, "must be less than or equal to completions")
            )
    elif mode in ("", "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                faults.append(invalid(f"{path}.{name}", spec[name], _INDEXED))
        if "successPolicy" in spec:
            faults.append(invalid(f"{path}.successPolicy", spec["successPolicy"], _INDEXED))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        faults.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    return faults


def _policy_faults(spec: Object, path: str) -> list[Fault]:
    faults: list[Fault] = []
    inner = record(spec, "template", "spec")
    names = {word(each, "name") for kind in ("containers", "initContainers") for each in records(inner, kind)}
    for at, rule in placed(record(spec, "podFailurePolicy"), "rules", f"{path}.podFailurePolicy"):
        action = word(rule, "action")
        if not action:
            listed = " ".join(f'"{each}"' for each in ACTIONS)
            faults.append(required(f"{at}.action", f"valid values: [{listed}]"))
        elif action not in ACTIONS:
            faults.append(unsupported(f"{at}.action", action, ACTIONS))
        elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            faults.append(invalid(f"{at}.action", action, "requires the backoffLimitPerIndex to be set"))
        if "onExitCodes" in rule:
            faults += _exit_faults(record(rule, "onExitCodes"), f"{at}.onExitCodes", names)
        for where, condition in placed(rule, "onPodConditions", at):
            kind = word(condition, "type")
            faults += each_invalid(f"{where}.type", kind, qualified(kind))
        both = ("onExitCodes" in rule) + bool(records(rule, "onPodConditions"))
        if both == 0:
            faults.append(unsaid(at, "specifying one of OnExitCodes and OnPodConditions is required"))
        elif both == 2:
            faults.append(unsaid(at, "specifying both OnExitCodes and OnPodConditions is not supported"))
    return faults


def _exit_faults(codes: Object, path: str, names: set[str]) -> list[Fault]:
    operator = word(codes, "operator")
    values: list[Any] = codes.get("values") or []
    faults: list[Fault] = []
    if operator not in ("In", "NotIn"):
        faults.append(unsupported(f"{path}.operator", operator, ("In", "NotIn")))
    container = codes.get("containerName")
    if container is not None and container not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        faults.append(invalid(f"{path}.containerName", container, detail))
    if not values:
        faults.append(invalid(f"{path}.values", [], "at least one value is required"))
    for position, value in enumerate(values):
        if operator == "In" and value == 0:
            faults.append(invalid(f"{path}.values[{position}]", 0, "must not be 0 for the In operator"))
        if value in values[:position]:
            faults.append(duplicate(f"{path}.values[{position}]", value))
    if values != sorted(values):
        faults.append(invalid(f"{path}.values", values, "must be ordered"))
    return faults


def _change_faults(new: Object, old: Object) -> list[Fault]:
    spec, before = record(new, "spec"), record(old, "spec")
    faults = _completion_faults(spec, before)
    faults += unchanged("spec.selector", spec.get("selector"), before.get("selector"))
    faults += _template_change_faults(spec, before, record(old, "status"))
    for name in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        faults += unchanged(f"spec.{name}", spec.get(name), before.get(name))
    return faults


def _completion_faults(spec: Object, before: Object) -> list[Fault]:
    wanted = spec.get("completions")
    if spec.get("completionMode") != "Indexed":
        return unchanged("spec.completions", wanted, before.get("completions"))
    if wanted in (before.get("completions"), None) or wanted == spec.get("parallelism"):
        return []
    return [invalid("spec.completions", wanted, "can only be modified in tandem with spec.parallelism")]


def _template_change_faults(spec: Object, before: Object, status: Object) -> list[Fault]:
    """A Job that is held back and has never run may still be told where to run, and on how much."""
    template, was = record(spec, "template"), copy.deepcopy(record(before, "template"))
    if not before.get("suspend"):
        return unchanged("spec.template", template, was)
    suspended = any(
        word(each, "type") == "Suspended" and word(each, "status") == "True"
        for each in records(status, "conditions")
    )
    if status.get("active") or (status.get("startTime") and not suspended):
        return unchanged("spec.template", template, was)
    inner, old_inner = record(template, "spec"), record(was, "spec")
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        _take(old_inner, inner, name)
    _take_node_affinity(old_inner, inner)
    for kind in ("containers", "initContainers"):
        for container, wanted in zip(records(old_inner, kind), records(inner, kind), strict=False):
            _take(container, wanted, "resources")
    return unchanged("spec.template.spec", inner, old_inner)


def _take(target: Object, source: Object, name: str) -> None:
    target.pop(name, None)
    if name in source:
        target[name] = source[name]


def _take_node_affinity(target: Object, source: Object) -> None:
    merged: Any = dict(record(target, "affinity"))
    _take(merged, record(source, "affinity"), "nodeAffinity")
    target.pop("affinity", None)
    if merged or "affinity" in source:
        target["affinity"] = merged


JOB: Final = Ruling(fill=_fill, create=_create, faults=_faults, status_faults=status_faults, counts=("spec",))
