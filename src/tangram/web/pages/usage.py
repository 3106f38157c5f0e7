"""Who used how much: cards, memory and compute, added up over time by namespace."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from tangram.web.catalogue import counted, said
from tangram.web.charts import Chart, Figures, bar_chart
from tangram.web.history.keeping import Used
from tangram.web.known import Known
from tangram.web.language import Language
from tangram.web.page import Asked, Shown
from tangram.web.periods import PERIODS, USUAL, NoPeriod, Period, read_period
from tangram.web.usage_table import Table, buckets_of, table_of, uses_of

PATH: Final = "/usage"
MOST_IN_CHART: Final = 4
"""Namespaces that have a texture of their own."""
_TEN_SECONDS: Final = 10
_MINUTE: Final = 60


async def page(asked: Asked, known: Known) -> Shown:
    """The table and the chart of one period."""
    language, sight = asked.viewer.language, asked.viewer.sight
    values: dict[str, Any] = {
        "periods": list(PERIODS),
        "period": None,
        "refused": "",
        "may_know_all": sight.nodes,
    }
    try:
        period = read_period(asked.query, asked.now)
    except NoPeriod as refused:
        wrong = said(language, refused.key, **refused.values)
        return Shown(template="usage.html", values={**values, "refused": wrong}, status=400)
    table = table_of(known.history, sight, period)
    chart = _chart(language, table, uses_of(known.history, sight, period), period)
    values |= {"period": period, "table": table, "chart": chart, "unheard": _unheard(language, table)}
    return Shown(template="usage.html", values=values)


def moment(asked: Asked, known: Known) -> Hashable:
    """Sums grow all the time; nobody needs to see that more often than this."""
    every = _TEN_SECONDS if asked.query.get("period", USUAL) == USUAL else _MINUTE
    return int(known.history.charged_until // every)


def _chart(language: Language, table: Table, uses: Sequence[Used], period: Period) -> Chart:
    names = [line.namespace for line in table.lines if line.card_hours > 0][:MOST_IN_CHART]
    begins, found = buckets_of(uses, names, period)
    figures = [Figures(name, found[name]) for name in names]
    if any(found[""]):
        figures.append(Figures(said(language, "usage.rest"), found[""]))
    form = "%H:%M" if period.by_hour else "%m-%d"
    return bar_chart(
        "usage",
        said(language, "usage.chart_by_hour" if period.by_hour else "usage.chart_by_day"),
        _told(language, begins, found),
        first=said(language, "usage.hour" if period.by_hour else "usage.day"),
        names=[datetime.fromtimestamp(begin, UTC).strftime(form) for begin in begins],
        figures=figures or [Figures(said(language, "usage.card_hours"), [0.0] * len(begins))],
        text=lambda value: f"{value:,.1f}",
    )


def _told(language: Language, begins: Sequence[int], found: Mapping[str, Sequence[float]]) -> str:
    sums = [sum(values[place] for values in found.values()) for place in range(len(begins))]
    most = max(range(len(begins)), key=lambda place: sums[place])
    return said(
        language,
        "usage.chart_told",
        total=f"{sum(sums):,.1f}",
        most=f"{sums[most]:,.1f}",
        when=datetime.fromtimestamp(begins[most], UTC).strftime("%Y-%m-%d %H:%M"),
    )


def _unheard(language: Language, table: Table) -> str:
    minutes = int(table.unheard_s // 60)
    return counted(language, "usage.unheard", minutes) if minutes else ""
