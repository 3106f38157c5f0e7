"""One pod, all nodes, one answer, with everything needed to say why.

The filter decides the node itself because kube-scheduler breaks ties at random, and random ties cost half of what good
packing gains. It is deterministic: preference, then policy score, then the fullest node, then the smallest name.
`decide` gives the same answer faster when the same kind of pod comes again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangram.engine.allocate import allocation_at
from tangram.engine.choose import Floats
from tangram.engine.columns import Bools, CardModel, Columns, Rows
from tangram.engine.fit import Rules
from tangram.engine.frag import FragScores, vendor_of
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults, Placement, place
from tangram.engine.score import idle_cards, leftover, node_scores
from tangram.engine.shapes import Idle
from tangram.engine.view import View
from tangram.model.allocations import Allocation
from tangram.model.pods import Role
from tangram.model.requests import NodePolicy, Request
from tangram.model.verdicts import NodeRule
from tangram.units.ids import NodeName, PodUid

MOST_RANKED = 10
"""Nodes named with their scores in an answer; the others are counted."""
DEMOTION = 1 << 20
"""Outweighs every sum of preferences: a demoted node is the last resort."""


class Candidates(NamedTuple):
    """Which nodes to decide among, and what to hold against some of them."""

    names: Collection[NodeName] | None = None
    """None: every node there is."""
    demoted: Collection[NodeName] = ()
    """Nodes on which this pod failed a moment ago: taken only when nothing else fits."""
    host_checked: bool = False
    """kube-scheduler has applied the hard host rules already."""


EVERY_NODE = Candidates()


class Ranked(NamedTuple):
    """A node that would do."""

    node: NodeName
    score: float


@dataclass(slots=True)
class Outcome:
    """What the filter found on every node. Windows into live arrays: read at once, do not keep."""

    node: NodeName | None
    allocation: Allocation | None
    view: View
    placement: Placement
    score: Floats
    best: tuple[Ranked, ...] = ()
    """The chosen node and those that come next, at most `MOST_RANKED`."""

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
    view, start = sight(ledger, request, candidates, without=without)
    placement, score = evaluate(view, request, defaults, frag, start)
    outcome = Outcome(None, None, view, placement, score)
    if placement.fits.any():
        if frag is not None and uses_frag(request, defaults):
            idle = idle_by_product(ledger.columns, idle_cards(ledger.view()))
            outcome.score = score = score - prices(ledger, request, frag, idle)[view.nodes.product]
        liking = preferences(ledger, request, candidates, view.rows)
        found = ranked(placement.fits, [liking, score, -leftover(view), -view.nodes.name_rank])
        chosen = int(found[0])
        node = ledger.node_at(int(view.rows[chosen]))
        outcome.node, outcome.best = node.name, named(ledger, view.rows[found], score[found])
        outcome.allocation = allocation_at(node, request, placement, chosen)
    return outcome


def sight(
    ledger: Ledger, request: Request, candidates: Candidates, *, without: Collection[PodUid] = ()
) -> tuple[View, Rules]:
    """The candidates as this pod finds them, and what their hosts say to it before any card is looked at."""
    view = ledger.view(candidates.names, without=(request.pod.uid, *without))
    start = host_room(view, request, host_checked=candidates.host_checked)
    if not candidates.host_checked:
        placing = ledger.placing.verdicts(request.placing).rule[view.rows]
        start = np.where(placing != NodeRule.FITS, placing, start).astype(np.uint8)
    return view, start


def only_reservations_in_the_way(
    ledger: Ledger, request: Request, defaults: Defaults, candidates: Candidates = EVERY_NODE
) -> bool:
    """Whether a pod that fits nowhere would fit if no unbound pod had a promise.

    Such a pod should be tried again in seconds: the promises are either bound or gone by then.
    """
    return filter_nodes(ledger, request, defaults, candidates, without=ledger.reservations()).node is not None


def evaluate(
    view: View, request: Request, defaults: Defaults, frag: FragScores | None, start: Rules
) -> tuple[Placement, Floats]:
    """Place and score the request on every row of the view whose `start` rule is `FITS`.

    Each row's result depends on that row alone, which is what lets `decide` remember it.
    """
    placement = place(view, request, defaults, start)
    if uses_frag(request, defaults):
        return placement, (frag if frag is not None else FragScores()).weigh(view, request, placement)
    return placement, node_scores(view, request, placement, defaults)


def uses_frag(request: Request, defaults: Defaults) -> bool:
    """Whether the room left for expected pods decides the node."""
    return (request.node_policy or defaults.node_policy) is NodePolicy.FRAG


def idle_by_product(columns: Columns, idle: Floats) -> Idle:
    """The cluster's cards by product, given every row's idle cards' worth."""
    height, products = columns.height, len(columns.products.values)
    cards = columns.facts.present[:height].sum(axis=1)
    product = columns.nodes.product[:height]
    return Idle(
        np.bincount(product, weights=cards, minlength=products).astype(np.float64),
        np.bincount(product, weights=idle, minlength=products).astype(np.float64),
    )


def prices(ledger: Ledger, request: Request, frag: FragScores, idle: Idle) -> Floats:
    """Per product, what the `frag` policy charges this pod for taking cards of it."""
    columns = ledger.columns
    # The dearest reading, so that a pod is charged alike whichever model it would take.
    sized = [model for model in columns.models.values if model.memory > 0 and model.cores > 0]
    asked = max((_cards_asked(request, model) for model in sized), default=0.0)
    return frag.prices(columns.models, columns.products.values, idle, asked, vendor_of(request))


def _cards_asked(request: Request, model: CardModel) -> float:
    """Cards' worth of that model the pod would take, containers that end not counted."""
    asks = [
        ask
        for container in request.containers
        if container.role is not Role.INIT
        for ask in container.asks
        if ask.vendor is model.vendor
    ]
    memory = sum(
        ask.count * (ask.memory_percent / 100 if ask.memory is None else ask.memory / model.memory)
        for ask in asks
    )
    cores = sum(
        ask.count * (ask.cores if ask.cores is not None else model.cores) / model.cores for ask in asks
    )
    return max(memory, cores)


def host_room(view: View, request: Request, *, host_checked: bool) -> Rules:
    """Whether the host has the processors and memory the pod asks for; gone nodes fail here too.

    Koordinator's amounts are looked at even where kube-scheduler has been: it is told to leave them to us.
    """
    rule = np.zeros(view.height, np.uint8)
    if request.host.counted:
        rule[lacking_counted(view, request).any(axis=1)] = NodeRule.HOST_COUNTED
    if not host_checked:
        # As kube-scheduler does it: whoever asks for none is not stopped by a host that is oversold.
        if request.host.memory:
            rule[view.nodes.memory_free < request.host.memory] = NodeRule.HOST_MEMORY
        if request.host.cpu_milli:
            rule[view.nodes.cpu_free < request.host.cpu_milli] = NodeRule.HOST_CPU
        rule[view.nodes.pods_free < 1] = NodeRule.HOST_PODS
    rule[~view.nodes.live] = NodeRule.NO_SUCH_CARDS
    return rule


def lacking_counted(view: View, request: Request) -> Bools:
    """Per row and name of `COUNTED`, whether the kubelet would find too little of it. Who asks for none needs none."""
    asked = np.array(request.host.counted, np.int64)
    return (asked > 0) & (view.nodes.counted_free < asked)


def preferences(ledger: Ledger, request: Request, candidates: Candidates, rows: Rows) -> NDArray[np.int32]:
    """How much the pod's soft wishes like each row, with demoted nodes far below all others."""
    liking = ledger.placing.verdicts(request.placing).preference[rows]
    demoted = [row for name in candidates.demoted if (row := ledger.row_of(name)) is not None]
    if demoted:
        liking = liking - np.where(np.isin(rows, demoted), DEMOTION, 0).astype(np.int32)
    return liking


def ranked(fits: Bools, keys: Sequence[NDArray[np.int32] | Floats], most: int = MOST_RANKED) -> Rows:
    """At most so many of the fitting rows, the largest by the keys in turn first.

    Thousands of nodes are not sorted for the sake of ten: each key keeps the rows above the cut, and those at the cut
    go on to the next key.
    """
    kept: list[Rows] = []
    rest = np.flatnonzero(fits)
    for key in keys:
        if rest.size <= most:
            break
        values = key[rest]
        cut = np.partition(values, rest.size - most)[rest.size - most]
        kept.append(rest[values > cut])
        most -= kept[-1].size
        rest = rest[values == cut]
    rows = np.concatenate([*kept, rest[:most]])
    return rows[np.lexsort([key[rows] for key in reversed(keys)])[::-1]]


def named(ledger: Ledger, rows: Rows, scores: Floats) -> tuple[Ranked, ...]:
    """The nodes at those rows of the cluster, each with its score."""
    return tuple(
        Ranked(ledger.node_at(row).name, score)
        for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
    )
