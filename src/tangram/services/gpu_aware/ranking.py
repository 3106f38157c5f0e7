"""From what nodes are worth to the scores an extender may give, which are whole numbers from 0 to 10.

The best node gets 10, the next best 9, and so on: a scale that followed the distances would give the two best nodes of
a large cluster the same score, and leave the choice between them to whoever does not see topology. Equally good nodes
are scored alike. A node nobody knows anything about gets 0, and so never beats or equals one that is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from tangram.services.gpu_aware.standing import Worth
from tangram.wire.gpu_aware_weights import Weights

BEST: Final = 10
LEAST: Final = 1
"""Of the nodes that are known."""
UNKNOWN: Final = 0


def scores(worths: Mapping[str, Worth | None], weights: Weights) -> dict[str, int]:
    """A score for every node, in the order they came."""
    values = {node: None if worth is None else value(worth, weights) for node, worth in worths.items()}
    ladder = sorted({each for each in values.values() if each is not None}, reverse=True)
    rungs = {each: max(BEST - rung, LEAST) for rung, each in enumerate(ladder)}
    return {node: UNKNOWN if each is None else rungs[each] for node, each in values.items()}


def value(worth: Worth, weights: Weights) -> Decimal:
    """What topology says of a node; larger is better."""
    return weights.score * worth.score - weights.loss * worth.loss
