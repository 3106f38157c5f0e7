"""Which time a page is about, as people may write it: a period that ends now, or a first and a last day in UTC.

Everything begins and ends at a full hour, because that is how usage is kept. What cannot be read is refused with the
key of a sentence; another period than the one asked for is never shown in its place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Final

import msgspec

from tangram.web.history.records import DAY_S, HOUR_S

PERIODS: Final = {"24h": 1, "7d": 7, "31d": 31}
"""By name, the days it has."""
USUAL: Final = "24h"
MOST_DAYS: Final = 32
_DAY: Final = re.compile(r"(19[7-9][1-9]|20[0-9]{2})-[0-9]{2}-[0-9]{2}")


class Period(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """Empty for days that were named."""
    since: int
    until: int
    """The first second after it."""
    first_day: str
    last_day: str

    @property
    def by_hour(self) -> bool:
        """Short enough to be shown hour by hour."""
        return self.until - self.since <= 2 * DAY_S

    @property
    def query(self) -> dict[str, str]:
        """What to ask for to get the same again."""
        return {"period": self.name} if self.name else {"from": self.first_day, "to": self.last_day}


class NoPeriod(Exception):  # noqa: N818 - says what is the case
    """What cannot be read, as the key of a sentence and what belongs into it."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key)
        self.key = key
        self.values = values


def read_period(query: Mapping[str, str], now: float) -> Period:
    """The period of a question. Raises `NoPeriod`."""
    first, last, name = (query.get(field, "").strip() for field in ("from", "to", "period"))
    if first or last:
        return _days(first, last, now)
    if (name or USUAL) not in PERIODS:
        raise NoPeriod("periods.unknown", read=name[:40], legal=", ".join(PERIODS))
    return named_period(name or USUAL, now)


def named_period(name: str, now: float) -> Period:
    """One of `PERIODS`: the last day hour by hour, longer ones in whole days, today among them."""
    until = math.ceil((now + 1) / HOUR_S) * HOUR_S
    since = until - DAY_S if name == USUAL else int(now // DAY_S - PERIODS[name] + 1) * DAY_S
    return _period(name, since, until)


def _days(first: str, last: str, now: float) -> Period:
    today = datetime.fromtimestamp(now, UTC).date()
    end = _day(last, "to") if last else today
    begin = _day(first, "from") if first else end - timedelta(days=30)
    if begin > end:
        raise NoPeriod("periods.backwards", first=begin.isoformat(), last=end.isoformat())
    if (end - begin).days >= MOST_DAYS:
        raise NoPeriod("periods.long", first=begin.isoformat(), last=end.isoformat(), most=MOST_DAYS)
    return _period("", _seconds(begin), _seconds(end) + DAY_S)


def _day(text: str, field: str) -> date:
    try:
        day = date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        day = None
    if day is None:
        raise NoPeriod("periods.no_day", field=field, read=text[:40])
    return day


def _seconds(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def _period(name: str, since: int, until: int) -> Period:
    first, last = datetime.fromtimestamp(since, UTC), datetime.fromtimestamp(until - 1, UTC)
    return Period(
        name=name,
        since=since,
        until=until,
        first_day=first.date().isoformat(),
        last_day=last.date().isoformat(),
    )
