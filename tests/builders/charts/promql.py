"""As much of PromQL as dashboards and alerts use, read to know which series a query asks for and which labels come out.

It refuses what Prometheus would refuse or answer with nothing: a metric or label that nobody tells, a label summed away
and asked for later, two sides of a division that never match, a rate without a range.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

Series = Mapping[str, frozenset[str]]
"""The labels of every series there is."""

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<text>\"[^\"]*\")|(?P<word>[A-Za-z_:][\w:]*)"
    r"|(?P<range>\[[^\]]+\])|(?P<sign>==|!=|>=|<=|=~|!~|[-+*/(){},=<>]))"
)
_SUMS: Final = frozenset({"sum", "max", "min", "avg", "count"})
_CHOOSE: Final = frozenset({"topk", "bottomk"})
_RATES: Final = frozenset({"rate", "increase"})
_OF_GAUGES: Final = frozenset({"delta"})
_OF_COUNTERS: Final = ("_total", "_bucket", "_count", "_sum")
_BINARY: Final = frozenset({"+", "-", "*", "/", "==", "!=", ">", "<", ">=", "<=", "or", "and"})
_MATCH: Final = frozenset({"=", "!=", "=~", "!~"})

Labels = frozenset[str] | None
"""Of what comes out; none for a number."""


class Unanswerable(ValueError):  # noqa: N818 - says what is the case
    """No series would answer the query, and why."""


def labels_of(query: str, series: Series) -> Labels:
    """The labels that the answer has. Raises `Unanswerable`."""
    reading = _Reading(query, series)
    found = reading.expression()
    reading.end()
    return found


class _Reading:
    def __init__(self, query: str, series: Series) -> None:
        self._query, self._series = query, series
        self._tokens: list[str] = []
        place = 0
        while query[place:].strip():
            token = _TOKEN.match(query, place)
            if token is None:
                raise Unanswerable(f"{query[place : place + 20]!r} cannot be read in {query}")
            self._tokens.append(token[0].strip())
            place = token.end()
        self._next = 0

    def end(self) -> None:
        if self._peek():
            raise self._wrong(f"{self._peek()!r} stands where the query should end")

    def expression(self) -> Labels:
        left = self._term()
        while (sign := self._peek()) in _BINARY:
            self._take()
            on = self._names() if self._peek() == "on" and self._take() else None
            right = self._term()
            both = left is not None and right is not None
            matched = left == right if on is None else on <= (left or on) and on <= (right or on)
            if both and sign != "or" and not matched:
                raise self._wrong(f"{sign} never matches {_shown(left)} with {_shown(right)}")
            left = right if left is None else left
        return left

    def _term(self) -> Labels:
        first = self._take()
        if first == "(":
            inner = self.expression()
            self._expect(")")
            return inner
        if first[0].isdigit():
            return None
        if first in _SUMS or first in _CHOOSE:
            return self._aggregation(first)
        if self._peek() == "(":
            return self._call(first)
        return self._selector(first, ranged=False)

    def _aggregation(self, word: str) -> Labels:
        kept = self._names() if self._peek() == "by" and self._take() else frozenset[str]()
        self._expect("(")
        if word in _CHOOSE:
            self._take()
            self._expect(",")
        inner = self.expression()
        self._expect(")")
        if inner is None:
            raise self._wrong(f"{word} of a number")
        if missing := kept - inner:
            raise self._wrong(f"{word} by {_shown(missing)}, which its series do not have: {_shown(inner)}")
        return inner if word in _CHOOSE else kept

    def _call(self, word: str) -> Labels:
        self._expect("(")
        if word in _RATES or word in _OF_GAUGES:
            metric = self._take()
            if metric.endswith(_OF_COUNTERS) != (word in _RATES):
                raise self._wrong(f"{word} is not for {metric}: counters have a rate, gauges a delta")
            found: Labels = self._selector(metric, ranged=True)
        elif word == "absent":
            self.expression()
            found = frozenset()
        elif word == "histogram_quantile":
            self._take()
            self._expect(",")
            inner = self.expression()
            if inner is None or "le" not in inner:
                raise self._wrong("histogram_quantile without le")
            found = inner - {"le"}
        elif word == "vector":
            self._take()
            found = frozenset()
        else:
            raise self._wrong(f"{word} is no function that is known here")
        self._expect(")")
        return found

    def _selector(self, metric: str, *, ranged: bool) -> frozenset[str]:
        if metric not in self._series:
            raise self._wrong(f"nobody tells {metric}")
        if self._peek() == "{":
            self._take()
            while self._peek() != "}":
                label, match, value = self._take(), self._take(), self._take()
                if match not in _MATCH or value[0] != '"':
                    raise self._wrong(f"{label}{match}{value} is no comparison of a label")
                if label not in self._series[metric]:
                    raise self._wrong(f"{metric} has no label {label}")
                if self._peek() == ",":
                    self._take()
            self._take()
        if self._peek().startswith("[") != ranged:
            raise self._wrong(f"{metric} {'needs a' if ranged else 'has a needless'} range")
        if ranged:
            self._take()
        return self._series[metric]

    def _names(self) -> frozenset[str]:
        self._expect("(")
        found: set[str] = set()
        while (word := self._take()) != ")":
            if word != ",":
                found.add(word)
        return frozenset(found)

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        if not token:
            raise self._wrong("it ends in the middle")
        self._next += 1
        return token

    def _expect(self, sign: str) -> None:
        if (token := self._take()) != sign:
            raise self._wrong(f"{token!r} stands where {sign!r} should")

    def _wrong(self, why: str) -> Unanswerable:
        return Unanswerable(f"{why}, in {self._query}")


def _shown(labels: Labels) -> str:
    return "(" + ", ".join(sorted(labels or ())) + ")"
