"""Templates of pods and the counts of copies: what everything that keeps pods alive has in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import (
    NOT_NEGATIVE,
    each_invalid,
    forbidden,
    invalid,
    not_negative,
    number,
    required,
    unchanged,
    unsupported,
)
from tangram.sandbox.apiserver.rules.looking import members, record, records
from tangram.sandbox.apiserver.rules.pod_defaults import fill_pod_spec
from tangram.sandbox.apiserver.rules.pod_faults import template_faults
from tangram.sandbox.apiserver.rules.selectors import is_empty, requirement_faults, selector_faults, takes
from tangram.sandbox.apiserver.wording import percent

HISTORY: Final = 10
"""How many old versions are kept."""
_MORE_THAN_ALL: Final = "cannot be greater than status.replicas"


def template_of(spec: Object) -> Object:
    """The template, filled in."""
    template: Object = spec.setdefault("template", {})
    fill_pod_spec(template.setdefault("spec", {}))
    return template


def amount_faults(value: Any, path: str) -> list[Fault]:  # noqa: ANN401 - any JSON
    """A count or a percentage."""
    if isinstance(value, str):
        return each_invalid(path, value, percent(value))
    return [invalid(path, value, NOT_NEGATIVE)] if number(value) < 0 else []


def share_faults(value: Any, path: str) -> list[Fault]:  # noqa: ANN401 - any JSON
    """Not more than all."""
    if isinstance(value, str) and not percent(value) and int(value[:-1]) > 100:
        return [invalid(path, value, "must not be greater than 100%")]
    return []


def is_none(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """A count or percentage that comes to nothing."""
    if isinstance(value, str):
        return percent(value) == [] and int(value[:-1]) == 0
    return number(value) == 0


def is_readable(selector: object) -> bool:
    """Whether the selector can be asked at all."""
    whole = members(selector)
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
    if not is_readable(selector):
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
        faults.append(
            unsupported("spec.template.spec.restartPolicy", inner.get("restartPolicy"), ("Always",))
        )
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


def same_selector_faults(new: Object, old: Object | None) -> list[Fault]:
    """What was selected once is selected for good."""
    if old is None:
        return []
    return unchanged(
        "spec.selector", record(new, "spec").get("selector"), record(old, "spec").get("selector")
    )
