"""`tangram explain`: where a pod would go, and why, or why it waits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

from cyclopts import Parameter

from tangram.cli import candidates
from tangram.cli.clusters import Cluster, read_cluster
from tangram.cli.documents import read_documents
from tangram.cli.explaining import Wishes, explained
from tangram.cli.failures import InputError
from tangram.cli.files import check_one_standard_input, read_source
from tangram.cli.kubernetes import USUAL_NAMESPACE, objects_in, read_manifests
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.pages import show_report
from tangram.cli.patience import Patience
from tangram.cli.policies import POD_POLICIES, read_card_order, read_node_policy, read_qos_policy
from tangram.cli.screen import Screen, error_console, output_console
from tangram.reports import shape
from tangram.wire.clusterfile.fields import nearest

if TYPE_CHECKING:
    from tangram.kube.connection import Connection

THE_ANSWER_IS_NO: Final = 1


def explain(
    pod: Annotated[
        str,
        Parameter(
            metavar="POD",
            show_default=False,
            completer=candidates.pods,
            help="A pod of the live cluster, or of the dump in --cluster.",
        ),
    ] = "",
    /,
    *,
    cluster: Annotated[
        str | None,
        Parameter(
            metavar="FILE",
            allow_leading_hyphen=True,
            help="What there is: a kubectl dump or a cluster file; - reads standard input. Without: the live cluster.",
        ),
    ] = None,
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
    namespace: Annotated[
        str | None,
        Parameter(
            name=["--namespace", "-n"],
            metavar="NAME",
            completer=candidates.namespaces,
            help="Of POD, and of manifests that name none. Without: that of the kubeconfig, or default.",
        ),
    ] = None,
    node: Annotated[
        tuple[str, ...],
        Parameter(
            metavar="NAME",
            negative="",
            consume_multiple=False,
            show_default=False,
            completer=candidates.nodes,
            help="Show this node card by card; repeatable.",
        ),
    ] = (),
    all_cards: Annotated[
        bool, Parameter(negative="", show_default=False, help="Show every node card by card.")
    ] = False,
    output: Annotated[
        str,
        Parameter(
            name=["--output", "-o"],
            metavar="FORMAT",
            completer=candidates.formats,
            help="table, json or yaml.",
        ),
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
    qos_policy: Annotated[
        str | None,
        Parameter(
            metavar="POLICY",
            help="What pods of -f get that name none, as by the cluster's qosPolicy: best-effort, fixed-share or "
            "burst-share.",
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
    server: Annotated[
        str | None,
        Parameter(
            metavar="URL", help="Ask the running scheduler at this address instead of working it out here."
        ),
    ] = None,
    server_ca: Annotated[
        Path | None,
        Parameter(metavar="FILE", help="Authority of the scheduler's certificate. Without: the system's."),
    ] = None,
    token_file: Annotated[
        Path | None,
        Parameter(metavar="FILE", help="Your token for --server. Without: that of the kubeconfig."),
    ] = None,
    kubeconfig: Annotated[
        Path | None,
        Parameter(metavar="FILE", help="How to reach the live cluster. Without: as kubectl finds it."),
    ] = None,
) -> int:
    """Say where a pod would go and why, or why it waits and what would help."""
    form = read_format(output)
    check_one_standard_input((cluster, demand, *file))
    wishes = Wishes(
        source=shape.FROM_API if cluster is None else shape.FROM_FILE,
        pod=pod,
        files=file,
        namespace=namespace,
        node_policy=None
        if node_policy is None
        else read_node_policy(node_policy, "--node-policy", POD_POLICIES),
        card_order=() if card_policy is None else read_card_order(card_policy, "--card-policy"),
        qos_policy=None if qos_policy is None else read_qos_policy(qos_policy, "--qos-policy"),
        demand=demand,
        suggestions=not no_suggestions,
    )
    _check_together(wishes, cluster, server, server_ca or token_file)
    with Patience(error_console()) as patience:
        if server is not None:
            report = _from_scheduler(
                _Reaching(server, server_ca, token_file, kubeconfig), wishes, node, patience
            )
        elif cluster is not None:
            found = read_cluster(cluster, patience)
            _check_nodes(node, found)
            report = explained(found, wishes, USUAL_NAMESPACE, patience)
        else:
            connection = _connection(kubeconfig)
            found = _read_live(connection, patience)
            _check_nodes(node, found)
            report = explained(found, wishes, connection.namespace, patience)
    if form is Format.TABLE:
        every = (
            {each.node for pod_report in report.pods for each in pod_report.nodes}
            if all_cards
            else set[str]()
        )
        show_report(Screen(output_console()), report, {*every, *node})
    else:
        write_data(report, form)
    return THE_ANSWER_IS_NO if any(each.answer_is_no for each in report.pods) else 0


def _check_together(wishes: Wishes, cluster: str | None, server: str | None, of_server: Path | None) -> None:
    if wishes.pod and wishes.files:
        raise InputError(
            f"POD {wishes.pod!r:.80} and -f are both given: name a pod that exists, or a file with one that does not."
        )
    if wishes.qos_policy and not wishes.files:
        raise InputError(
            f"--qos-policy is {wishes.qos_policy} and -f is not given: a pod that exists has its policy; name a file "
            "with one that does not exist, or leave --qos-policy out."
        )
    if server is None:
        if of_server is not None:
            raise InputError(
                "--server-ca and --token-file are for --server, which is not given: write --server URL."
            )
        return
    if cluster is not None:
        raise InputError(
            "--cluster and --server are both given: ask about a file, or ask the running scheduler."
        )
    if (
        wishes.node_policy
        or wishes.card_order
        or wishes.qos_policy
        or wishes.demand
        or not wishes.suggestions
    ):
        raise InputError(
            "--node-policy, --card-policy, --qos-policy, --demand and --no-suggestions are not for --server: the "
            "scheduler answers by its own policies; leave them out, or leave --server out to try others here."
        )
    if not wishes.pod and not wishes.files:
        raise InputError("nothing is asked of --server: name a pod, or manifests with -f.")


class _Reaching(NamedTuple):
    """How to reach the scheduler."""

    url: str
    authority: Path | None
    token_file: Path | None
    kubeconfig: Path | None


def _from_scheduler(
    reaching: _Reaching, wishes: Wishes, nodes: tuple[str, ...], patience: Patience
) -> shape.ExplainReport:
    from tangram.cli import scheduler_answers as scheduler  # noqa: PLC0415 - see _connection

    needs_account = reaching.token_file is None or wishes.namespace is None
    account = _connection(reaching.kubeconfig) if needs_account else None
    server = scheduler.read_server(reaching.url, reaching.authority, reaching.token_file, account)
    namespace = wishes.namespace or (USUAL_NAMESPACE if account is None else account.namespace)
    patience.watching(f"asking {reaching.url}")(0, 1)
    if wishes.pod:
        return scheduler.explain_pod(server, namespace, wishes.pod, nodes)
    manifests: list[object] = []
    namespaces: dict[str, None] = {}
    for path in wishes.files:
        source = read_source(path, "-f")
        documents = read_documents(source, patience.watching(f"reading {source.name}"))
        namespaces |= {each.ref.namespace: None for each in read_manifests(documents, source.name, namespace)}
        manifests += objects_in(documents, namespace)
    return scheduler.explain_manifests(server, manifests, list(namespaces), nodes)


def _connection(kubeconfig: Path | None) -> Connection:
    # Imported here, as everything that speaks to a network: a question about files starts in half the time without.
    from tangram.cli.agents.options import connection_for  # noqa: PLC0415 - see above

    return connection_for(kubeconfig, os.environ)


def _read_live(connection: Connection, patience: Patience) -> Cluster:
    from tangram.cli.live import read_live  # noqa: PLC0415 - see _connection

    return read_live(connection, patience)


def _check_nodes(names: tuple[str, ...], cluster: Cluster) -> None:
    known = [node.name for node in cluster.ledger.nodes()]
    for name in names:
        if name not in known:
            some = f"{', '.join(known[:8])}{' and more' if len(known) > 8 else ''}"
            raise InputError(f"--node is {name!r:.80}: the nodes are {some}; {nearest(name, known)}.")
