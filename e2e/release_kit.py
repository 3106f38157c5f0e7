"""What an installation, an upgrade and its end must leave as it was: nodes, other objects, and pods that run.

Everything is read from the API server and compared whole, so that what nobody thought of is seen too.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from e2e.scheduler_kit import annotations_of
from testbed.api import ApiRefused, Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, is_running, pod

SLICE_OF_A_CARD = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 5, "metax-tech.com/vmemory": 2}
PARTS = {"tangram.dev/part-of": "the-forty"}
_OURS = ("hami.io/", "metax-tech.com/", "mthreads.com/", "tangram.dev/", "scheduling.koordinator.sh/")
_PASSING = frozenset({"events", "events.events.k8s.io", "endpointslices.discovery.k8s.io", "pods"})
"""Kinds whose objects come and go by themselves."""
_BY_KUBELETS = "Lease kube-node-lease/"
"""A kubelet makes its node's some time after the node is ready, whatever is installed."""


# ---- nodes and other objects


class NodeLook(NamedTuple):
    """What is written on a node, and of which conditions it tells."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    taints: list[Object]
    conditions: frozenset[str]


async def nodes_look(cluster: Cluster) -> dict[str, NodeLook]:
    return {
        node["metadata"]["name"]: NodeLook(
            node["metadata"]["labels"],
            node["metadata"].get("annotations", {}),
            node["spec"].get("taints", []),
            frozenset(one["type"] for one in node["status"]["conditions"]),
        )
        for node in await cluster.api.list(path_of("Node"))
    }


async def resources_left(cluster: Cluster, before: Iterable[str]) -> dict[str, str]:
    """What nodes can give of resources that were not there before, with the most that any of them has."""
    known = set(before)
    left: dict[str, str] = {}
    for node in await cluster.api.list(path_of("Node")):
        for name, amount in node["status"]["allocatable"].items():
            if name not in known:
                left[name] = max(left.get(name, "0"), amount)
    return left


async def everything(cluster: Cluster) -> frozenset[str]:
    """Every object of every kind that the API server lists, by kind, namespace and name."""
    known = await cluster.kubectl("api-resources", "--verbs=list", "-o", "name")
    kinds = [kind for kind in known.output.split() if kind not in _PASSING]
    shape = "jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{'\\n'}{end}"
    seen = await cluster.kubectl("get", ",".join(kinds), "-A", "-o", shape)
    assert seen.status == 0, seen.errors
    return frozenset(line for line in seen.output.splitlines() if not line.startswith(_BY_KUBELETS))


# ---- pods


class Life(NamedTuple):
    """What changes when a container is started anew, or its pod made again."""

    uid: str
    containers: tuple[tuple[str, str, int, str], ...]
    """Name, id, restarts and the moment it was started."""


def life_of(seen: Object) -> Life:
    return Life(
        seen["metadata"]["uid"],
        tuple(
            (one["name"], one["containerID"], one["restartCount"], one["state"]["running"]["startedAt"])
            for one in seen["status"]["containerStatuses"]
        ),
    )


def allocation_of(seen: Object) -> dict[str, str]:
    """All that says which cards a pod holds."""
    return {key: value for key, value in annotations_of(seen).items() if key.startswith(_OURS)}


async def pods_of(cluster: Cluster, namespace: str = "default") -> dict[str, Object]:
    return {
        one["metadata"]["name"]: one for one in await cluster.api.list(path_of("Pod", namespace=namespace))
    }


async def lives(cluster: Cluster, namespace: str = "default") -> dict[str, Life]:
    """Of the pods that run."""
    found = await pods_of(cluster, namespace)
    return {name: life_of(one) for name, one in found.items() if is_running(one)}


async def refused_by_kubelets(cluster: Cluster, namespace: str = "default") -> list[str]:
    """Pods that a node was sent and would not have, those among them that are gone since."""
    events = await cluster.api.list(path_of("Event", namespace=namespace))
    pods = (await pods_of(cluster, namespace)).values()
    return [
        *(event["message"] for event in events if event.get("reason") == "UnexpectedAdmissionError"),
        *(one["status"]["message"] for one in pods if one["status"].get("reason")),
    ]


def slice_pod(name: str) -> Object:
    """A pod with a small slice that would be started again if it ended."""
    return pod(name, container(limits=SLICE_OF_A_CARD), restartPolicy="Always", labels=PARTS)


@dataclass
class Stream:
    """Pods that are made one after the other while something else goes on, and the oldest of many are deleted."""

    cluster: Cluster
    word: str
    every: float = 1.0
    most: int = 12
    made: list[str] = field(default_factory=list[str])
    """Those that are still there."""
    refused: list[str] = field(default_factory=list[str])

    async def flow(self) -> None:
        for number in itertools.count():
            name = f"{self.word}-{number}"
            try:
                await self.cluster.api.create(slice_pod(name))
            except ApiRefused as refused:
                self.refused.append(refused.message)
            else:
                self.made.append(name)
            if len(self.made) > self.most:
                await self.cluster.api.delete(path_of("Pod", self.made.pop(0)))
            await asyncio.sleep(self.every)

    async def all_run(self, within: float = 90.0) -> None:
        for name in self.made:
            await self.cluster.until_pod(name, _decided, within=within, what=f"pod {name} running")
        seen = await pods_of(self.cluster)
        ended = {name: seen[name]["status"] for name in self.made if not is_running(seen[name])}
        assert not ended, ended


def _decided(seen: Object) -> bool:
    """It runs, or never will."""
    return is_running(seen) or seen.get("status", {}).get("phase") == "Failed"


@asynccontextmanager
async def streaming(cluster: Cluster, word: str) -> AsyncGenerator[Stream]:
    """Pods are made as long as the block lasts."""
    stream = Stream(cluster, word)
    flowing = asyncio.create_task(stream.flow())
    try:
        yield stream
    finally:
        flowing.cancel()
        await asyncio.gather(flowing, return_exceptions=True)
    assert len(stream.made) >= 3, "so short a time shows nothing"
