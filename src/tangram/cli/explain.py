"""`tangram explain`: where a pod would go, and why, or why it waits."""

from __future__ import annotations

from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli import report as shape
from tangram.cli.answering import Manner, Question, answer, describe
from tangram.cli.clusters import Cluster, read_cluster
from tangram.cli.expectations import learned_demand
from tangram.cli.failures import InputError
from tangram.cli.files import check_one_standard_input
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.pages import show_report
from tangram.cli.patience import Patience
from tangram.cli.pods import Asked, asked_of, read_pods
from tangram.cli.policies import POD_POLICIES, read_card_order, read_node_policy
from tangram.cli.screen import Screen, error_console, output_console
from tangram.engine.demand import Demand, demand_from, shape_of
from tangram.engine.frag import FragScores
from tangram.vendors.admission import Admission
from tangram.wire.clusterfile.fields import nearest

THE_ANSWER_IS_NO: Final = 1


def explain(
    *,
    cluster: Annotated[
        str,
        Parameter(
            metavar="FILE",
            allow_leading_hyphen=True,
            help="What there is: a kubectl dump or a cluster file; - reads standard input.",
        ),
    ],
    file: Annotated[
        tuple[str, ...],
        Parameter(
            name=["--file", "-f"],
            metavar="FILE",
            allow_leading_hyphen=True,
            negative="",
            consume_multiple=False,
            show_default=False,
            help="Pods or workloads to ask about; repeatable; - reads standard input. Without: the pods that wait.",
        ),
    ] = (),
    node: Annotated[
        tuple[str, ...],
        Parameter(
            metavar="NAME",
            negative="",
            consume_multiple=False,
            show_default=False,
            help="Show this node card by card; repeatable.",
        ),
    ] = (),
    all_cards: Annotated[
        bool, Parameter(negative="", show_default=False, help="Show every node card by card.")
    ] = False,
    output: Annotated[
        str, Parameter(name=["--output", "-o"], metavar="FORMAT", help="table, json or yaml.")
    ] = "table",
    node_policy: Annotated[
        str | None,
        Parameter(
            metavar="POLICY", help="Choose the node by binpack, spread or frag, whatever the pod says."
        ),
    ] = None,
    card_policy: Annotated[
        str | None,
        Parameter(
            metavar="POLICY",
            help="Choose cards by binpack, spread, numa, topology-aware, mutex or a comma list of these.",
        ),
    ] = None,
    demand: Annotated[
        str | None,
        Parameter(
            metavar="FILE",
            allow_leading_hyphen=True,
            help="Pods to expect, for frag. Without: pods like those of the cluster.",
        ),
    ] = None,
    no_suggestions: Annotated[
        bool, Parameter(negative="", show_default=False, help="Do not look for what would help.")
    ] = False,
) -> int:
    """Say where a pod would go and why, or why it waits and what would help."""
    form = read_format(output)
    check_one_standard_input((cluster, demand, *file))
    order = () if card_policy is None else read_card_order(card_policy, "--card-policy")
    policy = None if node_policy is None else read_node_policy(node_policy, "--node-policy", POD_POLICIES)
    with Patience(error_console()) as patience:
        found = read_cluster(cluster, patience)
        _check_nodes(node, found)
        asked = _asked(file, found, patience)
        frag = FragScores(_demand(demand, found, asked, patience))
        manner = Manner(policy, order, frag, suggestions=not no_suggestions)
        on_progress = patience.watching("explaining")
        pods: list[shape.PodReport] = []
        for number, (ref, admission, resources) in enumerate(asked):
            on_progress(number, len(asked))
            pods.append(answer(found, Question(str(ref), admission, resources), manner))
    report = shape.ExplainReport(cluster=describe(found), pods=pods)
    if form is Format.TABLE:
        every = [each.name for each in found.ledger.nodes()] if all_cards else []
        show_report(Screen(output_console()), report, {*every, *node})
    else:
        write_data(report, form)
    return THE_ANSWER_IS_NO if any(pod.answer_is_no for pod in pods) else 0


def _check_nodes(names: tuple[str, ...], cluster: Cluster) -> None:
    known = [node.name for node in cluster.ledger.nodes()]
    for name in names:
        if name not in known:
            some = f"{', '.join(known[:8])}{' and more' if len(known) > 8 else ''}"
            raise InputError(f"--node is {name!r:.80}: the nodes are {some}; {nearest(name, known)}.")


def _asked(files: tuple[str, ...], cluster: Cluster, patience: Patience) -> list[Asked]:
    asked = [
        each for path in files for each in read_pods(path, "-f", cluster.settings, cluster.vendors, patience)
    ]
    if not files:
        asked = [asked_of(pod, cluster.settings) for pod in cluster.waiting_pods]
        asked += [(each.pod, Admission(ours=True, request=each), ()) for each in cluster.waiting_requests]
        if not asked:
            raise InputError(
                "no pod to explain: name one with -f pod.yaml, since none waits in this cluster."
            )
    return asked


def _demand(path: str | None, cluster: Cluster, asked: list[Asked], patience: Patience) -> Demand:
    if path is None:
        return learned_demand(cluster, [each.request for _, each, _ in asked if each.request is not None])
    expected = read_pods(path, "--demand", cluster.settings, cluster.vendors, patience)
    refused = next((ref for ref, admission, _ in expected if admission.refusals), None)
    if refused is not None:
        raise InputError(
            f"--demand names {path}, whose pod {refused} is refused: expect pods that can be placed."
        )
    return demand_from(shape_of(each.request) for _, each, _ in expected if each.request is not None)
