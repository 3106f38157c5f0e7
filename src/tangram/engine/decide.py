"""The filter's answer for the price of what changed.

Pods come in kinds: a job's hundred replicas, the same notebook for every researcher. What a node would make of a kind
of pod depends on that node alone, so it is remembered per kind and row, and only rows that changed since are looked at
again. A bind changes one node; the next replica costs one row and a pass over the remembered scores.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np

from tangram.engine.allocate import allocation_at
from tangram.engine.choose import Floats
from tangram.engine.columns import Int64s
from tangram.engine.filter import (
    EVERY_NODE,
    Candidates,
    Ranked,
    evaluate,
    filter_nodes,
    host_room,
    idle_by_product,
    named,
    preferences,
    prices,
    ranked,
    uses_frag,
)
from tangram.engine.fit import Rules
from tangram.engine.frag import FragScores
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults, Placement
from tangram.engine.score import idle_cards, leftover
from tangram.engine.view import UNREMEMBERED
from tangram.model.allocations import Allocation
from tangram.model.pods import PodRef
from tangram.model.requests import Request
from tangram.model.verdicts import NodeRule
from tangram.units.ids import Namespace, NodeName, PodName, PodUid

REMEMBERED_CELLS = 2_000_000
"""Rows times kinds kept, about 35 MB at the most; the kind not seen for longest is forgotten first."""

_NOBODY = PodRef(Namespace(""), PodName(""), PodUid(""))


class Decision(NamedTuple):
    node: NodeName | None
    allocation: Allocation | None
    fitting: int
    """How many nodes would do."""
    best: tuple[Ranked, ...] = ()
    """The chosen node and those that come next."""


@dataclass(slots=True)
class _Kind:
    """What every row makes of one kind of pod, and when that was so."""

    clock: Int64s
    rule: Rules
    score: Floats

    @classmethod
    def unknown(cls, height: int) -> _Kind:
        return cls(np.full(height, UNREMEMBERED, np.int64), np.zeros(height, np.uint8), np.zeros(height))

    def grown(self, height: int) -> _Kind:
        return _copied(self, _Kind.unknown(height))


@dataclass(slots=True)
class _Room:
    """How much room every row has, and when that was so."""

    clock: Int64s
    leftover: Floats
    idle: Floats

    @classmethod
    def unknown(cls, height: int) -> _Room:
        return cls(np.full(height, UNREMEMBERED, np.int64), np.zeros(height), np.zeros(height))

    def grown(self, height: int) -> _Room:
        return _copied(self, _Room.unknown(height))


_Remembered = TypeVar("_Remembered", _Kind, _Room)


def _copied(smaller: _Remembered, larger: _Remembered) -> _Remembered:
    for each in fields(smaller):
        getattr(larger, each.name)[: smaller.clock.size] = getattr(smaller, each.name)
    return larger


class Memo:
    """What is remembered between decisions about one ledger."""

    def __init__(self) -> None:
        self._kinds: dict[Hashable, _Kind] = {}
        self._room = _Room.unknown(0)

    def kind(self, key: Hashable, height: int) -> _Kind:
        found = self._kinds.pop(key, None) or _Kind.unknown(height)
        if found.clock.size < height:
            found = found.grown(height)
        self._kinds[key] = found
        while len(self._kinds) > max(1, REMEMBERED_CELLS // max(height, 1)):
            del self._kinds[next(iter(self._kinds))]
        return found

    def room(self, ledger: Ledger) -> _Room:
        """How much room every row has, whoever asks."""
        rows = ledger.rows()
        if self._room.clock.size < rows.size:
            self._room = self._room.grown(rows.size)
        stale = ledger.stale(rows, self._room.clock)
        if stale.size:
            view = ledger.view_of_rows(stale)
            self._room.leftover[stale], self._room.idle[stale] = leftover(view), idle_cards(view)
            self._room.clock[stale] = view.clock
        return self._room


def decide(
    ledger: Ledger,
    request: Request,
    defaults: Defaults,
    candidates: Candidates = EVERY_NODE,
    *,
    memo: Memo,
    frag: FragScores | None = None,
) -> Decision:
    """The same node and cards as `filter_nodes`, remembering what can be remembered."""
    if ledger.holding(request.pod.uid) is not None:
        # The pod's own reservation counts as free for it alone, so nothing about its node can be shared.
        outcome = filter_nodes(ledger, request, defaults, candidates, frag=frag)
        return Decision(outcome.node, outcome.allocation, outcome.fitting, outcome.best)
    rows, height = ledger.rows(candidates.names), ledger.columns.height
    kind = memo.kind(_key(ledger, request, defaults, candidates, frag), height)
    stale = ledger.stale(rows, kind.clock)
    placement: Placement | None = None
    if stale.size:
        view = ledger.view_of_rows(stale)
        start = host_room(view, request, host_checked=candidates.host_checked)
        placement, kind.score[stale] = evaluate(view, request, defaults, frag, start)
        kind.rule[stale], kind.clock[stale] = placement.rule, view.clock
    fits = kind.rule[rows] == NodeRule.FITS
    if not candidates.host_checked:
        fits &= ledger.placing.verdicts(request.placing).rule[rows] == NodeRule.FITS
    if not fits.any():
        return Decision(None, None, 0)
    room, score = memo.room(ledger), kind.score[rows]
    nodes = ledger.columns.nodes
    if frag is not None and uses_frag(request, defaults):
        idle = idle_by_product(ledger.columns, room.idle[:height])
        score = score - prices(ledger, request, frag, idle)[nodes.product[rows]]
    liking = preferences(ledger, request, candidates, rows)
    keys = [liking, score, -room.leftover[rows], -nodes.name_rank[rows]]
    found = ranked(fits, keys)
    chosen = rows[found[0]]
    at = np.flatnonzero(stale == chosen)
    if placement is None or at.size == 0:
        placement, _ = evaluate(
            ledger.view_of_rows(chosen[None]), request, defaults, frag, np.zeros(1, np.uint8)
        )
    node = ledger.node_at(int(chosen))
    allocation = allocation_at(node, request, placement, int(at[0]) if at.size else 0)
    best = named(ledger, rows[found], score[found])
    return Decision(node.name, allocation, int(np.count_nonzero(fits)), best)


def _key(
    ledger: Ledger, request: Request, defaults: Defaults, candidates: Candidates, frag: FragScores | None
) -> Hashable:
    """Everything beside the row that an evaluation depends on."""
    demand: Hashable = None
    if frag is not None and uses_frag(request, defaults):
        # What a shape asks on average changes with the models of card there are to ask it of.
        demand = frag.generation, len(ledger.columns.models.values)
    listed = ledger.has_any(request.cards.only_uuids)
    return msgspec.structs.replace(request, pod=_NOBODY), defaults, candidates.host_checked, demand, listed
