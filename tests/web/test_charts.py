"""Where lines, bars and labels of a chart go."""

from __future__ import annotations

import math
import re
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from syrupy.assertion import SnapshotAssertion

from tangram.web.catalogue import said
from tangram.web.charts import HEIGHT, Chart, Figures, bar_chart, time_chart
from tangram.web.language import Language
from tangram.web.rendering import TEMPLATES

DAY = 86_400
NOON = 1_790_000_000 // DAY * DAY + DAY // 2


def drawn(chart: Chart, language: Language = Language.ENGLISH, *, stacked: bool = False) -> str:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    source = '{% import "charts.html" as c with context %}{{ c.chart(chart, stacked=stacked) }}'
    return environment.from_string(source).render(chart=chart, stacked=stacked, t=partial(said, language))


def line(times: list[float], values: list[float]) -> Chart:
    return time_chart(
        "one",
        "Share",
        "It goes up.",
        first="Time",
        times=times,
        figures=[Figures("share", values)],
        between=(NOON - 3600, NOON),
        step=600,
        text=lambda value: f"{value:.0%}",
        top=1.0,
    )


def test_a_line_chart_is_drawn_like_this(snapshot: SnapshotAssertion) -> None:
    chart = line([NOON - 3600 + 600 * step for step in range(6)], [0.0, 0.25, 0.5, math.nan, 0.75, 1.0])
    assert drawn(chart) == snapshot


def test_a_bar_chart_is_drawn_like_this(snapshot: SnapshotAssertion) -> None:
    chart = bar_chart(
        "bars",
        "Card-hours by day",
        "Most on Monday.",
        first="Day",
        names=["Mon", "Tue"],
        figures=[Figures("research", [3.0, 1.5]), Figures("vision", [2.0, 0.0])],
        text=lambda value: f"{value:.1f}",
    )
    assert drawn(chart) == snapshot


def test_nothing_in_a_chart_needs_an_inline_style_or_a_script() -> None:
    text = drawn(line([NOON - 600, NOON], [0.1, 0.2]))
    assert not re.search(r"\sstyle=|\son\w+=|<script|href=", text)


def test_names_are_escaped_wherever_they_appear() -> None:
    chart = bar_chart(
        "bars", "<b>", '"told"', first="&", names=["<i>"], figures=[Figures('<script>"x"', [1.0])], text=str
    )
    text = drawn(chart)
    assert "<script" not in text
    assert "<b>" not in text
    assert "<i>" not in text


def test_a_hole_in_the_data_is_a_hole_in_the_line() -> None:
    chart = line([NOON - 3600, NOON - 3000, NOON - 600, NOON], [0.1, 0.1, 0.2, 0.2])
    assert chart.series[0].line.count("M") == 2
    lonely = line([NOON - 3600, NOON - 600], [0.1, 0.2])
    assert lonely.series[0].line.count("h3") == 2


def test_the_table_has_every_figure_and_says_where_there_is_none() -> None:
    chart = line([NOON - 600, NOON], [0.5, math.nan])
    assert [(row.name, row.figures) for row in chart.rows] == [
        ("2026-09-21 11:50", ["50%"]),
        ("2026-09-21 12:00", ["–"]),  # noqa: RUF001 - the sign for no figure
    ]


@pytest.mark.parametrize(
    ("days", "labels"),
    [pytest.param(1, ("06:00", "12:00"), id="a day"), pytest.param(31, ("08-27", "09-04"), id="a month")],
)
def test_labels_of_time_are_at_round_moments(days: int, labels: tuple[str, ...]) -> None:
    chart = time_chart(
        "one",
        "",
        "",
        first="",
        times=[],
        figures=[Figures("", [])],
        between=(NOON - days * DAY - 7, NOON - 7),
        step=900,
        text=str,
    )
    found = [label.text for label in chart.across]
    assert set(labels) & set(found)
    assert 3 <= len(found) <= 9


@given(st.lists(st.lists(st.floats(0, 1e9) | st.just(0.0), min_size=5, max_size=5), min_size=1, max_size=5))
@example([[5e-324] * 5])
def test_everything_lies_inside_the_plot_and_bars_stand_on_each_other(amounts: list[list[float]]) -> None:
    chart = bar_chart(
        "b",
        "",
        "",
        first="",
        names=list("abcde"),
        figures=[Figures(str(number), values) for number, values in enumerate(amounts)],
        text=lambda value: f"{value:.1f}",
    )
    for bar in chart.bars:
        assert -0.1 <= float(bar.y) <= HEIGHT
        assert float(bar.height) >= 0
        assert float(bar.y) + float(bar.height) <= HEIGHT + 0.2
    assert len(chart.up) == 2
