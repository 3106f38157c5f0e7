"""Where every line, bar and label of a chart goes; `templates/charts.html` draws it.

A chart is as wide as its place and as high as it says: across, everything is in percent, so labels stay as large as the
page's text on a phone. Times are UTC. A hole in the data is a hole in the line. The same figures are in a table beside
each picture, for those who cannot see it or want to copy them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

HEIGHT: Final = 180
"""Of the plot, in CSS pixels."""
ACROSS: Final = 1000
"""Units of a path from left to right."""
MOST_LABELS: Final = 8
_STEPS: Final = (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10)
_TIME_STEPS_S: Final = (
    300,
    900,
    3600,
    3 * 3600,
    6 * 3600,
    12 * 3600,
    86_400,
    2 * 86_400,
    4 * 86_400,
    7 * 86_400,
)
_NONE: Final = "\u2013"
_HOLE: Final = 2.5
"""Steps without a point after which a line ends."""

Texts = Callable[[float], str]


class Label(msgspec.Struct, frozen=True):
    """`at` is percent of the width, or pixels from the top."""

    at: str
    text: str
    minor: bool = False
    """Left out where there is little room."""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    tone: int
    line: str
    area: str


class Spot(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the width that tells its figures when pointed at."""

    x: str
    width: str
    text: str


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    tone: int
    x: str
    width: str
    y: str
    height: str


class Row(msgspec.Struct, frozen=True):
    name: str
    figures: list[str]


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    told: str
    """What it says, in a sentence, for those who do not see it."""
    height: int = HEIGHT
    across: list[Label]
    up: list[Label]
    series: list[Series]
    bars: list[Bar] = []
    spots: list[Spot]
    first: str
    """What the first column of the table is."""
    rows: list[Row]


class Figures(msgspec.Struct, frozen=True):
    """One name and its values; NaN where there is none."""

    name: str
    values: Sequence[float]


def time_chart(
    ident: str,
    title: str,
    told: str,
    *,
    first: str,
    times: Sequence[float],
    figures: Sequence[Figures],
    between: tuple[float, float],
    step: float,
    text: Texts,
    top: float | None = None,
    stacked: bool = False,
) -> Chart:
    """Lines over time, each with the area below it; `stacked`, each stands on the one before."""
    begin, end = between
    width = max(end - begin, 1.0)
    across = [min(max((time - begin) / width, 0.0), 1.0) for time in times]
    layers = _stacked(figures) if stacked else [(each.values, None) for each in figures]
    highest = max((value for values, _ in layers for value in values if not math.isnan(value)), default=0.0)
    limit = _nice_top(highest) if top is None else top
    series = [
        Series(
            name=each.name,
            tone=tone,
            line=" ".join(_line(piece, across, values, limit) for piece in _pieces(times, values, step)),
            area=" ".join(
                _area(piece, across, values, floor, limit) for piece in _pieces(times, values, step)
            ),
        )
        for tone, (each, (values, floor)) in enumerate(zip(figures, layers, strict=True))
    ]
    rows = [
        Row(_moment(time), [_figure(each.values[place], text) for each in figures])
        for place, time in enumerate(times)
    ]
    return Chart(
        id=ident,
        title=title,
        told=told,
        across=_time_labels(begin, end),
        up=_up(limit, text if top is not None else _round),
        series=series,
        spots=[
            Spot(
                x=_percent(at),
                width=_percent(min(step / width, 1 - at) if at < 1 else 0.0),
                text=_spot(row, figures),
            )
            for at, row in zip(across, rows, strict=True)
        ],
        first=first,
        rows=rows,
    )


def bar_chart(
    ident: str,
    title: str,
    told: str,
    *,
    first: str,
    names: Sequence[str],
    figures: Sequence[Figures],
    text: Texts,
) -> Chart:
    """A bar for each name, in which the figures stand on each other."""
    layers = _stacked(figures)
    limit = _nice_top(max((value for values, _ in layers for value in values), default=0.0))
    slot = 1 / max(len(names), 1)
    bars = [
        Bar(
            tone=tone,
            x=_percent(place * slot + slot * 0.14),
            width=_percent(slot * 0.72),
            y=_number(_down(values[place], limit)),
            height=_number(_down(floor[place], limit) - _down(values[place], limit)),
        )
        for tone, (values, floor) in enumerate(layers)
        for place in range(len(names))
        if values[place] > floor[place]
    ]
    rows = [
        Row(name, [_figure(each.values[place], text) for each in figures]) for place, name in enumerate(names)
    ]
    every = -(-len(names) // MOST_LABELS) or 1
    return Chart(
        id=ident,
        title=title,
        told=told,
        across=[
            Label(_percent((place + 0.5) * slot), name, minor=(place // every) % 2 == 1)
            for place, name in enumerate(names)
            if place % every == 0
        ],
        up=_up(limit, _round),
        series=[Series(name=each.name, tone=tone, line="", area="") for tone, each in enumerate(figures)],
        bars=bars,
        spots=[
            Spot(x=_percent(place * slot), width=_percent(slot), text=_spot(row, figures))
            for place, row in enumerate(rows)
        ],
        first=first,
        rows=rows,
    )


_Layer = tuple[Sequence[float], Sequence[float]]


def _stacked(figures: Sequence[Figures]) -> list[_Layer]:
    layers: list[_Layer] = []
    floor: Sequence[float] = [0.0] * (len(figures[0].values) if figures else 0)
    for each in figures:
        values = [below + value for below, value in zip(floor, each.values, strict=True)]
        layers.append((values, floor))
        floor = values
    return layers


def _pieces(times: Sequence[float], values: Sequence[float], step: float) -> list[list[int]]:
    """Runs of points without a hole between them."""
    pieces: list[list[int]] = []
    for place, (time, value) in enumerate(zip(times, values, strict=True)):
        if math.isnan(value):
            continue
        if pieces and pieces[-1][-1] == place - 1 and time - times[place - 1] <= _HOLE * step:
            pieces[-1].append(place)
        else:
            pieces.append([place])
    return pieces


def _line(piece: Sequence[int], across: Sequence[float], values: Sequence[float], limit: float) -> str:
    spots = [f"{_number(across[place] * ACROSS)} {_number(_down(values[place], limit))}" for place in piece]
    # A point by itself is a short dash, or nobody would see it.
    return "M" + "L".join(spots) + ("h3" if len(spots) == 1 else "")


def _area(
    piece: Sequence[int],
    across: Sequence[float],
    values: Sequence[float],
    floor: Sequence[float] | None,
    limit: float,
) -> str:
    def spot(place: int, value: float) -> str:
        return f"{_number(across[place] * ACROSS)} {_number(_down(value, limit))}"

    over = [spot(place, values[place]) for place in piece]
    under = [spot(place, 0.0 if floor is None else floor[place]) for place in reversed(piece)]
    return f"M{'L'.join(over + under)}Z"


def _down(value: float, limit: float) -> float:
    return HEIGHT * (1 - min(max(value / limit, 0.0), 1.0))


def _nice_top(value: float) -> float:
    """The smallest round number that is not less."""
    # Below the smallest normal number no power of ten is left to scale by.
    if not value >= sys.float_info.min or not math.isfinite(value):
        return 1.0
    scale = 10.0 ** math.floor(math.log10(value))
    return next((step * scale for step in _STEPS if step * scale >= value * (1 - 1e-9)), 10 * scale)


def _up(limit: float, text: Texts) -> list[Label]:
    return [Label(_number(HEIGHT * (1 - part)), text(limit * part), part == 0.5) for part in (0.5, 1.0)]


def _time_labels(begin: float, end: float) -> list[Label]:
    width = max(end - begin, 1.0)
    step = next((each for each in _TIME_STEPS_S if width / each <= MOST_LABELS), _TIME_STEPS_S[-1])
    whole_days = step >= 86_400
    first = math.ceil(begin / step) * step
    marks = [first + place * step for place in range(int((end - first) // step) + 1)] if first <= end else []
    return [
        Label(
            _percent((mark - begin) / width),
            datetime.fromtimestamp(mark, UTC).strftime("%m-%d" if whole_days else "%H:%M"),
            place % 2 == 1,
        )
        for place, mark in enumerate(marks)
        # At the very edge half of a label would be cut off.
        if 0.03 < (mark - begin) / width < 0.97
    ]


def _round(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.3g}"


def _moment(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M")


def _figure(value: float, text: Texts) -> str:
    return _NONE if math.isnan(value) else text(value)


def _spot(row: Row, figures: Sequence[Figures]) -> str:
    parts = [f"{each.name} {figure}" for each, figure in zip(figures, row.figures, strict=True)]
    return f"{row.name} · {' · '.join(parts)}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _percent(share: float) -> str:
    return f"{100 * share:.3f}".rstrip("0").rstrip(".") + "%"
