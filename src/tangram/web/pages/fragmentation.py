"""Idle capacity of no use to the pods that use such cards: now, over time, and under another policy.

What the scheduler worked out is shown as it told it. What is typical and how models differ is worked out here from the
same records, by the same engine in a process of its own (`replay`), when somebody looks.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple

from tangram.web.catalogue import said
from tangram.web.charts import Chart, Figures, time_chart
from tangram.web.history.course import mean_of
from tangram.web.history.keeping import Point
from tangram.web.known import Known
from tangram.web.language import Language
from tangram.web.page import Asked, Shown
from tangram.web.periods import PERIODS, NoPeriod, Period, named_period, read_period
from tangram.web.replay.asking import question_from
from tangram.web.rooms import rooms_in

PATH: Final = "/fragmentation"
WIDTHS_S: Final = (60, 300, 900, 3600, 2 * 3600, 6 * 3600)
"""How wide a point of a chart may be."""
MOST_POINTS: Final = 130
SHORTEST_S: Final = 1800.0
"""That a chart shows, however young the history is."""


class _Way(NamedTuple):
    """The points of a chart, and the time it shows: the period, or as much of it as anything is known of."""

    points: Sequence[Point]
    between: tuple[float, float]
    step: int


async def page(asked: Asked, known: Known) -> Shown:
    """Everything about it, as far as the viewer may see."""
    sight, language, picture = asked.viewer.sight, asked.viewer.language, known.picture
    values: dict[str, Any] = {"periods": list(PERIODS), "period": None, "refused": "", "may_see": sight.nodes}
    if not sight.nodes:
        return Shown(template="fragmentation.html", values=values, status=403)
    try:
        period = _period(asked)
    except NoPeriod as refused:
        wrong = said(language, refused.key, **refused.values)
        return Shown(template="fragmentation.html", values={**values, "refused": wrong}, status=400)
    replays = known.history.replays
    if sight.everything and picture.complete:
        order = known.history.arrivals()
        nodes, waiting, rules = list(picture.nodes.values()), list(picture.waiting.values()), picture.rules
        replays.look(lambda: question_from(nodes, waiting, rules, order), asked.now)
    room = picture.room
    way = _way(known.history.course(period.since), period, asked.now)
    values |= {
        "period": period,
        "room": room,
        "share": room.fragmented / room.idle if room and room.shapes and room.idle > 0 else None,
        "rules": picture.rules,
        "charts": [_share_chart(language, way), _cards_chart(language, way)] if way.points else [],
        "rooms": rooms_in(picture),
        "replay": replays.latest if sight.everything else None,
        "working": replays.working,
        "may_see_typical": sight.everything,
    }
    return Shown(template="fragmentation.html", values=values)


def moment(asked: Asked, known: Known) -> Hashable:
    """A new point, another figure of the scheduler's, or the end of a replay."""
    if not asked.viewer.sight.nodes:
        return 0
    room = known.picture.room
    amounts = (room.idle, room.fragmented, room.without_demand) if room else ()
    told = (*(round(amount, 1) for amount in amounts), room.shapes) if room else None
    replays = known.history.replays.version if asked.viewer.sight.everything else 0
    return known.history.way.last, told, replays


def _period(asked: Asked) -> Period:
    if asked.query.get("from") or asked.query.get("to"):
        read = " ".join(asked.query.get(field, "")[:20] for field in ("from", "to"))
        raise NoPeriod("periods.unknown", read=read, legal=", ".join(PERIODS))
    period = read_period(asked.query, asked.now)
    return named_period(period.name, asked.now)


def _way(points: Sequence[Point], period: Period, now: float) -> _Way:
    first = points[0].at if points else now
    begin = max(float(period.since), min(first, now - SHORTEST_S))
    step = next((width for width in WIDTHS_S if (now - begin) / width <= MOST_POINTS), WIDTHS_S[-1])
    found: dict[int, list[Point]] = {}
    for point in points:
        found.setdefault(int(point.at // step), []).append(point)
    return _Way([mean_of(own) for _, own in sorted(found.items())], (begin, now), step)


def _share_of(point: Point) -> float:
    return min(1.0, point.fragmented / point.idle) if point.typical and point.idle > 0 else math.nan


def _share_chart(language: Language, way: _Way) -> Chart:
    shares = [_share_of(point) for point in way.points]
    known = [share for share in shares if not math.isnan(share)]
    told = (
        said(
            language,
            "fragmentation.share_told",
            least=f"{min(known):.0%}",
            most=f"{max(known):.0%}",
            last=f"{known[-1]:.0%}",
        )
        if known
        else said(language, "fragmentation.not_known")
    )
    return time_chart(
        "frag-share",
        said(language, "fragmentation.share_over_time"),
        told,
        first=said(language, "charts.time"),
        times=[point.at for point in way.points],
        figures=[Figures(said(language, "fragmentation.share"), shares)],
        between=way.between,
        step=way.step,
        text=lambda value: f"{value:.0%}",
        top=1.0,
    )


def _cards_chart(language: Language, way: _Way) -> Chart:
    points = way.points
    last = points[-1]
    told = said(
        language,
        "fragmentation.cards_told",
        taken=f"{_taken(last):,.1f}",
        usable=f"{max(0.0, last.idle - last.fragmented):,.1f}",
        lost=f"{last.fragmented:,.1f}",
    )
    figures = [
        Figures(said(language, "fragmentation.taken"), [_taken(point) for point in points]),
        Figures(
            said(language, "fragmentation.usable"),
            [max(0.0, point.idle - point.fragmented) for point in points],
        ),
        Figures(said(language, "fragmentation.lost"), [point.fragmented for point in points]),
    ]
    return time_chart(
        "frag-cards",
        said(language, "fragmentation.cards_over_time"),
        told,
        first=said(language, "charts.time"),
        times=[point.at for point in way.points],
        figures=figures,
        between=way.between,
        step=way.step,
        text=lambda value: f"{value:,.1f}",
        stacked=True,
    )


def _taken(point: Point) -> float:
    """What is not idle. Not what is charged: of a slice that is the larger of its shares, and would add up to more."""
    return max(0.0, point.cards - point.idle)
