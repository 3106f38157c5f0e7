"""Which nodes to speak of when there are too many to speak of all.

Those a pod would get, and of every way to fail the roomiest: whoever asks why a pod waits learns more from one node of
each kind than from a thousand of the commonest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tangram.engine.failing import Failing
from tangram.engine.filter import Outcome
from tangram.engine.ledger import Ledger
from tangram.engine.view import View
from tangram.units.ids import NodeName


def telling_rows(
    ledger: Ledger, outcome: Outcome, failing: Sequence[Failing], wanted: Iterable[NodeName], most: int
) -> list[int]:
    """At most so many rows of the outcome's view: the wanted, the chosen, the best that fit, and some of each group."""
    view = outcome.view
    live = np.flatnonzero(view.nodes.live)
    if live.size <= most:
        return live.tolist()
    fitting = np.flatnonzero(outcome.placement.fits & view.nodes.live)
    best = fitting[np.lexsort((view.nodes.name_rank[fitting], -outcome.score[fitting]))]
    named = [*wanted, *(() if outcome.node is None else (outcome.node,))]
    half = most // 2 if failing else most
    told = [
        *(at for name in named for at in np.flatnonzero(view.rows == ledger.row_of(name)).tolist()),
        *best[:half].tolist(),
        *roomiest_rows(view, failing, most),
        *best[half:most].tolist(),
    ]
    return list(dict.fromkeys(told))[:most]


def roomiest_rows(view: View, failing: Sequence[Failing], most: int) -> list[int]:
    """At most so many rows on which a pod fails: in turn one of each group, those with most free memory first."""
    room = np.where(view.facts.present & view.facts.healthy, view.facts.memory - view.use.memory, 0).max(
        axis=1, initial=0
    )
    turns: list[tuple[int, int, int]] = []
    for number, group in enumerate(failing):
        ordered = group.at[np.lexsort((view.nodes.name_rank[group.at], -room[group.at]))][:most].tolist()
        turns.extend((turn, number, at) for turn, at in enumerate(ordered))
    return [at for _, _, at in sorted(turns)[:most]]
