"""How long ago something was, in a few characters."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.sandbox.apiserver.printing.ages import DAY, HOUR, MINUTE, YEAR, human, moment, since

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
UNITS = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY, "y": YEAR}


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        pytest.param(-2, "<invalid>", id="in the future"),
        pytest.param(-1.9, "0s", id="a clock that is a little ahead"),
        pytest.param(0.9, "0s", id="less than a second"),
        pytest.param(119.9, "119s", id="seconds up to two minutes"),
        pytest.param(120, "2m", id="two minutes"),
        pytest.param(121, "2m1s", id="minutes and seconds"),
        pytest.param(599, "9m59s", id="up to ten minutes"),
        pytest.param(659, "10m", id="minutes alone"),
        pytest.param(3 * HOUR - 1, "179m", id="up to three hours"),
        pytest.param(3 * HOUR, "3h", id="three hours"),
        pytest.param(3 * HOUR + 61, "3h1m", id="hours and minutes"),
        pytest.param(8 * HOUR - 1, "7h59m", id="up to eight hours"),
        pytest.param(2 * DAY - 1, "47h", id="hours up to two days"),
        pytest.param(2 * DAY + 5 * HOUR, "2d5h", id="days and hours"),
        pytest.param(8 * DAY - 1, "7d23h", id="up to eight days"),
        pytest.param(2 * YEAR - 1, "729d", id="days up to two years"),
        pytest.param(2 * YEAR, "2y", id="two years"),
        pytest.param(3 * YEAR + DAY, "3y1d", id="years and days"),
        pytest.param(8 * YEAR, "8y", id="years alone"),
        pytest.param(10**12, "292y", id="the longest span that is told"),
    ],
)
def test_a_span_is_told_in_the_units_that_matter(seconds: float, written: str) -> None:
    assert human(seconds) == written


@given(st.floats(min_value=0, max_value=200 * YEAR))
def test_what_is_told_is_never_longer_and_never_much_shorter_than_the_span(seconds: float) -> None:
    written = human(seconds)
    told, digits = 0, ""
    for sign in written:
        if sign.isdigit():
            digits += sign
        else:
            told, digits = told + int(digits) * UNITS[sign], ""
    assert told <= seconds < told + max(1, told / 7)


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("2026-03-01T11:58:00Z", id="plain"),
        pytest.param("2026-03-01T11:58:00.000000Z", id="microseconds"),
        pytest.param("2026-03-01T11:58:00.000000999Z", id="nanoseconds"),
        pytest.param("2026-03-01T12:58:00+01:00", id="another zone"),
    ],
)
def test_every_spelling_of_a_moment_is_read(written: str) -> None:
    read = moment(written)
    assert read is not None
    assert NOW - read == timedelta(minutes=2)
    assert since(written, NOW) == "2m"


@pytest.mark.parametrize(
    "nothing", [None, "", "0001-01-01T00:00:00Z", "2026-03-01", "2026-02-30T00:00:00Z", "tomorrow", 5, {}]
)
def test_what_names_no_moment_has_no_age(nothing: object) -> None:
    assert since(nothing, NOW) == "<unknown>"
