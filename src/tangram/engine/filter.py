"""One pod, all nodes, one answer.

The filter decides the node itself because kube-scheduler breaks ties at random, and random ties cost half of what good
packing gains. It is deterministic: preference, then policy score, then the fullest node, then the smallest name.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangram.engine.allocate import allocation_at
from tangram.engine.choose import Floats
from tangram.engine.columns import Bools
from tangram.engine.fit import Rules
from tangram.engine.frag import FragScores
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults, Placement, place
from tangram.engine.score import leftover, node_scores
from tangram.engine.view import View
from tangram.model.allocations import Allocation
from tangram.model.requests import NodePolicy, Request
from tangram.model.verdicts import NodeRule
from tangram.units.ids import NodeName, PodUid


class Candidates(NamedTuple):
    """Which nodes to decide among, and what to hold against some of them."""

    names: Collection[NodeName] | None = None
    """None: every node there is."""
    demoted: Collection[NodeName] = ()
    """Nodes on which this pod failed a moment ago: taken only when nothing else fits."""
    host_checked: bool = False
    """kube-scheduler has applied the hard host rules already."""


EVERY_NODE = Candidates()


@dataclass(slots=True)
class Outcome:
    """What a filter call found. `view` and `placement` are for `explain`, at once."""

    node: NodeName | None
    allocation: Allocation | None
    view: View
    placement: Placement
    score: Floats
    chosen: int
    """Row of the view, -1 when nothing fits."""

    @property
    def fitting(self) -> int:
        return int(np.count_nonzero(self.placement.fits))


def filter_nodes(
    ledger: Ledger,
    request: Request,
    defaults: Defaults,
    candidates: Candidates = EVERY_NODE,
    *,
    frag: FragScores | None = None,
    without: Collection[PodUid] = (),
) -> Outcome:
    """Find the node and the cards for a request. Whatever the pod itself holds already counts as free."""
    view = ledger.view(candidates.names, without=(request.pod.uid, *without))
    start, preference = _host_side(ledger, view, request, host_checked=candidates.host_checked)
    placement = place(view, request, defaults, start)
    fits = placement.fits
    if not fits.any():
        return Outcome(None, None, view, placement, np.zeros(view.height), -1)
    policy = request.node_policy or defaults.node_policy
    if policy is NodePolicy.FRAG:
        frag = frag if frag is not None else FragScores()
        scores = frag.weigh(view, request, placement)
    else:
        scores = node_scores(view, request, placement, defaults)
    if candidates.demoted:
        rows = {ledger.row_of(name) for name in candidates.demoted}
        preference = preference - np.where(
            np.isin(view.rows, [row for row in rows if row is not None]), 1 << 20, 0
        )
    chosen = _winner(fits, [preference, scores, -leftover(view), -view.nodes.name_rank])
    node = ledger.node_at(int(view.rows[chosen]))
    return Outcome(
        node.name, allocation_at(node, request, placement, chosen), view, placement, scores, chosen
    )


def _host_side(
    ledger: Ledger, view: View, request: Request, *, host_checked: bool
) -> tuple[Rules, NDArray[np.int32]]:
    verdicts = ledger.placing.verdicts(request.placing)
    preference = verdicts.preference[view.rows]
    if host_checked:
        rule = np.zeros(view.height, np.uint8)
    else:
        rule = verdicts.rule[view.rows]
        passing = rule == NodeRule.FITS
        rule[passing & (view.nodes.memory_free < request.host.memory)] = NodeRule.HOST_MEMORY
        rule[passing & (view.nodes.cpu_free < request.host.cpu_milli)] = NodeRule.HOST_CPU
    rule[~view.nodes.live] = NodeRule.NO_SUCH_CARDS
    return rule, preference


def _winner(fits: Bools, keys: list[NDArray[np.generic]]) -> int:
    """The row that is largest by the keys in turn."""
    rows = np.flatnonzero(fits)
    for key in keys:
        values = key[rows]
        rows = rows[values == values.max()]
        if rows.size == 1:
            break
    return int(rows[0])
