"""What a Job's status may say: an end is an end, and is reached in steps."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import invalid, not_negative, number, required, unsaid
from tangram.sandbox.apiserver.rules.looking import record, records, texts, word

_PATH: Final = "status.conditions"


def status_faults(new: Object, old: Object) -> list[Fault]:
    """Of a new status, seen beside the old one. What did not change is not complained of again."""
    status, was = record(new, "status"), record(old, "status")
    true, before = _true(status), _true(was)
    faults: list[Fault] = []
    for name in ("active", "succeeded", "failed", "ready", "terminating"):
        faults += not_negative(f"status.{name}", status.get(name))
    faults += _condition_faults(true, before)
    faults += _time_faults(new, old, true, before)
    ended = bool(true & {"Complete", "Failed"})
    newly = ended != bool(before & {"Complete", "Failed"})
    if ended and (newly or status.get("active") != was.get("active")) and number(status.get("active")) > 0:
        faults.append(invalid("status.active", status["active"], "active>0 is invalid for finished job"))
    uncounted = record(status, "uncountedTerminatedPods")
    if ended and (texts(uncounted, "succeeded") or texts(uncounted, "failed")):
        faults.append(invalid("status.uncountedTerminatedPods", uncounted, "must be empty for finished job"))
    if ended and number(status.get("terminating")) > 0:
        detail = "terminating>0 is invalid for finished job"
        faults.append(invalid("status.terminating", status["terminating"], detail))
    return [*faults, *_count_faults(status, was)]


def _true(status: Object) -> set[str]:
    return {word(each, "type") for each in records(status, "conditions") if word(each, "status") == "True"}


def _condition_faults(true: set[str], before: set[str]) -> list[Fault]:
    faults: list[Fault] = []
    for first, second in (
        ("Complete", "Failed"), ("Complete", "FailureTarget"), ("SuccessCriteriaMet", "Failed"),
        ("SuccessCriteriaMet", "FailureTarget"),
    ):  # fmt: skip
        if {first, second} <= true and not {first, second} <= before:
            faults.append(unsaid(_PATH, f"cannot set {first}=True and {second}=true conditions"))
    for end, step in (("Failed", "FailureTarget"), ("Complete", "SuccessCriteriaMet")):
        if end in true and step not in true and end not in before:
            faults.append(unsaid(_PATH, f"cannot set {end}=True condition without the {step}=true condition"))
    faults += [
        unsaid(_PATH, f"cannot disable the terminal {kind}=True condition")
        for kind in ("Failed", "Complete", "FailureTarget")
        if kind in before - true
    ]
    if "SuccessCriteriaMet" in before - true:
        faults.append(unsaid(_PATH, "cannot disable the SuccessCriteriaMet=True condition"))
    return faults


def _time_faults(new: Object, old: Object, true: set[str], before: set[str]) -> list[Fault]:
    status, was = record(new, "status"), record(old, "status")
    started, completed = status.get("startTime"), status.get("completionTime")
    faults: list[Fault] = []
    if completed and "Complete" not in true and completed != was.get("completionTime"):
        detail = "cannot set completionTime when there is no Complete=True condition"
        faults.append(invalid("status.completionTime", completed, detail))
    if not completed and "Complete" in true - before:
        faults.append(required("status.completionTime", "completionTime is required for Complete jobs"))
    if started and completed and completed < started:
        faults.append(invalid("status.completionTime", completed, "must be equal to or after `startTime`"))
    if not started and (true - before) & {"Complete", "Failed"}:
        faults.append(required("status.startTime", "startTime is required for finished job"))
    earlier = was.get("completionTime")
    if completed and earlier and completed != earlier:
        faults.append(invalid("status.completionTime", completed, "field is immutable"))
    if was.get("startTime") and started != was["startTime"] and not record(new, "spec").get("suspend"):
        detail = "field is immutable for unsuspended job once set"
        faults.append(invalid("status.startTime", started, detail))
    return faults


def _count_faults(status: Object, was: Object) -> list[Fault]:
    faults: list[Fault] = []
    for name in ("failed", "succeeded"):
        if number(status.get(name)) < number(was.get(name)):
            detail = f"cannot decrease the {name} counter"
            faults.append(invalid(f"status.{name}", number(status.get(name)), detail))
    ready = status.get("ready")
    if ready is not None and ready > number(status.get("active")):
        faults.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    return faults
