import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.units.durations import DurationError, age_text, duration_text, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5s", 5),
        ("1h30m", 5400),
        ("1w", 604_800),
        ("26w", 15_724_800),
        ("1d", 86_400),
        ("1.5h", 5400),
        ("250ms", 0.25),
        ("5m", 300),
        ("5m3s20ms", 303.02),
        ("1w1d1h1m1s1ms", 694_861.001),
        ("0", 0),
        ("0s", 0),
        (" 5s ", 5),
    ],
)
def test_durations_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


def test_whole_seconds_are_an_int() -> None:
    assert isinstance(parse_duration("1.5h"), int)
    assert isinstance(parse_duration("1500ms"), float)


@pytest.mark.parametrize(
    "text", ["", "s", "5", "-5s", "1m1h", "1h1h", "5 s", "1y", "5S", "1e3s", "1h 30m", "5sec"]
)
def test_texts_that_are_no_duration_are_refused(text: str) -> None:
    with pytest.raises(DurationError, match="units of w, d, h, m, s or ms") as refusal:
        parse_duration(text)
    assert refusal.value.code == "duration_malformed"


def test_a_bare_number_is_answered_with_the_units_it_may_have_meant() -> None:
    with pytest.raises(DurationError, match=r"; write 30s or 30m$"):
        parse_duration("30")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5400, "1h30m"), (0, "0s"), (0.25, "250ms"), (15_724_800, "26w"), (90061.5, "1d1h1m1s500ms")],
)
def test_durations_as_settings_write_them(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@given(st.integers(0, 10**12))
def test_writing_and_reading_back_loses_nothing(milliseconds: int) -> None:
    assert round(parse_duration(duration_text(milliseconds / 1000)) * 1000) == milliseconds


def test_a_negative_duration_is_refused() -> None:
    with pytest.raises(DurationError, match="never negative"):
        duration_text(-1)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.9, "0 s"),
        (45, "45 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (239, "3 min"),
        (7200, "2 h"),
        (86_399, "23 h"),
        (5 * 86_400, "5 d"),
        (13 * 86_400, "13 d"),
        (14 * 86_400, "2 w"),
        (-0.5, "0 s"),
        (-200, "in 3 min"),
    ],
)
def test_ages_are_told_in_the_largest_whole_unit_that_has_passed(seconds: float, text: str) -> None:
    assert age_text(seconds) == text
