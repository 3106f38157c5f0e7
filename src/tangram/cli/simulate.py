"""`tangram simulate`: a stream of pods replayed over a list of nodes."""

from __future__ import annotations

import sys
from typing import Annotated, Final, NamedTuple

from cyclopts import Parameter

from tangram.cli.clusters import read_cluster
from tangram.cli.failures import InputError
from tangram.cli.files import check_one_standard_input
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.patience import Patience
from tangram.cli.pods import read_pods
from tangram.cli.policies import read_node_policy
from tangram.cli.replays import report_of, show_report
from tangram.cli.screen import Screen, error_console, output_console
from tangram.cli.seeds import read_seeds
from tangram.cli.streams import arrivals_of, trace_nodes, trace_pods
from tangram.engine.simulate import Arrival, ReplayResult, ReplaySettings, replay
from tangram.model.nodes import Node
from tangram.model.requests import NodePolicy
from tangram.reports.words import plural

USUAL_SEED: Final = "42"
TRACE_PERCENT: Final = 130
"""How far the published recipe carries the demand, in percent of all cards."""
MOST_PERCENT: Final = 1000


class _Input(NamedTuple):
    nodes: tuple[Node, ...]
    pods: tuple[Arrival, ...]
    until_percent: int


def simulate(
    *,
    pods: Annotated[
        str,
        Parameter(
            metavar="FILE",
            allow_leading_hyphen=True,
            help="The stream: an openb pod list (CSV), manifests, or a pods file.",
        ),
    ],
    nodes: Annotated[
        str | None, Parameter(metavar="FILE", allow_leading_hyphen=True, help="An openb node list (CSV).")
    ] = None,
    cluster: Annotated[
        str | None,
        Parameter(
            metavar="FILE",
            allow_leading_hyphen=True,
            help="Instead of --nodes: a kubectl dump or a cluster file.",
        ),
    ] = None,
    policy: Annotated[str, Parameter(metavar="POLICY", help="frag, bestfit, binpack or spread.")] = "frag",
    seed: Annotated[
        str | None, Parameter(metavar="N", help="The shuffle of the stream; 42 if not given.")
    ] = None,
    seeds: Annotated[str | None, Parameter(metavar="RANGE", help="Several shuffles, such as 42-51.")] = None,
    until: Annotated[
        str | None,
        Parameter(
            metavar="PERCENT",
            help="Clone pods until they ask for this share of all cards. If not given: 130 with --nodes, and"
            " with --cluster no clones.",
        ),
    ] = None,
    output: Annotated[
        str, Parameter(name=["--output", "-o"], metavar="FORMAT", help="table, json or yaml.")
    ] = "table",
) -> int:
    """Replay a stream of pods over a list of nodes and count the cards nobody can use."""
    form = read_format(output)
    chosen = read_node_policy(policy, "--policy", tuple(NodePolicy))
    if seed is not None and seeds is not None:
        raise InputError("--seed and --seeds are both given: write one of them.")
    shuffles = read_seeds(seeds, "--seeds") if seeds is not None else read_seeds(seed or USUAL_SEED, "--seed")
    limit = None if until is None else _percent(until)
    check_one_standard_input((pods, nodes, cluster))
    with Patience(error_console()) as patience:
        given = _input(nodes, cluster, pods, patience)
        if not any(node.cards for node in given.nodes):
            raise InputError(f"{nodes or cluster} has nodes and no cards: a replay needs cards to fill.")
        runs = _runs(given, chosen, shuffles, given.until_percent if limit is None else limit, patience)
    report = report_of(runs, len(given.pods))
    if form is Format.TABLE:
        show_report(Screen(output_console()), report)
    else:
        write_data(report, form)
    return 0


def _percent(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and int(text) <= MOST_PERCENT):
        raise InputError(
            f"--until is {text!r:.80}: it is a percentage from 0 to {MOST_PERCENT}; write for example 130."
        )
    return int(text)


def _runs(
    given: _Input, policy: NodePolicy, seeds: tuple[int, ...], until_percent: int, patience: Patience
) -> list[ReplayResult]:
    return [
        replay(
            given.nodes,
            given.pods,
            ReplaySettings(policy, seed, until_percent),
            on_progress=patience.watching(f"replaying with {policy}, seed {seed}"),
        )
        for seed in seeds
    ]


def _input(nodes: str | None, cluster: str | None, pods: str, patience: Patience) -> _Input:
    if nodes is not None and cluster is None:
        return _Input(trace_nodes(nodes), trace_pods(pods), TRACE_PERCENT)
    if cluster is None or nodes is not None:
        both = "are both given" if nodes is not None else "are both missing"
        raise InputError(
            f"--nodes and --cluster {both}: write --nodes for a trace, or --cluster for a cluster."
        )
    found = read_cluster(cluster, patience)
    there = tuple(found.ledger.nodes())
    asked = read_pods(pods, "--pods", found.settings, found.vendors, patience)
    for ref, admission, _ in asked:
        for refusal in admission.refusals:
            raise InputError(
                f"--pods names {pods}, whose pod {ref} is refused ({refusal.code}): {refusal.sentence}"
            )
    requests = [admission.request for _, admission, _ in asked if admission.request is not None]
    if not requests:
        raise InputError(
            f"--pods names {pods}, and no pod in it asks for a card: there is nothing to replay."
        )
    running = sum(1 for _ in found.ledger.holdings())
    if running:
        left_out = plural(running, "running pod")
        sys.stderr.write(f"tangram: the replay begins with empty nodes: {left_out} left out.\n")
    return _Input(there, arrivals_of(requests, there), 0)
