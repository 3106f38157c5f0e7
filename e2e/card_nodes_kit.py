"""Nodes that exist only as objects, with cards as an agent or a vendor's plugin announces them, for tests that look at
where pods go and need no container.

Every test has a pool of its own: nodes that carry its name as a label, and pods that ask for that label.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from builders.clusters import card, grouped
from e2e.agent_view_kit import GPU, SGPU
from e2e.restarts_kit import PATIENCE
from e2e.scheduler_kit import SCHEDULER, annotations_of, until_bound
from e2e.scheduling_kit import remove
from tangram.model.cards import Card, CardMode
from tangram.model.topology import Topology
from tangram.wire.agent_state import AGENT, SERVING
from tangram.wire.publication import publication
from testbed import kwok
from testbed.api import ApiRefused, Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, pod, tolerates_kwok

POOL = "pool"
CARD_MIB = 65536
LISTED = "metax-tech.com/node-gpu-devices"
TWO_GROUPS = grouped(8, [(0, 1, 2, 3), (4, 5, 6, 7)])


def agent_node(
    name: str,
    count: int = 2,
    *,
    whole: bool = False,
    topology: Topology | None = None,
    cards: Sequence[Card] = (),
) -> Object:
    """A node with our agent; its cards are `GPU-NAME-NUMBER`."""
    mode = CardMode.WHOLE if whole else CardMode.SLICED
    described = tuple(cards) or tuple(card(name, number, mode=mode) for number in range(count))
    told = publication(described, topology, {})
    made = kwok.fake_node(1)
    _named(made, name)
    made["metadata"]["annotations"] |= {AGENT: SERVING} | {
        k: v for k, v in told.annotations.items() if v is not None
    }
    _offers(made, {GPU: len(described)} if whole else {SGPU: 16 * len(described)})
    return made


def closed_node(name: str, count: int = 2) -> Object:
    """A node with the vendor's own plugin, which lists its cards and waits for the lock."""
    listed = [
        {
            "uuid": f"GPU-{name}-{number}",
            "bdf": f"0000:{number + 10:02x}:00.0",
            "model": "MXC500",
            "totalDevCount": 16,
            "totalCompute": 100,
            "totalVRam": CARD_MIB,
            "numa": 0,
            "healthy": True,
            "qosPolicy": "",
            "linkZone": 1,
        }
        for number in range(count)
    ]
    made = kwok.fake_node(1)
    _named(made, name)
    made["metadata"]["annotations"][LISTED] = json.dumps(listed)
    _offers(made, {SGPU: 16 * count})
    return made


def _named(made: Object, name: str) -> None:
    made["metadata"]["name"] = name
    made["metadata"]["labels"]["kubernetes.io/hostname"] = name


def _offers(made: Object, amounts: Mapping[str, int]) -> None:
    for part in ("allocatable", "capacity"):
        made["status"][part] = made["status"][part] | {key: str(value) for key, value in amounts.items()}


@dataclass
class Pool:
    """The nodes and pods of one test."""

    cluster: Cluster
    name: str

    def pod(
        self, name: str, limits: Mapping[str, str | int], *, scheduler: str = SCHEDULER, **annotations: str
    ) -> Object:
        """A pod for the nodes of this pool; annotations by their keys."""
        made = pod(
            f"{self.name}-{name}",
            container(limits=limits),
            scheduler=scheduler,
            annotations=annotations,
            labels={POOL: self.name},
            tolerations=tolerates_kwok(),
        )
        made["spec"]["nodeSelector"] = {POOL: self.name}
        return made

    async def bound(self, made: Object) -> Object:
        """Create the pod and return it once it has a node."""
        await self.cluster.api.create(made)
        return await until_bound(self.cluster, made["metadata"]["name"])

    async def landed(self, *pods: Object) -> list[str]:
        """Create pods, each once the one before it has a node, and say which node each got."""
        return [(await self.bound(made))["spec"]["nodeName"] for made in pods]

    async def fill(self, name: str, node: str, limits: Mapping[str, str | int], *cards: int) -> Object:
        """A pod on this very node, on one of these cards of it if any are named, once it is bound there."""
        made = self.pod(name, limits)
        made["spec"]["nodeSelector"]["kubernetes.io/hostname"] = node
        if cards:
            made["metadata"]["annotations"]["metax-tech.com/use-gpuuuid"] = ",".join(
                f"GPU-{node}-{number}" for number in cards
            )
        return await self.bound(made)

    async def end(self, *pods: Object) -> None:
        """Delete pods and wait until they are gone; the scheduler hears of it before it hears of anything later."""
        await remove(self.cluster, [one["metadata"]["name"] for one in pods])

    async def pods(self) -> list[Object]:
        return await self.cluster.api.list(path_of("Pod"), labelSelector=f"{POOL}={self.name}")

    async def annotate(self, node: str, annotations: Mapping[str, str | None]) -> None:
        await self.cluster.api.patch(path_of("Node", node), {"metadata": {"annotations": dict(annotations)}})

    async def until_node_says(self, node: str, key: str, value: str | None) -> None:
        await self.cluster.until_node(
            node,
            lambda seen: annotations_of(seen).get(key) == value,
            within=PATIENCE,
            what=f"{key} of {node} is {value}",
        )


@asynccontextmanager
async def pooled(cluster: Cluster, name: str, nodes: Iterable[Object]) -> AsyncGenerator[Pool]:
    """A pool of these nodes, gone again afterwards with every pod of it."""
    pool = Pool(cluster, name)
    made = list(nodes)
    for node in made:
        node["metadata"]["labels"][POOL] = name
        await cluster.api.create(node)
    try:
        for node in made:
            await cluster.until_node(node["metadata"]["name"], is_ready, within=PATIENCE)
        yield pool
    finally:
        await empty(pool)
        await asyncio.gather(*(_delete(cluster, node["metadata"]["name"]) for node in made))


async def empty(pool: Pool) -> None:
    """Delete every pod of the pool and wait until the last is gone."""
    await remove(pool.cluster, [one["metadata"]["name"] for one in await pool.pods()])


async def _delete(cluster: Cluster, node: str) -> None:
    try:
        await cluster.api.delete(path_of("Node", node))
    except ApiRefused as refused:
        if refused.status != 404:
            raise


def is_ready(node: Object) -> bool:
    conditions = {one["type"]: one["status"] for one in node.get("status", {}).get("conditions", [])}
    fresh = [
        one for one in node.get("spec", {}).get("taints", []) if one["key"].startswith("node.kubernetes.io/")
    ]
    return conditions.get("Ready") == "True" and not fresh
