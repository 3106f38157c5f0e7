"""Usage as one viewer may see it: the same sums for the page and the file.

Namespaces outside the viewer's sight are not in it, not even as a sum: what is left of a cluster after one's own use is
the use of others. Capacity and what was idle of it are for those who may list nodes.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from tangram.web.history.keeping import History, Holds, Hour, Used
from tangram.web.history.records import DAY_S, HOUR_S
from tangram.web.periods import Period
from tangram.web.sight import Sight

MOST_REMEMBERED: Final = 8
"""Answers, each with its rows."""
NOTHING_HELD: Final = Holds(cards=0.0, memory=0, compute=0.0, pods=0)


class Line(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    now: Holds
    card_hours: float
    memory_gib_hours: float
    compute_card_hours: float
    share: float | None = None
    """Of what the cluster's cards could have been used for; None for those who may not know."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    lines: list[Line]
    """Most card-hours first."""
    total: Line
    capacity: float | None = None
    """Card-hours of the whole cluster."""
    idle: float | None = None
    begun: int | None = None
    """The first hour that anything is known of, where that is after the period began."""
    unheard_s: float = 0.0
    """How much of the time since then nobody knew who held what."""


class Usage(NamedTuple):
    uses: Sequence[Used]
    """By hour and namespace, as far as the viewer may see."""
    table: Table


_remembered: Final[WeakKeyDictionary[History, OrderedDict[Hashable, tuple[float, Usage]]]] = (
    WeakKeyDictionary()
)


def usage_of(history: History, sight: Sight, period: Period) -> Usage:
    """Usage in a period, added up once for all who see the same."""
    known = _remembered.setdefault(history, OrderedDict())
    key = sight, period.since, period.until
    at, found = known.pop(key, (None, None))
    if found is None or at != history.charged_until:
        found = _usage(history, sight, period)
    known[key] = (history.charged_until, found)
    while len(known) > MOST_REMEMBERED:
        known.popitem(last=False)
    return found


def uses_of(history: History, sight: Sight, period: Period) -> Sequence[Used]:
    """By hour and namespace, as far as the viewer may see."""
    return usage_of(history, sight, period).uses


def table_of(history: History, sight: Sight, period: Period) -> Table:
    """One line for each namespace that used something in the period or holds something now."""
    return usage_of(history, sight, period).table


def _usage(history: History, sight: Sight, period: Period) -> Usage:
    everybody = history.used(period.since, period.until)
    uses = (
        everybody if sight.everything else [each for each in everybody if sight.of_namespace(each.namespace)]
    )
    held = {name: holds for name, holds in history.held_now().items() if sight.of_namespace(name)}
    hours = history.hours(period.since, period.until)
    capacity = _added(hour.card_hours for hour in hours) if sight.nodes else None
    by_name: dict[str, list[Used]] = {name: [] for name in held}
    for each in uses:
        by_name.setdefault(each.namespace, []).append(each)
    lines = [_line(name, held.get(name, NOTHING_HELD), own, capacity) for name, own in by_name.items()]
    lines.sort(key=lambda line: (-line.card_hours, -line.now.cards, line.namespace))
    table = Table(
        lines=lines,
        total=_line("", _together(list(held.values())), uses, capacity),
        capacity=capacity,
        idle=None
        if capacity is None
        else max(0.0, round(capacity - _added(each.card_hours for each in everybody), 6)),
        begun=_begun(history, period),
        unheard_s=_unheard(hours, history, period),
    )
    return Usage(uses, table)


def buckets_of(
    uses: Sequence[Used], names: Sequence[str], period: Period
) -> tuple[list[int], dict[str, list[float]]]:
    """Card-hours of each name by hour or by day; those of names not given are under the empty one."""
    width = HOUR_S if period.by_hour else DAY_S
    begins = list(range(period.since, period.until, width))
    found = {name: [0.0] * len(begins) for name in (*names, "")}
    for each in uses:
        place = (each.hour - period.since) // width
        if 0 <= place < len(begins):
            found[each.namespace if each.namespace in found else ""][place] += each.card_hours
    return begins, found


def _line(name: str, now: Holds, uses: Sequence[Used], capacity: float | None) -> Line:
    card_hours = _added(each.card_hours for each in uses)
    return Line(
        namespace=name,
        now=now,
        card_hours=card_hours,
        memory_gib_hours=_added(each.memory_gib_hours for each in uses),
        compute_card_hours=_added(each.compute_card_hours for each in uses),
        share=card_hours / capacity if capacity else None,
    )


def _together(held: Sequence[Holds]) -> Holds:
    return Holds(
        cards=_added(each.cards for each in held),
        memory=sum(each.memory for each in held),
        compute=_added(each.compute for each in held),
        pods=sum(each.pods for each in held),
    )


def _added(amounts: Iterable[float]) -> float:
    return round(math.fsum(amounts), 6)


def _begun(history: History, period: Period) -> int | None:
    first = next(iter(history.hours(0)), None)
    return None if first is None or first.hour <= period.since else first.hour


def _unheard(hours: Sequence[Hour], history: History, period: Period) -> float:
    if not hours:
        return 0.0
    first = next(iter(history.hours(0)))
    begin = max(float(period.since), float(first.hour))
    end = min(float(period.until), history.charged_until)
    missing = max(0.0, end - begin - math.fsum(hour.heard_s for hour in hours))
    # Of its first hour nothing was known before the dashboard was begun, which is said already.
    return max(0.0, missing - (HOUR_S - first.heard_s)) if first.hour >= period.since else missing
