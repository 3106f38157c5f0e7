"""A pod that has its place: where it is, and which cards it holds there."""

from __future__ import annotations

from typing import Final

from tangram.engine.frag import FragScores
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.model.pods import PodRef
from tangram.reports import shape
from tangram.reports.answering import place_words
from tangram.reports.evidence import container_reports
from tangram.reports.weighing import held_sets
from tangram.units.ids import NodeName

USUAL_DEFAULTS: Final = Defaults()


def running_report(
    ledger: Ledger,
    pod: PodRef,
    node: NodeName,
    defaults: Defaults = USUAL_DEFAULTS,
    frag: FragScores | None = None,
) -> shape.PodReport:
    """The report about a pod that is bound to a node, from what the ledger charges it with.

    Its cards are weighed as if they were chosen now, by the policies given.
    """
    holding = ledger.holding(pod.uid)
    allocation = None if holding is None else holding.tenant.allocation
    if holding is None or allocation is None or not allocation.cards:
        sentence = f"{pod} has its place already: node {node}; it holds no card of MetaX or Moore Threads."
        return shape.PodReport(pod=str(pod), verdict=shape.RUNS, sentence=sentence, node=node)
    known = ledger.node(allocation.node)
    guess = " (a guess: nobody wrote down which cards)" if holding.tenant.guessed else ""
    return shape.PodReport(
        pod=str(pod),
        verdict=shape.RUNS,
        sentence=f"{pod} has its place already: {place_words(ledger, allocation)}{guess}.",
        node=node,
        containers=container_reports(allocation),
        sets=[] if known is None else held_sets(ledger, holding.tenant, known, defaults, frag),
    )


def ended_report(pod: PodRef) -> shape.PodReport:
    """The report about a pod that is over."""
    sentence = f"{pod} has ended, so it holds no card and waits for none."
    return shape.PodReport(pod=str(pod), verdict=shape.ENDED, sentence=sentence)
