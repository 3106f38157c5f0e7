"""Periods, as people may write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.dashboards import NOW
from tangram.web.catalogue import said
from tangram.web.language import Language
from tangram.web.periods import NoPeriod, read_period

DAY = 86_400


def test_without_a_word_it_is_the_last_day_hour_by_hour() -> None:
    period = read_period({}, NOW)
    assert (period.until - period.since, period.since % 3600) == (DAY, 0)
    assert period.since <= NOW < period.until
    assert period.by_hour


@pytest.mark.parametrize(("name", "days"), [("7d", 7), ("31d", 31)])
def test_longer_periods_are_whole_days_and_today(name: str, days: int) -> None:
    period = read_period({"period": name}, NOW)
    assert period.since % DAY == 0
    assert days - 1 < (period.until - period.since) / DAY <= days
    assert not period.by_hour


def test_named_days_are_both_included() -> None:
    period = read_period({"from": "2026-09-01", "to": "2026-09-02"}, NOW)
    assert (period.until - period.since, period.first_day, period.last_day) == (
        2 * DAY,
        "2026-09-01",
        "2026-09-02",
    )
    assert read_period(period.query, NOW) == period


@pytest.mark.parametrize(
    ("query", "part"),
    [
        pytest.param({"period": "8d"}, "can be 24h, 7d, 31d", id="unknown"),
        pytest.param({"from": "yesterday"}, "write it as year-month-day", id="no day"),
        pytest.param({"to": "2026-02-30"}, "write it as year-month-day", id="no such day"),
        pytest.param({"from": "20260901"}, "write it as year-month-day", id="another form"),
        pytest.param({"from": "2026-09-02", "to": "2026-09-01"}, "exchange them", id="backwards"),
        pytest.param({"from": "2026-01-01", "to": "2026-09-01"}, "longer than 32 days", id="long"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_write(query: dict[str, str], part: str) -> None:
    with pytest.raises(NoPeriod) as refused:
        read_period(query, NOW)
    assert part in said(Language.ENGLISH, refused.value.key, **refused.value.values)
    assert said(Language.CHINESE, refused.value.key, **refused.value.values)


@given(st.dictionaries(st.sampled_from(["from", "to", "period"]), st.text(max_size=12)))
def test_any_text_is_a_period_or_a_sentence(query: dict[str, str]) -> None:
    sentence = ""
    try:
        period = read_period(query, NOW)
    except NoPeriod as refused:
        period, sentence = None, said(Language.ENGLISH, refused.key, **refused.values)
    assert sentence or (period is not None and period.since < period.until)
