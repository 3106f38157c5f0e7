"""What the tests of the node agent look at: containers from inside, cards from the driver, the node from the API.

It states no fact: that is left to the test that needs it.
"""

import asyncio
import signal
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import pytest

from e2e.agent_kit import AgentNode, agent_node
from e2e.agent_watch_kit import annotate, until, until_annotation, until_counts
from e2e.restarts_kit import PATIENCE
from tangram.drivers.simulated.client import connected
from tangram.model.cards import Vendor
from tangram.model.devices import Device, Slice, SliceRoom
from testbed.api import ApiRefused, Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, is_gone, is_running, pod

GPU = "metax-tech.com/gpu"
SGPU = "metax-tech.com/sgpu"
VCORE = "metax-tech.com/vcore"
VMEMORY = "metax-tech.com/vmemory"
MTHREADS_GPU = "mthreads.com/gpu"
VGPU = "mthreads.com/vgpu"
CORE = "mthreads.com/sgpu-core"
MEMORY = "mthreads.com/sgpu-memory"
NODE_LOCK = "hami.io/mutex.lock"
WHOLE_GIVEN = "hami.io/metax-gpu-devices-to-allocate"
"""Which whole cards, by their ids; what HAMi counts says the same by ids that it makes up."""
WHOLE_COUNTED = "hami.io/metax-gpu-devices-allocated"

TWO_GROUPS = "tangram: cards/v1\ncards:\n- server: c500-8-two-groups\n"
# Everyone's, and the standard descriptors.
_COMMON = "null|zero|full|random|urandom|tty|ptmx|pts/*"
LOOK = (
    "env | grep -E '^(METAX|MTHREADS|MUSA)' | sed 's/^/env /'; "
    "for file in $(find /dev -type c | sort); do "
    f'case "${{file#/dev/}}" in {_COMMON}) ;; *) echo "has $file";; esac; done; echo looked; '
    "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"
)
"""Prints what a container was given, and stays until it is told to end."""


@dataclass(frozen=True)
class Inside:
    """What a container finds."""

    env: Mapping[str, str]
    nodes: frozenset[str]


# ---- pods


def asking(name: str = "main", **limits: int) -> Object:
    """A container that tells what it got, with limits by their short names."""
    return container(name, script=LOOK, limits={_RESOURCES[word]: count for word, count in limits.items()})


_RESOURCES = {
    "gpu": GPU,
    "sgpu": SGPU,
    "vcore": VCORE,
    "vmemory": VMEMORY,
    "mtgpu": MTHREADS_GPU,
    "vgpu": VGPU,
    "core": CORE,
    "memory": MEMORY,
}


def slice_of(name: str = "main", *, cards: int = 1, cores: int = 10, gib: int = 1) -> Object:
    """A container that asks for a part of MetaX cards."""
    return asking(name, sgpu=cards, vcore=cores, vmemory=gib)


def whole_pod(name: str, count: int, node: AgentNode | None = None) -> Object:
    """A pod with so many whole cards; with a node it is bound there by its author."""
    return pod(name, asking(gpu=count), node="" if node is None else str(node.name))


async def inside(node: AgentNode, name: str, container_name: str = "main") -> Inside:
    """What a container printed about itself, once it runs and has said all."""
    await running(node, name)
    said = ""
    async with asyncio.timeout(PATIENCE):
        while "looked\n" not in said:
            # A kubelet that has just started runs containers before it hands out their logs.
            with suppress(ApiRefused):
                said = await node.cluster.pod_log(name, container_name)
            await asyncio.sleep(0.02)
    lines = [line.split(" ", 1) for line in said.splitlines() if " " in line]
    env = dict(rest.split("=", 1) for word, rest in lines if word == "env")
    return Inside(env, frozenset(rest for word, rest in lines if word == "has"))


def share(cards: str, limit: int, weight: int, memory: int, cores: int) -> Inside:
    """The five variables that the vendor's runtime and tools read, and no device file."""
    return Inside(
        {
            "MTHREADS_VISIBLE_DEVICES": cards,
            "MTHREADS_QOS_MEMORY_LIMIT": str(limit),
            "MTHREADS_QOS_COMPUTING_POWER_WEIGHT": str(weight),
            "MTHREADS_ALLOCATED_SGPU_MEMORY_DEVICES": str(memory),
            "MTHREADS_ALLOCATED_SGPU_CORE_DEVICES": str(cores),
        },
        frozenset(),
    )


async def running(node: AgentNode, name: str) -> Object:
    return await node.cluster.until_pod(name, is_running, within=PATIENCE, what=f"pod {name} running")


async def run_here(node: AgentNode, *pods: Object) -> list[Object]:
    """Create pods bound by their authors and return them as they run."""
    for one in pods:
        one["spec"]["nodeName"] = str(node.name)
        await node.cluster.api.create(one)
    return [await running(node, one["metadata"]["name"]) for one in pods]


async def end_pods(node: AgentNode, *names: str) -> None:
    """Delete pods as people do, and wait until they are gone."""
    for name in names:
        with suppress(ApiRefused):
            await node.cluster.api.delete(path_of("Pod", name))
    for name in names:
        await node.cluster.until_pod(name, is_gone, within=PATIENCE)


async def empty(node: AgentNode) -> None:
    """No pod is left, and nothing of any."""
    pods = await node.cluster.api.list(path_of("Pod"))
    await end_pods(node, *(one["metadata"]["name"] for one in pods))
    await until(lambda: not left_on(node), "nothing of the pods is left on the node")


# ---- cards


def metax(node: AgentNode) -> list[Device]:
    """The MetaX cards by their numbers, without virtual functions."""
    return _cards(node, Vendor.METAX)


def mthreads(node: AgentNode) -> list[Device]:
    return _cards(node, Vendor.MTHREADS)


def _cards(node: AgentNode, vendor: Vendor) -> list[Device]:
    found = [
        each for each in look(node).devices if each.vendor is vendor and each.virtual_function_of is None
    ]
    return sorted(found, key=lambda each: each.index)


@dataclass(frozen=True)
class Seen:
    """What the driver says."""

    devices: Sequence[Device]
    slices: Mapping[str, Sequence[Slice]]


def look(node: AgentNode) -> Seen:
    """The driver's own word, over a connection of its own."""
    driver = connected(node.socket)
    try:
        devices = driver.devices()
        sliced = [each for each in devices if each.sliced is True]
        return Seen(devices, {each.uuid: driver.slices(each.uuid) for each in sliced})
    finally:
        driver.close()


def tell(node: AgentNode, line: str) -> object:
    """A command to the simulation, such as `fail GPU-1`."""
    driver = connected(node.socket)
    try:
        return driver.control(line)
    finally:
        driver.close()


def nodes_of(devices: Iterable[Device]) -> frozenset[str]:
    return frozenset(path for device in devices for path in device.nodes.all)


def all_slices(node: AgentNode) -> list[Slice]:
    return [part for parts in look(node).slices.values() for part in parts]


def left_on(node: AgentNode) -> list[str]:
    """Names of slices, CDI files and noted answers that are on the node now."""
    room = node.cluster.room(node.names)
    files = [file.name for file in room.cdi.iterdir() if not file.name.startswith(".")]
    return [*(part.name for part in all_slices(node)), *files]


def cards_in(annotation: str) -> list[list[str]]:
    """By container, the ids in an allocation string of HAMi."""
    parts = annotation.removesuffix(";").split(";")
    return [[card.split(",")[0] for card in part.split(":") if card] for part in parts]


def positions(devices: Sequence[Device], uuids: Iterable[str]) -> list[int]:
    """1-based places of cards among these, as the manual's figures count."""
    place: dict[str, int] = {device.uuid: number for number, device in enumerate(devices, start=1)}
    return sorted(place[uuid] for uuid in uuids)


@dataclass(frozen=True)
class Setup:
    """Cards, how the agent is to offer them, and what it then offers."""

    name: str
    cards: str
    offers: Mapping[str, int]
    mode: str = ""
    extra: tuple[str, ...] = ()


@asynccontextmanager
async def kept(cluster: Cluster, setup: Setup) -> AsyncGenerator[AgentNode]:
    """An agent that offers what it shall; nothing of its pods is left behind."""
    async with agent_node(cluster, setup.cards, mode=setup.mode, extra=setup.extra) as node:
        for resource, count in setup.offers.items():
            await until_counts(node, resource, count, count, fresh=True)
        try:
            yield node
        finally:
            # For whoever reads why a test failed: pytest shows it then and only then.
            print(node.log())  # noqa: T201
            await empty(node)


def on(setup: Setup) -> pytest.MarkDecorator:
    """Tests of one setup share one agent, in the fixture `standing` of their module."""
    return pytest.mark.parametrize("standing", [pytest.param(setup, id=setup.name)], indirect=True)


def set_mode(node: AgentNode, text: str) -> None:
    """Edit the ConfigMap of the agent as a volume shows it: whole files, one after the other."""
    folder = node.cluster.room(node.names).run / "device-config"
    unfinished = folder / ".unfinished"
    unfinished.write_text(text)
    unfinished.replace(folder / "cluster-config")


def predicted(node: AgentNode, *containers: Sequence[Device]) -> dict[str, str]:
    """What our scheduler writes of whole cards at bind, where all cards of the node are whole."""

    def text(name: Callable[[Device], str]) -> str:
        rows = ["".join(f"{name(card)},Metax-GPU,65536,100:" for card in cards) for cards in containers]
        return "".join(f"{row};" for row in rows)

    return {
        WHOLE_GIVEN: text(lambda card: card.uuid),
        WHOLE_COUNTED: text(lambda card: f"{node.name}-metax-{card.index}"),
        "hami.io/vgpu-node": str(node.name),
    }


def room_on(node: AgentNode, card: Device) -> SliceRoom:
    """What the driver says of a card's slices as a whole: its policy, what is left."""
    driver = connected(node.socket)
    try:
        return driver.room(card.uuid)
    finally:
        driver.close()


async def place_known(node: AgentNode, made: Object, written: Mapping[str, str]) -> None:
    """Place a pod so that the agent knows of it before the kubelet does, and can keep what a scheduler predicted.

    Who hears first is left to chance otherwise, and the kubelet waits for nobody. That the agent has heard shows in the
    node lock, which it takes off for a pod that is there.
    """
    lock = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())},default,{made['metadata']['name']}"
    await node.cluster.box.send(node.names.kubelet, signal.SIGSTOP)
    try:
        await annotate(node, {NODE_LOCK: lock})
        await node.place(made, written)
        await until_annotation(node, NODE_LOCK, lambda value: not value, "the agent knows the pod")
    finally:
        await node.cluster.box.send(node.names.kubelet, signal.SIGCONT)
