"""The nodes on which a pod fails, sorted into few kinds of failure.

A cluster of thousands fails in a handful of ways, and whoever waits for the answer of a failed filter cannot wait for
thousands of explanations. So nodes are grouped by what stopped them, in arrays; `explain` looks at single nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangram.engine.arrange import steps_of
from tangram.engine.columns import Bools, CardFacts, CardUse, Int64s, rows_of
from tangram.engine.filter import EVERY_NODE, Candidates, sight
from tangram.engine.fit import Rules
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults, Placement, place
from tangram.engine.view import View
from tangram.model.requests import Ask, Request
from tangram.model.verdicts import CardRule, NodeRule

Positions = NDArray[np.intp]

_ABOUT_CARDS = (NodeRule.CARDS, NodeRule.SCOPE)
_PODS_IN_THE_WAY = (NodeRule.HOST_CPU, NodeRule.HOST_MEMORY, NodeRule.HOST_PODS, NodeRule.HOST_COUNTED)
_NOBODYS_FAULT = (CardRule.FITS, CardRule.ABSENT, CardRule.VENDOR, CardRule.OTHER_CARD)
"""Rules that say nothing about why a card of the right maker is refused."""
_RULE_BITS = 8
_STEP_BITS = 20
_MOST_CARDS = 64
"""Of one node. Nodes with more are looked at one by one."""
_WEIGHTS: Final = np.random.default_rng(20_000).integers(-(2**62), 2**62, (32, _MOST_CARDS), np.int64) | 1
"""Fixed and without a pattern, so that sums of small numbers weighed by them meet by accident only."""


class Failing(NamedTuple):
    """Nodes that fail in the same way."""

    rule: NodeRule
    ask: Ask | None
    """The ask that failed; None for a pod without any, which only a host can refuse."""
    cards: tuple[CardRule, ...]
    """What the cards of such a node say, each rule once, in the order tried; empty where no card was looked at."""
    most: CardRule | None
    """What most of its cards stumble over; of equals the one tried last, whose cards came closest."""
    hopeless: bool
    """Not even an idle node of this kind would do, so that evicting pods there helps nobody."""
    at: Positions
    """Rows of the view."""


def failing_nodes(
    ledger: Ledger, request: Request, defaults: Defaults, candidates: Candidates = EVERY_NODE
) -> tuple[View, list[Failing]]:
    """Place the pod on the candidates, and group those on which it fails."""
    view, start = sight(ledger, request, candidates)
    return view, failures_in(request, defaults, view, place(view, request, defaults, start))


def failures_in(request: Request, defaults: Defaults, view: View, placement: Placement) -> list[Failing]:
    """The rows on which a placement failed, grouped; groups in the order of their first nodes' names."""
    failing = np.flatnonzero((placement.rule != NodeRule.FITS) & view.nodes.live)
    if not failing.size:
        return []
    rule = placement.rule[failing]
    about_cards = np.isin(rule, _ABOUT_CARDS)
    said = np.where(about_cards[:, None], placement.card_rule[failing], np.uint8(CardRule.ABSENT))
    bits = np.bitwise_or.reduce(np.int64(1) << said.astype(np.int64), axis=1, dtype=np.int64)
    most = _most_frequent(said, _rules_in(int(np.bitwise_or.reduce(bits))))
    hopeless = ~about_cards & ~np.isin(rule, _PODS_IN_THE_WAY)
    hopeless[about_cards] = _fail_when_idle(request, defaults, view, failing[about_cards])
    steps = np.where(rule >= NodeRule.NO_SUCH_CARDS, placement.failed_step[failing], 0)
    parts = [(rule, _RULE_BITS), (most, _RULE_BITS), (hopeless, 1), (steps, _STEP_BITS)]
    groups = _grouped(request, failing, parts, bits)
    return sorted(groups, key=lambda group: int(view.nodes.name_rank[group.at].min()))


def _grouped(
    request: Request, failing: Positions, parts: Sequence[tuple[NDArray[np.generic], int]], bits: Int64s
) -> list[Failing]:
    """One group per distinct combination of the parts, each of which fits into so many bits."""
    key = bits
    for values, width in parts:
        key = (key << width) | values.astype(np.int64)
    _, first, inverse, counts = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    members = np.split(np.argsort(inverse, kind="stable"), np.cumsum(counts)[:-1])
    (rule, _), (most, _), (hopeless, _), (step, _) = parts
    asked = steps_of(request)
    groups: list[Failing] = []
    for number in range(counts.size):
        one = int(first[number])
        groups.append(
            Failing(
                rule=NodeRule(int(rule[one])),
                ask=asked[int(step[one])].ask if asked else None,
                cards=_rules_in(int(bits[one])),
                most=CardRule(int(most[one])) or None,
                hopeless=bool(hopeless[one]),
                at=failing[members[number]],
            )
        )
    return groups


def _rules_in(bits: int) -> tuple[CardRule, ...]:
    return tuple(rule for rule in CardRule if bits >> rule & 1 and rule is not CardRule.ABSENT)


def _most_frequent(said: Rules, present: Sequence[CardRule]) -> Rules:
    """Per row the rule that most cards fail; 0 where none says anything."""
    most = np.zeros(said.shape[0], np.uint8)
    highest = np.zeros(said.shape[0], np.int64)
    for rule in present:
        if rule not in _NOBODYS_FAULT:
            times = np.count_nonzero(said == rule, axis=1)
            later = (times >= highest) & (times > 0)
            most[later], highest[later] = rule, times[later]
    return most


def _fail_when_idle(request: Request, defaults: Defaults, view: View, at: Positions) -> Bools:
    """Which of the rows would not do even if nobody used them: asked of the same rules, not guessed from them."""
    if not at.size:
        return np.zeros(0, np.bool_)
    unlike = request.cards.only_uuids or request.cards.not_uuids or view.width > _MOST_CARDS
    make = np.arange(at.size) if unlike else _make(view)[at]
    _, first, alike = np.unique(make, return_index=True, return_inverse=True)
    some = at[first]
    use = CardUse(*(np.zeros_like(rows) for rows in _arrays(rows_of(view.use, some))))
    idle = replace(
        view,
        rows=view.rows[some],
        facts=rows_of(view.facts, some),
        use=use,
        nodes=rows_of(view.nodes, some),
        clock=view.clock[some],
    )
    return ~place(idle, request, defaults, np.zeros(some.size, np.uint8)).fits[alike]


def _make(view: View) -> Int64s:
    """A number per row that two rows share when their nodes, idle, are the same to every pod."""
    told = np.zeros(view.height, np.int64)
    for number, fact in enumerate(_arrays(view.facts)):
        told += fact.astype(np.int64) @ _WEIGHTS[number, : view.width]
    return told * _WEIGHTS[-1, 0] + view.nodes.table


def _arrays(group: CardFacts | CardUse) -> list[NDArray[Any]]:
    return [getattr(group, field.name) for field in fields(group)]
