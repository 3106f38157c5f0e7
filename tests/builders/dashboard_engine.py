"""A dashboard whose scheduler is the real engine over a ledger that a test makes up, without the service around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from builders.clusters import metax_node, mthreads_node
from builders.dashboards import NOW, FakeKnown, view
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.kube.objects import Object
from tangram.model.cards import CardMode, QosPolicy
from tangram.model.nodes import HostCapacity, Node, Taint
from tangram.model.pods import Pod, PodRef
from tangram.reports import shape
from tangram.reports.answering import Manner, Question, answer, describe
from tangram.reports.asking import asked_of
from tangram.reports.running import running_report
from tangram.reports.view_shape import Rules, WaitingPod
from tangram.units.ids import NodeName, PodUid
from tangram.units.memory import from_512mib_units, from_gib
from tangram.vendors.settings import AdmissionSettings
from tangram.web.known import NotKnown
from tangram.web.sight import Sight
from tangram.wire.changing.owners import pod_path
from tangram.wire.errors import WireError
from tangram.wire.pods import read_pod
from tangram.wire.workloads import read_workload


class EngineKnown(FakeKnown):
    """Pods of `put` wait; whatever else is asked about is a manifest."""

    def __init__(self, ledger: Ledger, settings: AdmissionSettings | None = None) -> None:
        super().__init__()
        self.ledger = ledger
        self.settings = settings or AdmissionSettings()
        self.asked: list[Sequence[Object]] = []
        """Every manifest the scheduler was asked about."""
        self._pods: dict[str, Pod] = {}
        rules = Rules(
            node_policy="binpack",
            card_policy=["binpack"],
            scheduler_names=["tangram-scheduler"],
            renamed=dict(self.settings.renamed),
        )
        self.picture.take(view(rules=rules))

    def put(self, manifest: Object, *, owners: Mapping[str, Object] | None = None) -> str:
        """A pod that waits, with whatever else the API server has by its path."""
        pod = read_pod(manifest)
        name = str(pod.ref)
        self._pods[name] = pod
        self.manifests[pod_path(pod.ref.namespace, pod.ref.name)] = manifest
        self.manifests.update(owners or {})
        waiting = WaitingPod(pod=name, uid=pod.ref.uid, since=NOW - 1800, stage="filter", at=NOW - 20)
        self.picture.take(view(waiting=[waiting], version=self.picture.told + 1))
        return name

    async def explain_pod(
        self, namespace: str, name: str, sight: Sight, nodes: Sequence[str] = ()
    ) -> shape.ExplainReport:
        del nodes
        self._answer()
        pod = self._pods.get(f"{namespace}/{name}")
        if pod is None:
            raise NotKnown("no-pod", "no such pod", 404)
        holding = self.ledger.holding(pod.ref.uid)
        if holding is not None:
            report = running_report(self.ledger, pod.ref, holding.tenant.allocation.node)
        else:
            report = msgspec.structs.replace(
                self._of(pod, sight),
                last=shape.LastVerdict(
                    at="2026-09-21T14:13:00Z",
                    stage="filter",
                    sentence="none of the nodes fits",
                    words={"CardInsufficientMemory": 3, "CardTypeMismatch": 1},
                ),
                turn=shape.Turn(place=1, of=len(self._pods)),
            )
        return self._report([report])

    async def explain_manifest(
        self, documents: Sequence[Object], sight: Sight, namespaces: Sequence[str], nodes: Sequence[str] = ()
    ) -> shape.ExplainReport:
        del namespaces, nodes
        self._answer()
        self.asked.append(documents)
        try:
            pods = read_workload({"kind": "List", "items": list(documents)})
        except WireError as error:
            raise NotKnown("manifest", error.sentence, 400) from None
        return self._report([self._of(pod, sight) for pod in pods])

    def run(self, ref: PodRef, node: Node, *parts: Part) -> None:
        """The pod gets its place."""
        made = tenant(ref.name, node, *parts)
        self.ledger.put_tenant(msgspec.structs.replace(made, pod=ref))

    def _of(self, pod: Pod, sight: Sight) -> shape.PodReport:
        own = PodRef(pod.ref.namespace, pod.ref.name, PodUid(str(pod.ref)))
        ref, admission, resources = asked_of(msgspec.structs.replace(pod, ref=own), self.settings)
        manner = Manner(defaults=Defaults(), sees=sight.of_namespace, most_nodes=64)
        return answer(self.ledger, Question(str(ref), admission, resources), manner)

    def _report(self, pods: list[shape.PodReport]) -> shape.ExplainReport:
        return shape.ExplainReport(
            source=shape.FROM_SCHEDULER, cluster=describe(self.ledger, self._pods), pods=pods
        )


def some_ledger(more: Iterable[Node] = ()) -> Ledger:
    """Five machines, each with another thing in the way of a large pod."""
    nodes = [
        metax_node("metax-a01", 8),
        metax_node("metax-a02", 8),
        msgspec.structs.replace(metax_node("metax-b01", 8), taints=(Taint("team", "vision"),)),
        metax_node("metax-c01", 8, mode=CardMode.WHOLE),
        msgspec.structs.replace(metax_node("metax-d01", 2), host=HostCapacity(4000, from_gib(64))),
        mthreads_node("mtt-a01", 4),
        *more,
    ]
    ledger = ledger_of(*nodes)
    first, second, mtt = nodes[0], nodes[1], nodes[5]
    ledger.put_tenant(
        tenant("chat-0", first, *(Part(at, from_gib(40), 60) for at in range(8)), qos=QosPolicy.FIXED_SHARE)
    )
    for at in range(8):
        ledger.put_tenant(tenant(f"notebook-{at}", second, Part(at, from_gib(20 + 4 * at), 35)))
    ledger.put_tenant(tenant("vision", nodes[4], Part(0, from_gib(50), 30), Part(1, from_gib(8), 90)))
    ledger.put_tenant(tenant("mt", mtt, Part(0, from_512mib_units(64), 8), qos=None))
    return ledger


def node_of(ledger: Ledger, name: str) -> Node:
    found = ledger.node(NodeName(name))
    assert found is not None
    return found
