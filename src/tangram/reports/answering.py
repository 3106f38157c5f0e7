"""From a pod and a cluster to the report: admission, the engine's explanation, and what would help."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from tangram.engine.explain import explanation_of
from tangram.engine.failing import Failing, failures_in
from tangram.engine.filter import EVERY_NODE, Candidates, Outcome, filter_nodes
from tangram.engine.frag import FragScores
from tangram.engine.ledger import Ledger
from tangram.engine.nearest import roomiest_rows, telling_rows
from tangram.engine.place import Defaults
from tangram.engine.suggest import suggest
from tangram.model.allocations import Allocation
from tangram.model.refusals import Caution, Refusal
from tangram.model.requests import CardOrder, NodePolicy, Request
from tangram.model.verdicts import Suggestion
from tangram.reports import shape
from tangram.reports.evidence import container_reports, node_reports
from tangram.reports.seeing import SOMEBODY, Sees, everything
from tangram.reports.weighing import card_sets
from tangram.reports.words import coded_reasons, given, listed, nothing_fits, plural
from tangram.units.ids import NodeName
from tangram.vendors.admission import Admission

NO_LIMIT: Final = 1 << 31


class Question(NamedTuple):
    """A pod as it was read, and what to assume about it."""

    pod: str
    admission: Admission
    resources: tuple[str, ...] = ()
    """What its containers name, for a pod that asks for no card of ours."""


class Manner(NamedTuple):
    """How to answer."""

    defaults: Defaults = Defaults()
    node_policy: NodePolicy | None = None
    card_order: tuple[CardOrder, ...] = ()
    """These two beat what the pod says."""
    frag: FragScores | None = None
    suggestions: bool = True
    sees: Sees = everything
    most_nodes: int = NO_LIMIT
    """Nodes reported card by card; all of them are counted in the reasons."""
    most_tried: int = NO_LIMIT
    """Nodes on which changes are tried before they are suggested."""
    wanted: tuple[NodeName, ...] = ()
    """Nodes to be among those reported."""


def answer(ledger: Ledger, question: Question, manner: Manner) -> shape.PodReport:
    """Where the pod would go and why, or why it would not."""
    admission = question.admission
    cautions = remarks(admission.cautions)
    if admission.refusals:
        return shape.PodReport(
            pod=question.pod,
            verdict=shape.REFUSED,
            sentence=f"{question.pod} is refused: {plural(len(admission.refusals), 'fault')}.",
            refusals=remarks(admission.refusals),
            cautions=cautions,
        )
    if admission.request is None:
        resources = f" (it names {listed(question.resources)})" if question.resources else ""
        asks = f"{question.pod} asks for no card of MetaX or Moore Threads{resources}"
        sentence = f"{asks}, so there is nothing to place."
        return shape.PodReport(pod=question.pod, verdict=shape.NO_CARDS, sentence=sentence, cautions=cautions)
    request = msgspec.structs.replace(
        admission.request,
        node_policy=manner.node_policy or admission.request.node_policy,
        card_order=manner.card_order or admission.request.card_order,
    )
    return msgspec.structs.replace(_placed(ledger, question.pod, request, manner), cautions=cautions)


def _placed(ledger: Ledger, pod: str, request: Request, manner: Manner) -> shape.PodReport:
    defaults = manner.defaults
    outcome = filter_nodes(ledger, request, defaults, frag=manner.frag)
    failing = failures_in(request, defaults, outcome.view, outcome.placement)
    rows = telling_rows(ledger, outcome, failing, manner.wanted, manner.most_nodes)
    explanation = explanation_of(ledger, request, outcome, rows)
    told = coded_reasons(failing)
    reasons = [(each.sentence, each.nodes) for each in told]
    fits = outcome.node is not None and outcome.allocation is not None
    advice = _advice(ledger, request, manner, outcome, failing) if manner.suggestions and not fits else ()
    return shape.PodReport(
        pod=pod,
        verdict=shape.FITS if fits else shape.WAITS,
        sentence=f"{pod} fits: {place_words(ledger, outcome.allocation)}."
        if outcome.allocation is not None
        else f"{pod} waits, because {nothing_fits(reasons)}.",
        node=outcome.node,
        node_policy=request.node_policy or defaults.node_policy,
        card_policy=[*(request.card_order or defaults.card_order)],
        containers=container_reports(outcome.allocation),
        reasons=[shape.Reason(each.sentence, each.nodes, each.code) for each in told],
        nodes=[
            _with_sets(ledger, request, each, manner) if each.chosen else each
            for each in node_reports(ledger, request, explanation, manner.sees)
        ],
        nodes_left_out=outcome.fitting + sum(nodes for _, nodes in reasons) - len(rows),
        suggestions=[_told_advice(each, manner.sees) for each in advice],
    )


def _with_sets(
    ledger: Ledger, request: Request, chosen: shape.NodeReport, manner: Manner
) -> shape.NodeReport:
    sets = card_sets(ledger, request, NodeName(chosen.node), manner.defaults, manner.frag)
    return msgspec.structs.replace(chosen, sets=sets)


def _advice(
    ledger: Ledger, request: Request, manner: Manner, outcome: Outcome, failing: Sequence[Failing]
) -> tuple[Suggestion, ...]:
    candidates = EVERY_NODE
    if outcome.view.height > manner.most_tried:
        rows = outcome.view.rows[roomiest_rows(outcome.view, failing, manner.most_tried)]
        candidates = Candidates(names=[ledger.node_at(row).name for row in rows.tolist()])
    return suggest(ledger, request, manner.defaults, candidates, frag=manner.frag)


def _told_advice(suggestion: Suggestion, sees: Sees) -> shape.Advice:
    if suggestion.pod is None or sees(suggestion.pod.namespace):
        return shape.Advice(suggestion.code, suggestion.sentence, suggestion.node, dict(suggestion.change))
    return shape.Advice(suggestion.code, f"wait until {SOMEBODY} ends", suggestion.node)


def describe(
    ledger: Ledger,
    waiting: Iterable[str] = (),
    problems: Iterable[shape.Remark] = (),
    sees: Sees = everything,
) -> shape.ClusterReport:
    """The cluster in a few numbers."""
    nodes = list(ledger.nodes())
    tenants = [holding.tenant for holding in ledger.holdings() if holding.bound]
    return shape.ClusterReport(
        nodes=len(nodes),
        cards=sum(len(node.cards) for node in nodes),
        running=len(tenants),
        guessed=sorted(str(each.pod) for each in tenants if each.guessed and sees(each.pod.namespace)),
        waiting=list(waiting),
        problems=list(problems),
    )


def place_words(ledger: Ledger, allocation: Allocation) -> str:
    """A node and what is given there: "node one, card 1 (8 GiB, 20% compute)"."""
    node = ledger.node(allocation.node)
    cards = "" if node is None or not allocation.cards else f", {given(allocation, node)}"
    return f"node {allocation.node}{cards}"


def remarks(found: Iterable[Refusal | Caution]) -> list[shape.Remark]:
    """Refusals and cautions as they are reported."""
    return [shape.Remark(each.code, each.sentence, each.container) for each in found]
