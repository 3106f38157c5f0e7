"""Cron schedules: read as cron reads them, and the moments that follow."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.sandbox.controllers.cron_jobs import last_before
from tangram.sandbox.controllers.cron_schedule import Unreadable, read_schedule


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        pytest.param("* * * * *", "2026-03-01T10:00:30", "2026-03-01T10:01", id="every minute"),
        pytest.param("*/15 * * * *", "2026-03-01T10:45", "2026-03-01T11:00", id="every quarter"),
        pytest.param("5/20 * * * *", "2026-03-01T10:06", "2026-03-01T10:25", id="from five on"),
        pytest.param("0 9-17/4 * * *", "2026-03-01T13:00", "2026-03-01T17:00", id="hours in steps"),
        pytest.param("30 4 1,15 * *", "2026-03-02T00:00", "2026-03-15T04:30", id="two days of the month"),
        pytest.param("0 0 * * sun", "2026-03-02T00:00", "2026-03-08T00:00", id="Sundays by name"),
        pytest.param("0 0 * * 7", "2026-03-02T00:00", "2026-03-08T00:00", id="Sundays as seven"),
        pytest.param("0 0 13 * 5", "2026-03-01T00:00", "2026-03-06T00:00", id="a Friday or a thirteenth"),
        pytest.param("0 0 1 feb *", "2026-03-01T00:00", "2027-02-01T00:00", id="a month by name"),
        pytest.param("0 0 29 2 *", "2026-03-01T00:00", "2028-02-29T00:00", id="a leap day"),
        pytest.param("@hourly", "2026-03-01T10:00", "2026-03-01T11:00", id="a shorthand"),
    ],
)
def test_the_next_moment_is_the_one_cron_means(schedule: str, after: str, expected: str) -> None:
    assert read_schedule(schedule).after(at(after)) == at(expected)


def test_a_day_that_never_comes_has_no_next_moment() -> None:
    assert read_schedule("0 0 30 2 *").after(at("2026-01-01T00:00")) is None


def test_a_time_zone_moves_the_moment() -> None:
    assert read_schedule("0 8 * * *", "Asia/Shanghai").after(at("2026-03-01T00:00")) == at("2026-03-02T00:00")


@pytest.mark.parametrize(
    ("schedule", "zone", "why"),
    [
        pytest.param("* * * *", "", "expected exactly 5 fields, found 4", id="four fields"),
        pytest.param("60 * * * *", "", "'60' is not within 0 and 59", id="no such minute"),
        pytest.param("5-2 * * * *", "", "'5-2' is not within", id="backwards"),
        pytest.param("*/0 * * * *", "", "no number above 0", id="no step"),
        pytest.param("x * * * *", "", "failed to parse int from x", id="a word"),
        pytest.param("* * * * *", "Nowhere/City", "unknown time zone Nowhere/City", id="no such zone"),
    ],
)
def test_what_is_no_schedule_is_refused_with_its_reason(schedule: str, zone: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why.replace("*", r"\*")):
        read_schedule(schedule, zone)


@given(
    st.datetimes(dt.datetime(2026, 1, 1), dt.datetime(2027, 12, 31), timezones=st.just(dt.UTC)),  # noqa: DTZ001 - given below
    st.integers(0, 59),
    st.integers(0, 23),
)
def test_moments_come_strictly_later_and_match(when: dt.datetime, minute: int, hour: int) -> None:
    found = read_schedule(f"{minute} {hour} * * *").after(when)
    assert found is not None
    assert found > when
    assert (found.minute, found.hour, found.second) == (minute, hour, 0)
    assert found - when <= dt.timedelta(days=1)


def test_of_many_missed_moments_the_last_is_found() -> None:
    schedule = read_schedule("*/10 * * * *")
    assert last_before(schedule, at("2026-03-01T00:00"), at("2026-03-01T05:39")) == at("2026-03-01T05:30")
    assert last_before(schedule, at("2026-03-01T05:31"), at("2026-03-01T05:39")) is None
