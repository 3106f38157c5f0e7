"""How good each node of a batch would be for the pod, in one number of which larger is better.

The formulas of the `binpack` and `spread` policies are HAMi's, so that the same cluster gets the same node; what
differs is on purpose. Topology is computed from the links and the cards really chosen, so a node whose links nobody
knows no longer beats one whose links are known, and cards shared by init and app containers count once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tangram.engine.choose import Floats, masks_of
from tangram.engine.columns import CLASS_NUMBER, NOT_PUBLISHED, PUBLISHED_SIZES, UNKNOWN_HOST, Bools, Int64s
from tangram.engine.place import Defaults, Placement
from tangram.engine.view import View
from tangram.model.cards import AppClass, Vendor
from tangram.model.requests import Ask, AskKind, NodePolicy, Request

TOPOLOGY_BASE = 2000
"""What HAMi subtracts a node's loss or score from."""
SLICE_FACTOR = 10_000
"""What HAMi multiplies the raw score of slices with, so that it outweighs fullness."""
LINKED_PAIR = 10
UNKNOWN_LINKS = -1e6
"""Below the damage any placement can do, so that a node that says nothing never beats one that does."""
USUAL_CARDS = 8
USUAL_CPU_MILLI = 128_000

OFFLINE_SUSPENDED = -100
ONLINE_NEIGHBOUR = -20
OFFLINE_NEIGHBOUR = -2


def node_scores(view: View, request: Request, placement: Placement, defaults: Defaults) -> Floats:
    """Score of every row under `binpack` or `spread`; rows that do not fit carry meaningless numbers."""
    policy = request.node_policy or defaults.node_policy
    if policy is NodePolicy.BESTFIT:
        return -leftover(view)
    sign = -1.0 if policy is NodePolicy.SPREAD else 1.0
    score = sign * fullness(view)
    asks = [each.step.ask for each in placement.choices]
    if any(ask.kind is AskKind.WHOLE for ask in asks):
        score += _whole_part(view, placement, policy)
    if any(ask.kind is AskKind.SLICE for ask in asks):
        score += SLICE_FACTOR * _slice_part(view, request, placement, defaults)
    return score


def fullness(view: View) -> Floats:
    """How much of each node is in use before the pod: 0 to 30, slots, compute and memory alike."""
    facts, use = view.facts, view.use
    total = np.zeros(view.height)
    for used, capacity in ((use.slots, facts.slots), (use.cores, facts.cores), (use.memory, facts.memory)):
        whole = capacity.sum(axis=1, dtype=np.int64)
        total += np.where(whole > 0, used.sum(axis=1, dtype=np.int64) / np.maximum(whole, 1), 0.0)
    return 10 * total


def idle_cards(view: View) -> Floats:
    """Cards' worth nobody holds, per node: the mean of free memory and free compute."""
    facts, use = view.facts, view.use
    with np.errstate(divide="ignore", invalid="ignore"):
        idle = (facts.memory - use.memory) / facts.memory + (facts.cores - use.cores) / facts.cores
    idle = np.where(facts.present & np.isfinite(idle), idle, 0.0)
    # Card by card: numpy adds in an order that depends on how the view lies in memory, and equal nodes must tie.
    total = np.zeros(view.height)
    for column in range(view.width):
        total += idle[:, column]
    return total / 2


def leftover(view: View) -> Floats:
    """How much room each node has, cards and processors weighed alike on a usual server: the packing tie-breaker."""
    cpu = np.where(view.nodes.cpu_free < UNKNOWN_HOST // 2, view.nodes.cpu_free, 0)
    return idle_cards(view) / USUAL_CARDS + cpu / USUAL_CPU_MILLI


def _whole_part(view: View, placement: Placement, policy: NodePolicy) -> Floats:
    """Topology of whole cards: least damage under binpack, best connected under spread."""
    taken = _taken(placement, AskKind.WHOLE)
    free = masks_of(
        view.facts.present & view.facts.whole & view.facts.healthy & (view.use.slots == 0) | taken
    )
    chosen = masks_of(taken)
    count = taken.sum(axis=1)
    spread = policy is NodePolicy.SPREAD
    part = np.zeros(view.height)
    for number in np.unique(view.nodes.table):
        rows = np.flatnonzero(view.nodes.table == number)
        if number >= 0 and view.tables[int(number)].layout.known:
            table = view.tables[int(number)]
            inside = table.inside_of(chosen[rows])
            if spread:
                part[rows] = inside - TOPOLOGY_BASE
            else:
                left = free[rows] & ~chosen[rows]
                part[rows] = TOPOLOGY_BASE - (table.inside_of(free[rows]) - inside - table.inside_of(left))
        else:
            part[rows] = _published_part(view, rows, count[rows], spread=spread)
    return part


def _published_part(view: View, rows: NDArray[np.intp], count: Int64s, *, spread: bool) -> Floats:
    """The vendor's own figures where the links are unknown; a node without any is the worst, not the best."""
    figures = view.nodes.published_scores if spread else view.nodes.published_losses
    figure = figures[rows, np.minimum(count, PUBLISHED_SIZES - 1)]
    if spread:
        return np.where(figure == NOT_PUBLISHED, 0, figure) - float(TOPOLOGY_BASE)
    return np.where(figure == NOT_PUBLISHED, UNKNOWN_LINKS, TOPOLOGY_BASE - figure)


def _slice_part(view: View, request: Request, placement: Placement, defaults: Defaults) -> Floats:
    taken = _taken(placement, AskKind.SLICE)
    if request.app_class is AppClass.ONLINE:
        return _online_part(view, taken)
    zone_aware = defaults.zone_aware if request.zone_aware is None else request.zone_aware
    exclusive = [each for each in placement.choices if _is_exclusive(each.step.ask)]
    if not zone_aware or not exclusive:
        return np.zeros(view.height)
    return _zone_part(view, np.logical_or.reduce([each.choice.taken for each in exclusive]))


def _online_part(view: View, taken: Bools) -> Floats:
    """Keep online slices off cards where they would suspend others, then off busy cards."""
    online = view.use.classes[:, :, CLASS_NUMBER[AppClass.ONLINE]]
    offline = view.use.classes[:, :, CLASS_NUMBER[AppClass.OFFLINE]]
    per_card = np.where(
        (online == 0) & (offline > 0),
        OFFLINE_SUSPENDED * offline,
        ONLINE_NEIGHBOUR * online + OFFLINE_NEIGHBOUR * offline,
    )
    return np.where(taken, per_card, 0).sum(axis=1).astype(np.float64)


def _zone_part(view: View, taken: Bools) -> Floats:
    """Linked pairs gained, minus linked pairs broken among the idle cards."""
    idle = view.facts.present & (view.use.slots == 0)
    before, chosen = masks_of(idle), masks_of(taken)
    part = np.zeros(view.height)
    for number in np.unique(view.nodes.table):
        if number < 0:
            continue
        rows = np.flatnonzero(view.nodes.table == number)
        pairs = view.tables[int(number)].linked_pairs()
        gained = pairs[chosen[rows]]
        broken = pairs[before[rows]] - gained - pairs[before[rows] & ~chosen[rows]]
        part[rows] = LINKED_PAIR * (10 * gained - broken)
    return part


def _taken(placement: Placement, kind: AskKind) -> Bools:
    return np.logical_or.reduce(
        [each.choice.taken for each in placement.choices if each.step.ask.kind is kind]
    )


def _is_exclusive(ask: Ask) -> bool:
    return (
        ask.kind is AskKind.SLICE and ask.vendor is Vendor.METAX and (ask.cores is None or ask.cores >= 100)
    )
