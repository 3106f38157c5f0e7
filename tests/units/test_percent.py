import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.units.percent import ALL, NONE, Percent, PercentError, parse_percent, percent, percent_text


@given(st.integers(0, 100))
def test_whole_numbers_from_0_to_100_are_percents(number: int) -> None:
    assert percent(number) == number
    assert parse_percent(percent_text(Percent(number))) == number


@pytest.mark.parametrize(("number", "nearest"), [(-1, NONE), (101, ALL), (2**40, ALL)])
def test_a_number_outside_is_refused_with_the_nearest_inside(number: int, nearest: Percent) -> None:
    with pytest.raises(PercentError) as refusal:
        percent(number)
    assert refusal.value.code == "percent_range"
    assert (
        str(refusal.value)
        == f"read '{number}': a percentage is a whole number from 0 to 100; write {nearest}"
    )


@pytest.mark.parametrize("text", ["30", "30%", "30 %", " 30 ", "30.0", "+30"])
def test_one_percentage_has_many_spellings(text: str) -> None:
    assert parse_percent(text) == 30


@pytest.mark.parametrize("text", ["", "%", "30.5", "half", "1e1", "3 0", "٣", "9" * 5000])
def test_texts_that_are_no_whole_percentage_are_refused(text: str) -> None:
    with pytest.raises(PercentError) as refusal:
        parse_percent(text)
    assert refusal.value.code == "percent_malformed"


def test_a_text_outside_the_range_is_refused() -> None:
    with pytest.raises(PercentError, match="0 to 100; write 100"):
        parse_percent("101%")
