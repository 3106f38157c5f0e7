"""Questions about pods put to a cluster that lies here, from a file or from an API server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from tangram.cli.clusters import Cluster
from tangram.cli.expectations import learned_demand
from tangram.cli.failures import InputError
from tangram.cli.patience import Patience
from tangram.cli.pods import read_pods
from tangram.engine.demand import Demand, demand_from, shape_of
from tangram.engine.frag import FragScores
from tangram.model.cards import QosPolicy
from tangram.model.pods import Pod, PodRef
from tangram.model.refusals import Caution
from tangram.model.requests import CardOrder, NodePolicy
from tangram.reports import shape
from tangram.reports.answering import Manner, Question, answer, describe
from tangram.reports.asking import OTHER_SCHEDULER, Asked, asked_of
from tangram.reports.running import ended_report, running_report
from tangram.vendors.admission import Admission, admit
from tangram.wire.clusterfile.fields import nearest
from tangram.wire.scheduler_config import HAMI_NAME, OWN_NAME

_SERVED: Final = (OWN_NAME, HAMI_NAME)


class Wishes(NamedTuple):
    """What to ask about, and what to assume."""

    source: str
    pod: str = ""
    files: Sequence[str] = ()
    namespace: str | None = None
    """Of the pod, and of manifests that say none; without pod and file, only pods that wait there."""
    node_policy: NodePolicy | None = None
    qos_policy: QosPolicy | None = None
    """What pods of files get that name none; None for HAMi's usual one."""
    card_order: tuple[CardOrder, ...] = ()
    demand: str | None = None
    suggestions: bool = True


def explained(
    cluster: Cluster, wishes: Wishes, usual_namespace: str, patience: Patience
) -> shape.ExplainReport:
    """The answers to all that was asked."""
    namespace = wishes.namespace or usual_namespace
    found = _placed_already(cluster, wishes.pod, namespace) if wishes.pod else None
    asked = [] if found is not None else _asked(cluster, wishes, namespace, patience)
    frag = FragScores(_demand(wishes.demand, cluster, asked, patience))
    manner = Manner(
        node_policy=wishes.node_policy,
        card_order=wishes.card_order,
        frag=frag,
        suggestions=wishes.suggestions,
    )
    on_progress = patience.watching("explaining")
    pods = [] if found is None else [found]
    for number, (ref, admission, resources) in enumerate(asked):
        on_progress(number, len(asked))
        pods.append(answer(cluster.ledger, Question(str(ref), admission, resources), manner))
    problems = [shape.Remark(problem.code, problem.sentence) for problem in cluster.problems]
    described = describe(cluster.ledger, _waiting(cluster, wishes.source), problems)
    return shape.ExplainReport(source=wishes.source, cluster=described, pods=pods)


def _waiting(cluster: Cluster, source: str) -> Iterable[str]:
    """In a whole cluster pods wait for many things; those without cards are not our business."""
    if source != shape.FROM_API:
        return cluster.waiting
    return [str(pod.ref) for pod in cluster.waiting_pods if admit(pod, cluster.settings).ours]


def _placed_already(cluster: Cluster, name: str, namespace: str) -> shape.PodReport | None:
    """The report about a pod that runs or has ended; None for one that waits."""
    pod = next((each for each in cluster.pods if _is(each.ref, name, namespace)), None)
    if pod is not None:
        if pod.ended:
            return ended_report(pod.ref)
        return None if pod.node_name is None else running_report(cluster.ledger, pod.ref, pod.node_name)
    for holding in cluster.ledger.holdings():
        if _is(holding.tenant.pod, name, namespace):
            return running_report(cluster.ledger, holding.tenant.pod, holding.tenant.allocation.node)
    return None


def _is(ref: PodRef, name: str, namespace: str) -> bool:
    return (ref.namespace, ref.name) == (namespace, name)


def _asked(cluster: Cluster, wishes: Wishes, namespace: str, patience: Patience) -> list[Asked]:
    if wishes.files:
        settings = cluster.settings
        if wishes.qos_policy is not None:
            settings = msgspec.structs.replace(settings, qos_policy=wishes.qos_policy)
        return [
            each
            for path in wishes.files
            for each in read_pods(path, "-f", settings, cluster.vendors, patience, namespace=namespace)
        ]
    waiting = [asked_of_waiting(pod, cluster) for pod in cluster.waiting_pods]
    waiting += [(each.pod, Admission(ours=True, request=each), ()) for each in cluster.waiting_requests]
    if wishes.pod:
        asked = [each for each in waiting if _is(each[0], wishes.pod, namespace)]
        if not asked:
            raise InputError(_no_such_pod(cluster, wishes.pod, namespace))
        return asked
    asked = [each for each in waiting if wishes.namespace in (None, each[0].namespace)]
    if wishes.source == shape.FROM_API:
        asked = [each for each in asked if each[1].ours]
    if not asked:
        where = "in this cluster" if wishes.namespace is None else f"in namespace {wishes.namespace}"
        raise InputError(f"no pod to explain: name one with -f pod.yaml, since none waits {where}.")
    return asked


def _no_such_pod(cluster: Cluster, name: str, namespace: str) -> str:
    refs = [pod.ref for pod in cluster.pods] or [each.pod for each in cluster.waiting_requests]
    here = [ref.name for ref in refs if ref.namespace == namespace]
    elsewhere = next((ref.namespace for ref in refs if ref.name == name), None)
    if elsewhere is not None:
        return (
            f"there is no pod {namespace}/{name}, but one of that name in {elsewhere}: write -n {elsewhere}."
        )
    advice = nearest(name, here, f"'kubectl get pods -n {namespace}' lists those there are")
    return f"there is no pod {namespace}/{name}: {advice}, or write -n for another namespace."


def asked_of_waiting(pod: Pod, cluster: Cluster) -> Asked:
    """A pod that waits, with a warning if its scheduler may never ask us about it."""
    ref, admission, resources = asked_of(pod, cluster.settings)
    if admission.ours and pod.scheduler_name and pod.scheduler_name not in _SERVED:
        caution = Caution(
            OTHER_SCHEDULER,
            f"its schedulerName is {pod.scheduler_name}, and only a scheduler that asks Tangram goes by these rules: "
            f"write {OWN_NAME}, or see that {pod.scheduler_name} has Tangram as its extender.",
        )
        admission = msgspec.structs.replace(admission, cautions=(*admission.cautions, caution))
    return ref, admission, resources


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
