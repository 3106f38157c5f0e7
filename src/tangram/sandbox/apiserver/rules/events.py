"""Events, which have an older and a newer form: the newer one says more and may change less."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.event_names import with_core_names
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import each_invalid, invalid, number, required, unchanged
from tangram.sandbox.apiserver.rules.looking import record, word
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.wording import qualified

_ELSEWHERE: Final = "does not match event.namespace"
_LONGEST: Final = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_FIXED: Final = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type", "eventTime",
    "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip


def _common_faults(event: Object, reporting: str) -> list[Fault]:
    """Of an event under its older names."""
    here, there = (
        word(record(event, "metadata"), "namespace"),
        word(record(event, "involvedObject"), "namespace"),
    )
    wrong = [invalid("involvedObject.namespace", there, _ELSEWHERE)]
    if not event.get("eventTime"):
        matches = here in ("", "default") if not there else here == there
        return [] if matches else wrong
    faults = wrong if not there and here not in ("default", "kube-system") else []
    controller = word(event, "reportingComponent")
    faults += [] if controller else [required(reporting)]
    faults += each_invalid(reporting, controller, qualified(controller))
    for name, most in _LONGEST.items():
        value = word(event, name)
        if not value and name != "message":
            faults.append(required(name))
        if len(value.encode()) > most:
            faults.append(invalid(name, "", f"can have at most {most} characters"))
    return faults


def _faults(new: Object, _old: Object | None) -> list[Fault]:
    return _common_faults(new, "reportingComponent")


def _newer_faults(new: Object, old: Object | None) -> list[Fault]:
    event = with_core_names(new)
    faults = _common_faults(event, "reportingController")
    if old is None:
        faults += _series_faults(event)
        if not event.get("eventTime"):
            faults.append(required("eventTime"))
        if word(event, "type") not in ("Normal", "Warning"):
            faults.append(invalid("type", "", f"has invalid value: {word(event, 'type')}"))
        for name in ("firstTimestamp", "lastTimestamp", "count", "source"):
            if event.get(name):
                faults.append(invalid(name, "", "needs to be unset"))
        return faults
    before = with_core_names(old)
    if event.get("series") != before.get("series"):
        faults += _series_faults(event)
    for name in _FIXED:
        shown = "reportingController" if name == "reportingComponent" else name
        faults += unchanged(shown, event.get(name), before.get(name))
    return faults


def _series_faults(event: Object) -> list[Fault]:
    if "series" not in event:
        return []
    series = record(event, "series")
    faults = [] if number(series.get("count")) > 1 else [invalid("series.count", "", "should be at least 2")]
    return faults if series.get("lastObservedTime") else [*faults, required("series.lastObservedTime")]


EVENT: Final = Ruling(faults=_faults)
NEWER_EVENT: Final = Ruling(faults=_newer_faults)
