"""DaemonSets."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import child, invalid, not_negative, required, unsupported
from tangram.sandbox.apiserver.rules.looking import record, word
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.rules.selectors import is_empty, selector_faults, takes
from tangram.sandbox.apiserver.rules.templates import (
    HISTORY,
    amount_faults,
    is_none,
    is_readable,
    lasting_template_faults,
    replica_faults,
    same_selector_faults,
    share_faults,
    template_of,
)

GENERATION: Final = "deprecated.daemonset.template.generation"
"""How often the template has changed, which was a field in versions of the API that are gone."""


def _fill_daemon_set(thing: Object) -> None:
    spec = thing["spec"]
    template_of(spec)
    strategy: Object = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling: Object = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", HISTORY)


def _create_daemon_set(thing: Object) -> None:
    annotations: Object = thing["metadata"].setdefault("annotations", {})
    annotations.setdefault(GENERATION, "1")


def _update_daemon_set(new: Object, old: Object) -> None:
    before = _digits(record(old, "metadata", "annotations").get(GENERATION))
    changed = record(new, "spec").get("template") != record(old, "spec").get("template")
    annotations: Object = new["metadata"].setdefault("annotations", {})
    annotations[GENERATION] = str(before + changed)


def _digits(text: object) -> int:
    return int(text) if isinstance(text, str) and text.isdecimal() else 0


def _daemon_set_faults(new: Object, old: Object | None) -> list[Fault]:
    spec = record(new, "spec")
    selector, labels = spec.get("selector"), record(spec, "template", "metadata").get("labels")
    faults = selector_faults(selector, "spec.selector")
    if is_readable(selector) and not takes(selector, labels or {}):
        detail = "`selector` does not match template `labels`"
        faults.append(invalid("spec.template.metadata.labels", labels, detail))
    if selector is not None and is_empty(selector):
        faults.append(invalid("spec.selector", selector, "empty selector is invalid for daemonset"))
    faults += lasting_template_faults(spec, "DaemonSet")
    faults += not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    faults += _daemon_strategy_faults(record(spec, "updateStrategy"))
    faults += not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    return [*faults, *same_selector_faults(new, old)]


def _daemon_strategy_faults(strategy: Object) -> list[Fault]:
    path, kind = "spec.updateStrategy", word(strategy, "type")
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        return [unsupported(path, strategy, ("RollingUpdate", "OnDelete"))]
    at, faults = f"{path}.rollingUpdate", list[Fault]()
    rolling = record(strategy, "rollingUpdate")
    for name in ("maxUnavailable", "maxSurge"):
        faults += amount_faults(rolling.get(name), child(at, name)) + share_faults(
            rolling.get(name), child(at, name)
        )
    stops, surges = not is_none(rolling.get("maxUnavailable")), not is_none(rolling.get("maxSurge"))
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


DAEMON_SET: Final = Ruling(
    fill=_fill_daemon_set,
    create=_create_daemon_set,
    update=_update_daemon_set,
    faults=_daemon_set_faults,
    status_faults=_daemon_status_faults,
    counts=("spec",),
)
