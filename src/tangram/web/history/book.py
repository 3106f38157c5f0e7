"""Who is charged how much: what each namespace holds, added up over time, hour by hour.

What is held is charged from the answer that said so to the next answer. When no answer comes, pods most likely go on,
so the state is held, for an hour at the most; of the time beyond nothing is charged to anybody, and the hour says that
part of it is not known. Pods are known by name while they hold something and are written down as a number only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from tangram.reports.charging import CARD, NOTHING, Charge, charges_of
from tangram.reports.status_shape import NodeStatus
from tangram.units.memory import GIB
from tangram.web.history.records import HOUR_S, KEPT_S, Holds, Hour, Used

LONGEST_HELD_S: Final = 3600.0
MOST_ROWS: Final = 60_000
"""Hours times namespaces; beyond that the oldest hours go first."""


class Row(msgspec.Struct, array_like=True):
    """One namespace in one hour, in the units of charges times seconds."""

    card: float = 0.0
    memory: float = 0.0
    compute: float = 0.0
    pods: int = 0


class Page(msgspec.Struct, kw_only=True):
    """One hour."""

    heard_s: float = 0.0
    capacity: float = 0.0
    rows: dict[str, Row] = {}


class Book:
    def __init__(self) -> None:
        self.pages: Final[dict[int, Page]] = {}
        """By the beginning of the hour, oldest first."""
        self.at = 0.0
        """Up to when everything is charged; 0.0 before the first answer."""
        self.capacity = 0
        """Cards of the cluster now."""
        self.rates: Final[dict[str, Charge]] = {}
        """What each namespace holds now."""
        self._held: dict[str, int] = {}
        self._pods: Counter[str] = Counter()
        self._left: set[str] = set()
        """Pods that were counted in this hour and hold nothing any more: who comes back is not another."""
        self._hour = 0

    def advance(self, at: float) -> None:
        """Charge what is held for the time up to now. A clock that was set back charges nothing twice."""
        if self.at and at > self.at:
            until = min(at, self.at + LONGEST_HELD_S)
            begin = self.at
            while begin < until:
                hour = int(begin // HOUR_S) * HOUR_S
                end = min(until, float(hour + HOUR_S))
                self._charge(hour, end - begin)
                begin = end
        self.at = max(self.at, at)
        self._turn(int(self.at // HOUR_S) * HOUR_S)
        self._forget()

    def move(self, before: NodeStatus | None, after: NodeStatus | None, *, count: bool = True) -> None:
        """From now on another state of one node is what is held. Whoever does not `count` pods calls `begin_again`."""
        given: list[str] = []
        freed: list[str] = []
        for pod, charge in _charges(after, before):
            self._rate(pod, charge, 1)
            given.append(pod)
        for pod, charge in _charges(before, after):
            self._rate(pod, charge, -1)
            freed.append(pod)
        for pod in given:
            before_it = self._held.get(pod, 0)
            self._held[pod] = before_it + 1
            if not before_it:
                self._arrived(pod, count=count)
        for pod in freed:
            left = self._held.get(pod, 0) - 1
            if left > 0:
                self._held[pod] = left
            elif self._held.pop(pod, None) is not None:
                self._pods[_namespace(pod)] -= 1
                self._left.add(pod)

    def begin_again(self) -> None:
        """After a start: pods that were counted in this hour before it are not counted again."""
        for namespace, pods in self._pods.items():
            row = self._row(self._hour, namespace)
            row.pods = max(row.pods, pods)

    def held_now(self) -> dict[str, Holds]:
        """By namespace."""
        return {
            namespace: Holds(
                cards=charge.card / CARD,
                memory=charge.memory,
                compute=charge.compute / CARD,
                pods=self._pods[namespace],
            )
            for namespace, charge in sorted(self.rates.items())
        }

    def arrivals(self) -> list[str]:
        """Every pod that holds something, in the order in which they were seen to come."""
        return list(self._held)

    def used(self, since: float, until: float) -> Iterator[Used]:
        """By hour and namespace, of the hours that begin in that time."""
        for hour, page in self.pages.items():
            if since <= hour < until:
                for namespace, row in sorted(page.rows.items()):
                    yield Used(
                        hour=hour,
                        namespace=namespace,
                        card_hours=round(row.card / CARD / HOUR_S, 6),
                        memory_gib_hours=round(row.memory / GIB / HOUR_S, 6),
                        compute_card_hours=round(row.compute / CARD / HOUR_S, 6),
                        pods=row.pods,
                    )

    def hours(self, since: float, until: float) -> Iterator[Hour]:
        """The hours that begin in that time and of which something is known."""
        for hour, page in self.pages.items():
            if since <= hour < until:
                yield Hour(hour=hour, heard_s=page.heard_s, card_hours=round(page.capacity / HOUR_S, 6))

    def take(self, at: float, capacity: int, rates: Mapping[str, Charge], pages: Mapping[int, Page]) -> None:
        """Go on from what was kept elsewhere: its state is held until the first answer, like any other."""
        self.at, self.capacity = at, capacity
        self.rates.update(rates)
        self.pages.update(sorted(pages.items()))
        self._hour = int(at // HOUR_S) * HOUR_S

    def _charge(self, hour: int, seconds: float) -> None:
        self._turn(hour)
        page = self.pages.setdefault(hour, Page(rows={}))
        page.heard_s += seconds
        page.capacity += self.capacity * seconds
        for namespace, rate in self.rates.items():
            row = self._row(hour, namespace)
            row.card += rate.card * seconds
            row.memory += rate.memory * seconds
            row.compute += rate.compute * seconds

    def _turn(self, hour: int) -> None:
        """In a new hour everybody who holds something counts anew."""
        if hour == self._hour:
            return
        self._hour = hour
        self._left.clear()
        for namespace, pods in self._pods.items():
            if pods:
                self._row(hour, namespace).pods += pods

    def _arrived(self, pod: str, *, count: bool) -> None:
        namespace = _namespace(pod)
        self._pods[namespace] += 1
        if count and self._hour and pod not in self._left:
            self._row(self._hour, namespace).pods += 1

    def _row(self, hour: int, namespace: str) -> Row:
        rows = self.pages.setdefault(hour, Page(rows={})).rows
        found = rows.get(namespace)
        if found is None:
            found = rows[namespace] = Row()
        return found

    def _rate(self, pod: str, charge: Charge, sign: int) -> None:
        namespace = _namespace(pod)
        before = self.rates.get(namespace, NOTHING)
        after = before.plus(charge) if sign > 0 else before.minus(charge)
        if after == NOTHING:
            self.rates.pop(namespace, None)
        else:
            self.rates[namespace] = after

    def _forget(self) -> None:
        rows = sum(len(page.rows) for page in self.pages.values())
        for hour in list(self.pages):
            if hour >= self.at - KEPT_S and rows <= MOST_ROWS:
                return
            rows -= len(self.pages.pop(hour).rows)


def _charges(node: NodeStatus | None, other: NodeStatus | None) -> Iterable[tuple[str, Charge]]:
    """Of the cards that are not the same in the other."""
    if node is not None:
        same = {card.uuid: card for card in other.cards} if other is not None else {}
        for card in node.cards:
            if card.holders and card != same.get(card.uuid):
                yield from charges_of(card).items()


def _namespace(pod: str) -> str:
    return pod.partition("/")[0]
