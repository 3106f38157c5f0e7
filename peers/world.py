"""Three nodes that a story plays on, and who watches that no card is sold twice on them.

One node has sliced MetaX cards, one whole ones, one sliced cards of Moore Threads; our agent runs on each. What is
added up is what the driver says of its slices and what containers find, never what a scheduler wrote.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field

from e2e.agent_kit import AgentNode, device_config
from e2e.agent_view_kit import (
    CORE,
    GPU,
    LOOK,
    MEMORY,
    SGPU,
    TWO_GROUPS,
    all_slices,
    end_pods,
    inside,
    left_on,
    metax,
    mthreads,
)
from e2e.agent_watch_kit import until, until_counts
from e2e.restarts_kit import PATIENCE, container_status
from tangram.model.devices import Device
from tangram.units.na import known
from testbed.api import ApiRefused, Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, is_bound, is_over, is_running, pod

SLICED_CARDS = 4
SLICED = f"tangram: cards/v1\ncards:\n- {{product: C500, count: {SLICED_CARDS}, sliced: true}}\n"
MOORE = "tangram: cards/v1\ncards:\n- {product: S4000, count: 2}\n"
VCORE, VMEMORY, VGPU = "metax-tech.com/vcore", "metax-tech.com/vmemory", "mthreads.com/vgpu"
QOS = "metax-tech.com/sgpu-qos-policy"
USE = "metax-tech.com/use-gpuuuid"
ALL = 100
WATCH_EVERY_S = 0.3
UNPLACED = ("FailedScheduling", "FilteringFailed")
"""Reasons of events of kube-scheduler and of HAMi."""


@dataclass
class World:
    """The nodes, and what was seen to go wrong on them."""

    cluster: Cluster
    sliced: AgentNode
    whole: AgentNode
    moore: AgentNode
    wrongs: list[str] = field(default_factory=list[str])

    @property
    def nodes(self) -> tuple[AgentNode, ...]:
        return self.sliced, self.whole, self.moore

    def node_of(self, seen: Object) -> AgentNode:
        (node,) = [each for each in self.nodes if str(each.name) == seen["spec"]["nodeName"]]
        return node

    # ---- pods

    async def submit(self, *pods: Object) -> None:
        await asyncio.gather(*(self.cluster.api.create(made) for made in pods))

    async def run(self, *pods: Object) -> list[Object]:
        """Create pods and return them as they run, in their order."""
        await self.submit(*pods)
        return [await self.running(made["metadata"]["name"]) for made in pods]

    async def running(self, name: str) -> Object:
        return await self.cluster.until_pod(name, is_running, within=2 * PATIENCE, what=f"pod {name} running")

    async def waits(self, name: str, words: str = "") -> None:
        """An event says why the pod cannot be placed, with these words, and it is not."""

        async def so() -> bool:
            events = await self.cluster.api.list(
                path_of("Event"), fieldSelector=f"involvedObject.name={name}"
            )
            return any(one["reason"] in UNPLACED and words in one["message"] for one in events)

        await until(so, f"an event about {name} says {words!r}", within=2 * PATIENCE, pause=0.2)
        seen = await self.cluster.api.get(path_of("Pod", name))
        assert not is_bound(seen), f"{name} is on {seen['spec'].get('nodeName')}"

    async def end(self, *names: str) -> None:
        await end_pods(self.sliced, *names)

    async def empty(self) -> None:
        """No pod is left, and nothing of any on a node."""
        pods = await self.cluster.api.list(path_of("Pod"))
        await self.end(*(one["metadata"]["name"] for one in pods))
        for node in self.nodes:
            await until(lambda node=node: not left_on(node), f"nothing of the pods is left on {node.name}")

    async def lives(self) -> dict[str, tuple[str, str]]:
        """By name, the pods that run with their UID and container: what a change of schedulers must not touch."""
        pods = await self.cluster.api.list(path_of("Pod"))
        return {
            one["metadata"]["name"]: (one["metadata"]["uid"], container_status(one)["containerID"])
            for one in pods
            if is_running(one)
        }

    def idle_cards(self) -> list[Device]:
        """Sliced MetaX cards without a slice."""
        taken = {part.card for part in all_slices(self.sliced)}
        return [card for card in metax(self.sliced) if card.uuid not in taken]

    # ---- nothing is sold twice

    def check_slices(self) -> list[str]:
        """Where the driver's slices of a card come to more than the card slices."""
        memory: Counter[str] = Counter()
        cores: Counter[str] = Counter()
        for part in all_slices(self.sliced):
            memory[part.card] += part.memory
            cores[part.card] += part.cores
        return [
            f"card {card.index}: {memory[card.uuid]} bytes, {cores[card.uuid]} %"
            for card in metax(self.sliced)
            if memory[card.uuid] > known(card.sliceable, 0) or cores[card.uuid] > ALL
        ]

    async def check_whole(self) -> list[str]:
        """Where two running containers found the device node of one whole card."""
        owners: Counter[str] = Counter()
        files = {path for card in metax(self.whole) for path in card.nodes.all} - {
            card.nodes.control for card in metax(self.whole)
        }
        for one in await self.cluster.api.list(path_of("Pod")):
            if is_running(one) and one["spec"]["nodeName"] == str(self.whole.name) and not is_over(one):
                found = await inside(
                    self.whole, one["metadata"]["name"], one["spec"]["containers"][0]["name"]
                )
                owners.update(found.nodes & files)
        return [f"{path} is in {count} containers" for path, count in owners.items() if count > 1]

    async def sound(self) -> None:
        """Nothing was sold twice, now or at any moment that was looked at."""
        assert not self.wrongs, self.wrongs
        assert not self.check_slices()
        assert not await self.check_whole()

    async def watch(self) -> None:
        """Look at the driver until cancelled."""
        while True:
            with suppress(OSError):
                self.wrongs += await asyncio.to_thread(self.check_slices)
            await asyncio.sleep(WATCH_EVERY_S)


@asynccontextmanager
async def world_on(cluster: Cluster) -> AsyncGenerator[World]:
    """Cards and agents on all three nodes, gone again afterwards."""
    first, second, third = cluster.nodes
    world = World(
        cluster,
        AgentNode(cluster, first, device_config(cluster, first, "mode: sgpu\n")),
        AgentNode(cluster, second),
        AgentNode(cluster, third),
    )
    async with AsyncExitStack() as stack:
        for node, cards in zip(world.nodes, (SLICED, TWO_GROUPS, MOORE), strict=True):
            await node.start_cards(cards)
            stack.push_async_callback(cluster.box.stop, node.program("cards"))
        for node in world.nodes:
            await node.start_agent()
            stack.push_async_callback(node.stop_agent)
        await until_counts(world.sliced, SGPU, 16 * SLICED_CARDS, 16 * SLICED_CARDS, fresh=True)
        await until_counts(world.whole, GPU, 8, 8, fresh=True)
        await until_counts(world.moore, CORE, 32, 32, fresh=True)
        await until_counts(world.moore, MEMORY, 192, 192, fresh=True)
        watching = asyncio.create_task(world.watch())
        try:
            yield world
            await world.empty()
        finally:
            watching.cancel()
            for node in world.nodes:
                # For a person who reads why a story failed: pytest shows it then and only then.
                print(node.log())  # noqa: T201


# ---- pods


def asking(
    name: str,
    limits: Mapping[str, str | int],
    *,
    scheduler: str = "",
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """A pod whose container tells what it finds. Without a scheduler it names none, as in HAMi's examples."""
    made = pod(name, container(script=LOOK, limits=dict(limits)), annotations=annotations)
    if scheduler:
        made["spec"]["schedulerName"] = scheduler
    return made


def slice_of(
    name: str,
    *,
    gib: int = 4,
    cores: int = 10,
    scheduler: str = "",
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """A slice of a MetaX card in MetaX's words."""
    limits = {SGPU: 1, VCORE: cores, VMEMORY: gib}
    return asking(name, limits, scheduler=scheduler, annotations=annotations)


def exclusive(name: str, *, scheduler: str = "", annotations: Mapping[str, str] | None = None) -> Object:
    """A sliced card with all that it slices."""
    return asking(name, {SGPU: 1}, scheduler=scheduler, annotations=annotations)


async def uuids_in(world: World, seen: Object) -> set[str]:
    """The sliced cards whose slices the running pod's containers name in their environment."""
    name = seen["metadata"]["name"]
    said = [
        (await inside(world.sliced, name, one["name"])).env.get("METAX_SGPUS", "")
        for one in seen["spec"]["containers"]
    ]
    return {
        part.card for part in all_slices(world.sliced) if any(f"alias={part.name}" in text for text in said)
    }


async def whole_nodes(world: World, seen: Object) -> frozenset[str]:
    """The device nodes of cards that the running pod's first container finds."""
    name = seen["metadata"]["name"]
    found = await inside(world.node_of(seen), name, seen["spec"]["containers"][0]["name"])
    return found.nodes


def cards_with(devices: Iterable[Device], nodes: frozenset[str]) -> list[Device]:
    """The cards all of whose device nodes are among these."""
    return [card for card in devices if card.nodes.all and nodes.issuperset(card.nodes.all)]


def moore_index(world: World, environment: Mapping[str, str]) -> list[Device]:
    """The Moore Threads cards that a container's environment names, by number or by uuid."""
    said = environment.get("MTHREADS_VISIBLE_DEVICES", "").split(",")
    return [card for card in mthreads(world.moore) if str(card.index) in said or card.uuid in said]


async def gone(world: World, name: str) -> bool:
    try:
        await world.cluster.api.get(path_of("Pod", name))
    except ApiRefused as refused:
        return refused.status == 404
    return False
