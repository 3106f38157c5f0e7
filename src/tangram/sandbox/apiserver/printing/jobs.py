"""Work that ends: jobs, the times they are started at, and the budgets of what may be disturbed meanwhile."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.printing.ages import human, moment, since
from tangram.sandbox.apiserver.printing.columns import (
    AGE,
    CONTAINERS,
    NAME,
    SELECTOR,
    Cells,
    Heading,
    Printer,
    Printers,
    age_of,
    count,
)
from tangram.sandbox.apiserver.printing.reading import (
    NONE,
    UNSET,
    at,
    condition,
    each,
    is_going,
    is_true,
    name_of,
    number,
    text,
)
from tangram.sandbox.apiserver.printing.selectors import container_cells, selector_text
from tangram.wire import loose

_UNLIMITED: Final = "N/A"
_ENDED: Final = ("Complete", "Failed")
_UNDER_WAY: Final = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def _job(job: Object, now: datetime) -> Cells:
    return [
        name_of(job),
        _state(job),
        _completions(job),
        _duration(job, now),
        age_of(job, now),
        *container_cells(at(job, "spec", "template", "spec")),
        selector_text(at(job, "spec", "selector")) or NONE,
    ]


def _state(job: Object) -> str:
    for kind in _ENDED:
        if is_true(condition(job, kind)):
            return kind
    if is_going(job):
        return "Terminating"
    return next((kind for kind in _UNDER_WAY if is_true(condition(job, kind))), "Running")


def _completions(job: Object) -> str:
    done = number(job, "status", "succeeded")
    if at(job, "spec", "completions") is not None:
        return f"{done}/{number(job, 'spec', 'completions')}"
    # Without a number, the first success is enough.
    parallel = number(job, "spec", "parallelism")
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _duration(job: Object, now: datetime) -> str:
    started = moment(at(job, "status", "startTime"))
    if started is None:
        return ""
    ended = moment(at(job, "status", "completionTime")) or now
    return human((ended - started).total_seconds())


def _cron_job(thing: Object, now: datetime) -> Cells:
    suspended = at(thing, "spec", "suspend")
    last = at(thing, "status", "lastScheduleTime")
    template = at(thing, "spec", "jobTemplate", "spec")
    return [
        name_of(thing),
        text(thing, "spec", "schedule"),
        text(thing, "spec", "timeZone", otherwise=NONE),
        UNSET if suspended is None else str(suspended is True),
        len(each(thing, "status", "active")),
        NONE if last is None else since(last, now),
        age_of(thing, now),
        *container_cells(at(template, "template", "spec")),
        selector_text(at(template, "selector")) or NONE,
    ]


def _budget(thing: Object, now: datetime) -> Cells:
    return [
        name_of(thing),
        loose.scalar_text(at(thing, "spec", "minAvailable")) or _UNLIMITED,
        loose.scalar_text(at(thing, "spec", "maxUnavailable")) or _UNLIMITED,
        number(thing, "status", "disruptionsAllowed"),
        age_of(thing, now),
    ]


PRINTERS: Final[Printers] = {
    ("batch", "Job"): Printer(
        (NAME, Heading("Status"), Heading("Completions"), Heading("Duration"), AGE, *CONTAINERS, SELECTOR),
        _job,
    ),
    ("batch", "CronJob"): Printer(
        (
            NAME,
            Heading("Schedule"),
            Heading("Timezone"),
            Heading("Suspend", "boolean"),
            count("Active"),
            Heading("Last Schedule"),
            AGE,
            *CONTAINERS,
            SELECTOR,
        ),
        _cron_job,
    ),
    ("policy", "PodDisruptionBudget"): Printer(
        (NAME, Heading("Min Available"), Heading("Max Unavailable"), count("Allowed Disruptions"), AGE),
        _budget,
    ),
}
