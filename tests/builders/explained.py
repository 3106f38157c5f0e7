"""What the engine makes of every node at once, put together from what reports and the scheduler call."""

import numpy as np

from tangram.engine.explain import explanation_of
from tangram.engine.filter import EVERY_NODE, Candidates, filter_nodes
from tangram.engine.frag import FragScores
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.engine.preempt import Preemption, hopeful_nodes, preemption_on
from tangram.model.requests import Request
from tangram.model.verdicts import Explanation

MANY_NODES = 100


def explained(
    ledger: Ledger,
    request: Request,
    defaults: Defaults,
    candidates: Candidates = EVERY_NODE,
    *,
    frag: FragScores | None = None,
) -> Explanation:
    """The filter's decision with its reasons for every live node."""
    outcome = filter_nodes(ledger, request, defaults, candidates, frag=frag)
    return explanation_of(ledger, request, outcome, np.flatnonzero(outcome.view.nodes.live).tolist())


def kindest_preemption(ledger: Ledger, request: Request, defaults: Defaults) -> Preemption | None:
    """The cheapest of all nodes that `hopeful_nodes` names."""
    found = [
        preemption
        for name in hopeful_nodes(ledger, request, defaults, most=MANY_NODES)
        if (preemption := preemption_on(ledger, request, defaults, Candidates(names=(name,)))) is not None
    ]
    return min(found, key=lambda preemption: preemption.cost, default=None)
