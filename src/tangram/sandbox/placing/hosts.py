"""A node with the pods on it: what it has, what is taken, and a copy of it to think on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Self

import msgspec

from tangram.kube.objects import Object
from tangram.model.nodes import Taint
from tangram.sandbox.placing.amounts import PODS, Amounts, read_amounts, take
from tangram.sandbox.placing.pods import Pod, trimmed
from tangram.wire import loose
from tangram.wire.busiest import add


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a node says of itself, as far as a rule looks at it."""

    name: str
    labels: dict[str, str]
    annotations: dict[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    allocatable: Amounts
    conditions: tuple[tuple[str, str], ...]
    manifest: Object

    @property
    def room(self) -> int:
        """For how many pods."""
        return self.allocatable.get(PODS, 0)


def read_node(thing: Object) -> NodeFacts:
    """Never raises for what an API server accepts."""
    metadata, spec = loose.members(thing.get("metadata")), loose.members(thing.get("spec"))
    status = loose.members(thing.get("status"))
    conditions = map(loose.members, loose.elements(status.get("conditions")))
    return NodeFacts(
        name=loose.text(metadata.get("name")),
        labels=loose.text_map(metadata.get("labels")),
        annotations=loose.text_map(metadata.get("annotations")),
        taints=tuple(
            Taint(loose.text(one.get("key")), loose.text(one.get("value")), loose.text(one.get("effect")))
            for one in map(loose.members, loose.elements(spec.get("taints")))
        ),
        unschedulable=spec.get("unschedulable") is True,
        allocatable=read_amounts(status.get("allocatable")),
        conditions=tuple(
            sorted((loose.text(each.get("type")), loose.text(each.get("status"))) for each in conditions)
        ),
        manifest=trimmed(thing),
    )


UNKNOWN: Final = NodeFacts(
    name="",
    labels={},
    annotations={},
    taints=(),
    unschedulable=False,
    allocatable={},
    conditions=(),
    manifest={},
)


class Host:
    """`facts` are `UNKNOWN` while pods are known on a node that is not."""

    def __init__(self, name: str, facts: NodeFacts = UNKNOWN) -> None:
        self.name = name
        self.facts = facts
        self.pods: dict[str, Pod] = {}
        self.used: Amounts = {}
        self.weighed_cpu = 0
        self.weighed_memory = 0
        self._sent: tuple[NodeFacts, msgspec.Raw] | None = None

    @property
    def exists(self) -> bool:
        return self.facts is not UNKNOWN

    @property
    def labels(self) -> Mapping[str, str]:
        return self.facts.labels

    def put(self, pod: Pod) -> None:
        """Add a pod, or its new state."""
        self.drop(pod.uid)
        self.pods[pod.uid] = pod
        add(self.used, pod.requests)
        self.weighed_cpu += pod.weighed[0]
        self.weighed_memory += pod.weighed[1]

    def drop(self, uid: str) -> None:
        pod = self.pods.pop(uid, None)
        if pod is not None:
            take(self.used, pod.requests)
            self.weighed_cpu -= pod.weighed[0]
            self.weighed_memory -= pod.weighed[1]

    def copy(self) -> Self:
        made = type(self)(self.name, self.facts)
        made.pods, made.used = dict(self.pods), dict(self.used)
        made.weighed_cpu, made.weighed_memory = self.weighed_cpu, self.weighed_memory
        return made

    def encoded(self) -> msgspec.Raw:
        """The node's JSON, for extenders that keep none: worked out once for each state of it."""
        if self._sent is None or self._sent[0] is not self.facts:
            self._sent = self.facts, msgspec.Raw(msgspec.json.encode(self.facts.manifest))
        return self._sent[1]
