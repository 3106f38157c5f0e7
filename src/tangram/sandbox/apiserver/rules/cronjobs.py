"""CronJobs: when they run, in the notation of cron."""

from __future__ import annotations

import re
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import invalid, not_negative, one_of, required, unsupported
from tangram.sandbox.apiserver.rules.jobs import fill_job_spec, job_spec_faults
from tangram.sandbox.apiserver.rules.looking import record, word
from tangram.sandbox.apiserver.rules.ruling import Ruling

POLICIES: Final = ("Allow", "Forbid", "Replace")
_DESCRIPTORS: Final = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_BOUNDS: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_EVERY: Final = re.compile(r"@every (\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+")


def _fill(thing: Object) -> None:
    spec = thing["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    # The Job is filled in when it is made; only its pods' template is here already.
    inner: Object = spec.setdefault("jobTemplate", {}).setdefault("spec", {})
    whole = dict(inner)
    fill_job_spec(whole)
    inner["template"] = whole["template"]


def _faults(new: Object, old: Object | None) -> list[Fault]:
    spec = record(new, "spec")
    schedule = word(spec, "schedule")
    faults = schedule_faults(schedule, "spec.schedule") if schedule else [required("spec.schedule")]
    faults += not_negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    if old is None or record(old, "spec").get("timeZone") != spec.get("timeZone"):
        faults += _zone_faults(spec.get("timeZone"), "spec.timeZone")
    faults += one_of("spec.concurrencyPolicy", word(spec, "concurrencyPolicy"), POLICIES)
    inner = record(spec, "jobTemplate", "spec")
    faults += job_spec_faults(inner, "spec.jobTemplate.spec")
    if inner.get("selector") is not None:
        detail = "`selector` will be auto-generated"
        faults.append(invalid("spec.jobTemplate.spec.selector", inner["selector"], detail))
    if inner.get("manualSelector"):
        path = "spec.jobTemplate.spec.manualSelector"
        faults.append(unsupported(path, True, ("nil", "false")))  # noqa: FBT003 - the value that is wrong
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        faults += not_negative(f"spec.{name}", spec.get(name))
    return faults


def schedule_faults(schedule: str, path: str) -> list[Fault]:
    """What is no schedule, and schedules that name a zone."""
    if "TZ" in schedule:
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        return [invalid(path, schedule, detail)]
    wrong = _wrong_with(schedule)
    return [invalid(path, schedule, wrong)] if wrong else []


def _wrong_with(schedule: str) -> str:
    if schedule.startswith("@"):
        known = schedule in _DESCRIPTORS or _EVERY.fullmatch(schedule)
        return "" if known else f"unrecognized descriptor: {schedule}"
    fields = schedule.split()
    if len(fields) != len(_BOUNDS):
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    for field, (least, most), names in zip(fields, _BOUNDS, ((), (), (), _MONTHS, _DAYS), strict=True):
        for part in field.split(","):
            wrong = _wrong_with_part(part, least, most, names)
            if wrong:
                return wrong
    return ""


def _wrong_with_part(part: str, least: int, most: int, names: tuple[str, ...]) -> str:
    values, slash, step = part.partition("/")
    if slash and not step.isdecimal():
        return f'failed to parse int from {step}: strconv.Atoi: parsing "{step}": invalid syntax'
    if slash and int(step) == 0:
        return f"step of range should be a positive number: {part}"
    if values in ("*", "?"):
        return ""
    ends = values.split("-")
    if len(ends) > 2:
        return f"too many hyphens: {part}"
    read: list[int] = []
    for end in ends:
        if end.lower() in names:
            read.append(names.index(end.lower()) + least)
        elif end.isdecimal():
            read.append(int(end))
        else:
            return f'failed to parse int from {end}: strconv.Atoi: parsing "{end}": invalid syntax'
    if read[0] < least:
        return f"beginning of range ({read[0]}) below minimum ({least}): {part}"
    if read[-1] > most:
        return f"end of range ({read[-1]}) above maximum ({most}): {part}"
    if read[0] > read[-1]:
        return f"beginning of range ({read[0]}) beyond end of range ({read[-1]}): {part}"
    return ""


def _zone_faults(zone: object, path: str) -> list[Fault]:
    if zone is None:
        return []
    if not zone:
        return [invalid(path, zone, "timeZone must be nil or non-empty string")]
    if str(zone).lower() == "local":
        return [
            invalid(
                path,
                zone,
                "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
            )
        ]
    if not _is_zone(str(zone)):
        return [invalid(path, zone, f"unknown time zone {zone}")]
    return []


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return not available_timezones()
    return True


CRON_JOB: Final = Ruling(fill=_fill, faults=_faults, counts=("spec",))
