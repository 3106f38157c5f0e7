"""Schedules in five fields, as cron knows them: minute, hour, day of month, month, day of week.

Lists, ranges, steps and names of months and days are understood, `@hourly` and its kin too. A day is meant when either
of the two day fields names it, unless one of them is a star: then the other decides.
"""

from __future__ import annotations

import datetime as dt
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
SHORTHANDS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
FURTHEST: Final = dt.timedelta(days=5 * 366)


class Unreadable(ValueError):  # noqa: N818 - says what is the case
    """The text is no schedule; it says why."""


class Schedule(NamedTuple):
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    """Whether one of the day fields is a star, so that the other alone decides."""
    zone: dt.tzinfo

    def after(self, when: dt.datetime) -> dt.datetime | None:
        """The next moment strictly after this one; None if none comes within five years (30 February)."""
        local = when.astimezone(self.zone).replace(second=0, microsecond=0, tzinfo=None) + dt.timedelta(
            minutes=1
        )
        end = local + FURTHEST
        while local < end:
            if local.month not in self.months:
                first = local.replace(day=1, hour=0, minute=0)
                local = (first + dt.timedelta(days=32)).replace(day=1)
            elif not self._is_day(local):
                local = local.replace(hour=0, minute=0) + dt.timedelta(days=1)
            elif local.hour not in self.hours:
                local = local.replace(minute=0) + dt.timedelta(hours=1)
            elif local.minute not in self.minutes:
                local += dt.timedelta(minutes=1)
            else:
                found = local.replace(tzinfo=self.zone).astimezone(dt.UTC)
                if found > when:
                    return found
                local += dt.timedelta(minutes=1)
        return None

    def _is_day(self, local: dt.datetime) -> bool:
        by_date, by_weekday = local.day in self.days, local.isoweekday() % 7 in self.weekdays
        return (by_date and by_weekday) if self.any_day else (by_date or by_weekday)


def read_schedule(text: str, zone: str = "") -> Schedule:
    """Raises `Unreadable`."""
    fields = SHORTHANDS.get(text.strip(), text).split()
    if len(fields) != 5:
        raise Unreadable(f"expected exactly 5 fields, found {len(fields)}: {fields}")
    try:
        place: dt.tzinfo = ZoneInfo(zone) if zone else dt.UTC
    except (KeyError, ValueError, OSError) as error:
        raise Unreadable(f"unknown time zone {zone}") from error
    minute, hour, day, month, weekday = fields
    return Schedule(
        _field(minute, 0, 59),
        _field(hour, 0, 23),
        _field(day, 1, 31),
        _field(month, 1, 12, MONTHS, 1),
        frozenset(number % 7 for number in _field(weekday, 0, 7, DAYS)),
        day[0] in "*?" or weekday[0] in "*?",
        place,
    )


def _field(text: str, least: int, most: int, names: tuple[str, ...] = (), first: int = 0) -> frozenset[int]:
    found: set[int] = set()
    for piece in text.split(","):
        span, slash, step = piece.partition("/")
        if slash and not (step.isdecimal() and int(step)):
            raise Unreadable(f"the step of {piece!r} is no number above 0")
        low, dash, high = span.partition("-")
        if span in ("*", "?"):
            start, end = least, most
        else:
            start = _number(low, names, first)
            # `5/15` means from 5 on.
            end = _number(high, names, first) if dash else (most if slash else start)
        if not least <= start <= end <= most:
            raise Unreadable(f"{piece!r} is not within {least} and {most}")
        found.update(range(start, end + 1, int(step) if slash else 1))
    return frozenset(found)


def _number(text: str, names: tuple[str, ...], first: int) -> int:
    if text.lower() in names:
        return names.index(text.lower()) + first
    if not text.isdecimal():
        raise Unreadable(f"failed to parse int from {text}")
    return int(text)
