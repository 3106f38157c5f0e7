"""Small pods, nodes and pictures of a cluster for the loop that stands in for kube-scheduler."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tangram.sandbox.placing.budgets import Budget
from tangram.sandbox.placing.configuration import Extender, Settings, read_settings
from tangram.sandbox.placing.extenders import ExtenderFailed, Extenders, Filtered
from tangram.sandbox.placing.hosts import Host, NodeFacts, read_node
from tangram.sandbox.placing.picture import Picture
from tangram.sandbox.placing.pods import Pod, read_pod
from tangram.sandbox.placing.trying import Trying
from tangram.wire.extender_config import API_VERSION, KIND

Object = dict[str, Any]
SCHEDULER = "default-scheduler"


def configuration(**fields: object) -> Object:
    """A KubeSchedulerConfiguration without a Lease and with these fields."""
    return {"apiVersion": API_VERSION, "kind": KIND, "leaderElection": {"leaderElect": False}, **fields}


def settings(**fields: object) -> Settings:
    return read_settings(configuration(**fields))


def node_object(
    name: str, *, labels: Mapping[str, str] | None = None, taints: Sequence[Object] = (), **has: str
) -> Object:
    """A node of 8 cpus, 16 GiB and 10 pods unless `has` says otherwise."""
    amounts = {"cpu": "8", "memory": "16Gi", "pods": "10", **has}
    spec: Object = {"taints": list(taints)} if taints else {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def node(name: str, **more: Any) -> NodeFacts:  # noqa: ANN401 - of `node_object`
    cordoned = more.pop("cordoned", False)
    made = node_object(name, **more)
    made["spec"]["unschedulable"] = cordoned
    return read_node(made)


def pod_object(
    name: str,
    requests: Mapping[str, str | int] | None = None,
    *,
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    on: str = "",
    **spec: Any,  # noqa: ANN401 - any field of a pod's spec
) -> Object:
    """A pod of one container that asks for one cpu unless told otherwise."""
    asked = {"cpu": "1"} if requests is None else dict(requests)
    status = spec.pop("status", {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "labels": dict(labels or {}),
        },
        "spec": {
            "schedulerName": SCHEDULER,
            "containers": [
                {"name": "main", "image": "none", "resources": {"requests": asked, "limits": asked}}
            ],
            **({"nodeName": on} if on else {}),
            **spec,
        },
        "status": {"phase": "Pending", **status},
    }


def pod(name: str, requests: Mapping[str, str | int] | None = None, **more: Any) -> Pod:  # noqa: ANN401 - of `pod_object`
    return read_pod(pod_object(name, requests, **more))


def picture(nodes: Iterable[NodeFacts], pods: Iterable[Pod] = ()) -> Picture:
    """A cluster of these nodes with these pods, which name the nodes they are on."""
    made = Picture()
    for each in nodes:
        made.put_node(each)
    for each in pods:
        made.put_pod(each)
    return made


class Recorded(Extenders):
    """One extender that is asked about every pod, agrees to everything unless told otherwise, and remembers."""

    def __init__(self, *answers: Filtered | ExtenderFailed) -> None:
        super().__init__((Extender(url="http://recorded", filter="filter", cached=True),), None)
        self.answers = list(answers)
        self.offered: list[tuple[str, ...]] = []

    async def filter(self, extender: Extender, pod: Pod, hosts: Sequence[Host]) -> Filtered:
        del extender, pod
        self.offered.append(tuple(host.name for host in hosts))
        answer = self.answers.pop(0) if self.answers else Filtered(self.offered[-1], {}, {})
        if isinstance(answer, ExtenderFailed):
            raise answer
        return answer


def trying(
    seen: Picture, extenders: Extenders | None = None, budgets: Sequence[Budget] = (), **fields: object
) -> Trying:
    """Decisions from that picture, without extenders unless some are given."""
    chance = random.Random(0)  # noqa: S311 - ties
    return Trying(settings(**fields), seen, extenders or Extenders((), None), lambda: budgets, chance)
