"""Capacity that no typical pod can use: how much now, how it went, and what another policy would have made of it.

What the scheduler worked out is shown as it told it. What is typical and how models differ is worked out here from the
same records, by the same engine in a process of its own (`replay`), when somebody looks.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final

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
BUCKETS_S: Final = {"24h": 900, "7d": 2 * 3600, "31d": 6 * 3600}
"""How wide a point of the chart is."""


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
    points = _bucketed(known.history.course(period.since), BUCKETS_S[period.name])
    values |= {
        "period": period,
        "room": room,
        "share": room.fragmented / room.idle if room and room.shapes and room.idle > 0 else None,
        "rules": picture.rules,
        "charts": [
            _share_chart(language, points, period, asked.now),
            _cards_chart(language, points, period, asked.now),
        ]
        if points
        else [],
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
    told = (round(room.idle, 1), round(room.fragmented, 1), room.shapes) if room else None
    replays = known.history.replays.version if asked.viewer.sight.everything else 0
    return known.history.way.last, told, replays


def _period(asked: Asked) -> Period:
    if asked.query.get("from") or asked.query.get("to"):
        read = " ".join(asked.query.get(field, "")[:20] for field in ("from", "to"))
        raise NoPeriod("periods.unknown", read=read, legal=", ".join(PERIODS))
    period = read_period(asked.query, asked.now)
    return named_period(period.name, asked.now)


def _bucketed(points: Iterable[Point], width: int) -> list[Point]:
    found: dict[int, list[Point]] = {}
    for point in points:
        found.setdefault(int(point.at // width), []).append(point)
    return [mean_of(own) for _, own in sorted(found.items())]


def _share_of(point: Point) -> float:
    return min(1.0, point.fragmented / point.idle) if point.typical and point.idle > 0 else math.nan


def _share_chart(language: Language, points: Sequence[Point], period: Period, now: float) -> Chart:
    shares = [_share_of(point) for point in points]
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
        times=[point.at for point in points],
        figures=[Figures(said(language, "fragmentation.share"), shares)],
        between=(period.since, now),
        step=BUCKETS_S[period.name],
        text=lambda value: f"{value:.0%}",
        top=1.0,
    )


def _cards_chart(language: Language, points: Sequence[Point], period: Period, now: float) -> Chart:
    last = points[-1]
    told = said(
        language,
        "fragmentation.cards_told",
        used=f"{last.used:,.1f}",
        usable=f"{max(0.0, last.idle - last.fragmented):,.1f}",
        lost=f"{last.fragmented:,.1f}",
    )
    figures = [
        Figures(said(language, "fragmentation.used"), [point.used for point in points]),
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
        times=[point.at for point in points],
        figures=figures,
        between=(period.since, now),
        step=BUCKETS_S[period.name],
        text=lambda value: f"{value:,.1f}",
        stacked=True,
    )
