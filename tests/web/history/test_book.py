"""What is held, added up over time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.dashboards import GIB, card, held, node
from tangram.reports.charging import CARD
from tangram.reports.status_shape import NodeStatus
from tangram.web.history import book as booking
from tangram.web.history.book import LONGEST_HELD_S, Book
from tangram.web.history.records import HOUR_S, KEPT_S

BEGIN = 1_790_000_400.0 // HOUR_S * HOUR_S
FOREVER = float("inf")


def whole(*pods: str) -> NodeStatus:
    return node("gpu-1", *(card(index, held(pod, whole=True)) for index, pod in enumerate(pods)))


def half(pod: str) -> NodeStatus:
    return node("gpu-1", card(0, held(pod, memory=32 * GIB, cores=10), mode="sgpu"))


def test_what_is_held_from_one_change_to_another_is_charged_exactly() -> None:
    book = Book()
    book.advance(BEGIN)
    book.move(None, whole("a/x", "b/y"))
    book.advance(BEGIN + 600)
    book.move(whole("a/x", "b/y"), half("b/y"))
    book.advance(BEGIN + 1800)
    found = {each.namespace: each for each in book.used(0, FOREVER)}
    assert found["a"].card_hours == round(600 / 3600, 6)
    assert found["b"].card_hours == round((600 + 1200 / 2) / 3600, 6)
    assert found["b"].memory_gib_hours == round((600 * 64 + 1200 * 32) / 3600, 6)
    assert found["b"].compute_card_hours == round((600 + 1200 / 10) / 3600, 6)


def test_an_hour_that_ends_in_between_gets_its_own_part() -> None:
    book = Book()
    book.advance(BEGIN + 3000)
    book.move(None, whole("a/x"))
    book.advance(BEGIN + 3000 + 1800)
    assert [(each.hour - BEGIN, each.card_hours) for each in book.used(0, FOREVER)] == [
        (0, round(600 / 3600, 6)),
        (3600, round(1200 / 3600, 6)),
    ]


def test_time_without_an_answer_is_charged_for_an_hour_at_most() -> None:
    book = Book()
    book.capacity = 4
    book.advance(BEGIN)
    book.move(None, whole("a/x"))
    book.advance(BEGIN + 5 * HOUR_S)
    book.advance(BEGIN + 5 * HOUR_S + 60)
    assert sum(each.card_hours for each in book.used(0, FOREVER)) == pytest.approx(1 + 60 / HOUR_S, abs=1e-5)
    assert [(hour.hour - BEGIN, hour.heard_s) for hour in book.hours(0, FOREVER)] == [
        (0, 3600),
        (5 * 3600, 60),
    ]
    assert next(iter(book.hours(0, FOREVER))).card_hours == 4


def test_a_clock_that_was_set_back_charges_nothing_twice() -> None:
    book = Book()
    book.advance(BEGIN + 600)
    book.move(None, whole("a/x"))
    book.advance(BEGIN + 1200)
    book.advance(BEGIN + 300)
    book.advance(BEGIN + 1200)
    assert sum(each.card_hours for each in book.used(0, FOREVER)) == round(600 / 3600, 6)


def test_pods_are_counted_once_in_each_hour_they_hold_something() -> None:
    book = Book()
    book.advance(BEGIN)
    book.move(None, whole("a/x", "a/y"))
    book.move(whole("a/x", "a/y"), whole("a/x"))
    book.move(whole("a/x"), whole("a/x", "a/y"))
    book.move(whole("a/x", "a/y"), whole("a/z"))
    book.advance(BEGIN + HOUR_S)
    book.advance(BEGIN + HOUR_S + 1)
    assert [each.pods for each in book.used(0, FOREVER)] == [3, 1]


def test_hours_older_than_a_month_are_forgotten() -> None:
    book = Book()
    book.advance(BEGIN)
    book.move(None, whole("a/x"))
    for hour in range(1, KEPT_S // HOUR_S + 10):
        book.advance(BEGIN + hour * HOUR_S)
    assert min(book.pages) >= book.at - KEPT_S
    assert len(book.pages) == KEPT_S // HOUR_S + 1


def test_rows_are_bounded_whatever_the_number_of_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(booking, "MOST_ROWS", 20)
    book = Book()
    book.advance(BEGIN)
    book.move(None, whole(*(f"team-{number}/x" for number in range(8))))
    for hour in range(1, 10):
        book.advance(BEGIN + hour * HOUR_S)
    assert sum(len(page.rows) for page in book.pages.values()) <= 20 + 8


def test_arrivals_are_in_the_order_in_which_pods_came() -> None:
    book = Book()
    book.advance(BEGIN)
    book.move(None, whole("a/z"))
    book.move(whole("a/z"), whole("a/z", "a/b"))
    book.move(whole("a/z", "a/b"), whole("a/z", "a/b", "a/a"))
    assert book.arrivals() == ["a/z", "a/b", "a/a"]


@given(
    st.lists(
        st.tuples(st.floats(0.5, 3000), st.lists(st.sampled_from(["a/x", "a/y", "b/z"]), max_size=4)),
        max_size=12,
    )
)
def test_charges_equal_the_integral_of_what_was_held(steps: list[tuple[float, list[str]]]) -> None:
    book, at, now = Book(), BEGIN, None
    expected: dict[str, float] = {}
    book.advance(at)
    for seconds, pods in steps:
        after = whole(*pods) if pods else None
        book.move(now, after)
        now = after
        at += seconds
        book.advance(at)
        for pod in pods:
            expected[pod[0]] = expected.get(pod[0], 0.0) + seconds / HOUR_S
    found: dict[str, float] = {}
    for each in book.used(0, FOREVER):
        found[each.namespace] = found.get(each.namespace, 0.0) + each.card_hours
    assert seconds_of(found) == pytest.approx(seconds_of(expected), abs=1e-4)
    book.move(now, None)
    assert book.rates == {}
    assert book.arrivals() == []
    assert LONGEST_HELD_S > 3000
    assert CARD == 1_000_000


def seconds_of(hours: dict[str, float]) -> dict[str, float]:
    return {name: amount for name, amount in sorted(hours.items()) if amount > 0}
