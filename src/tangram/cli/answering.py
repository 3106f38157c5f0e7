"""From a pod and a cluster to the report: admission, the engine's explanation, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tangram.cli import report as shape
from tangram.cli.clusters import Cluster
from tangram.cli.evidence import container_reports, node_reports
from tangram.cli.words import given, listed, plural, why_not
from tangram.engine.explain import explain
from tangram.engine.frag import FragScores
from tangram.engine.place import Defaults
from tangram.engine.suggest import suggest
from tangram.model.refusals import Caution, Refusal
from tangram.model.requests import CardOrder, NodePolicy
from tangram.model.verdicts import Explanation
from tangram.vendors.admission import Admission

_DEFAULTS = Defaults()


class Question(NamedTuple):
    """A pod as it was read, and what to assume about it."""

    pod: str
    admission: Admission
    resources: tuple[str, ...] = ()
    """What its containers name, for a pod that asks for no card of ours."""


class Manner(NamedTuple):
    """How to answer."""

    node_policy: NodePolicy | None = None
    card_order: tuple[CardOrder, ...] = ()
    frag: FragScores | None = None
    suggestions: bool = True


def answer(cluster: Cluster, question: Question, manner: Manner) -> shape.PodReport:
    """Where the pod would go and why, or why it would not."""
    admission = question.admission
    cautions = _remarks(admission.cautions)
    if admission.refusals:
        return shape.PodReport(
            pod=question.pod,
            verdict=shape.REFUSED,
            sentence=f"{question.pod} is refused: {plural(len(admission.refusals), 'fault')}.",
            refusals=_remarks(admission.refusals),
            cautions=cautions,
        )
    if admission.request is None:
        named = f" (it names {listed(question.resources)})" if question.resources else ""
        sentence = (
            f"{question.pod} asks for no card of MetaX or Moore Threads{named}, so there is nothing to place."
        )
        return shape.PodReport(pod=question.pod, verdict=shape.NO_CARDS, sentence=sentence, cautions=cautions)
    request = msgspec.structs.replace(
        admission.request,
        node_policy=manner.node_policy or admission.request.node_policy,
        card_order=manner.card_order or admission.request.card_order,
    )
    explanation = explain(cluster.ledger, request, _DEFAULTS, frag=manner.frag)
    fits = explanation.chosen is not None
    advice = (
        suggest(cluster.ledger, request, _DEFAULTS, frag=manner.frag)
        if manner.suggestions and not fits
        else ()
    )
    return shape.PodReport(
        pod=question.pod,
        verdict=shape.FITS if fits else shape.WAITS,
        sentence=_headline(cluster, question.pod, explanation),
        node=explanation.chosen,
        node_policy=request.node_policy or _DEFAULTS.node_policy,
        card_policy=[*(request.card_order or _DEFAULTS.card_order)],
        containers=container_reports(explanation.allocation),
        reasons=[shape.Reason(sentence, nodes) for sentence, nodes in why_not(explanation.nodes)],
        nodes=node_reports(cluster.ledger, request, explanation),
        suggestions=[shape.Advice(each.code, each.sentence, each.node) for each in advice],
        cautions=cautions,
    )


def describe(cluster: Cluster) -> shape.ClusterReport:
    """The cluster in a few numbers."""
    nodes = list(cluster.ledger.nodes())
    tenants = [holding.tenant for holding in cluster.ledger.holdings()]
    return shape.ClusterReport(
        nodes=len(nodes),
        cards=sum(len(node.cards) for node in nodes),
        running=len(tenants),
        guessed=sorted(str(tenant.pod) for tenant in tenants if tenant.guessed),
        waiting=list(cluster.waiting),
        problems=[shape.Remark(problem.code, problem.sentence) for problem in cluster.problems],
    )


def _headline(cluster: Cluster, pod: str, explanation: Explanation) -> str:
    if explanation.chosen is not None and explanation.allocation is not None:
        node = cluster.ledger.node(explanation.chosen)
        cards = given(explanation.allocation, node) if node is not None else ""
        return f"{pod} fits: node {explanation.chosen}, {cards}."
    reasons = why_not(explanation.nodes)
    if len(explanation.nodes) == 1:
        return f"{pod} waits, because the only node does not fit: {reasons[0][0]}."
    counted = "; ".join(f"{plural(nodes, 'node')}: {reason}" for reason, nodes in reasons)
    return f"{pod} waits, because none of {plural(len(explanation.nodes), 'node')} fits ({counted})."


def _remarks(found: Sequence[Refusal | Caution]) -> list[shape.Remark]:
    return [shape.Remark(each.code, each.sentence, each.container) for each in found]
