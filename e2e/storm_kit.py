"""What the tests of the agent's bad days share: a node with sliced cards, what a container says it was given, and
whether the cards say the same.

It asks containers and cards, never the agent. Whether an answer is right is judged by what the test itself placed.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import NamedTuple

from e2e.agent_kit import AgentNode, agent_node
from e2e.restarts_kit import PATIENCE, container_status
from e2e.slice_pods_kit import SLICE, Part, remove_all_pods
from tangram.drivers.simulated.client import SimulatedClient
from tangram.model.devices import Device, Slice
from tangram.units.memory import floor_mib
from testbed.api import ApiRefused, NotInTime, Object, path_of
from testbed.cluster import Cluster

NOT_GIVEN = "GpuNotGiven"

_ENTRY = re.compile(r"sgpu=([^#;,]+)#(\d+);compute=(\d+);vram=(\d+);alias=([^;,]+)")


class Told(NamedTuple):
    """One slice as a container is told of it."""

    bus: str
    number: int
    cores: int
    memory: int
    alias: str


class Given(NamedTuple):
    """What a container found."""

    slices: tuple[Told, ...]
    nodes: frozenset[str]


# ---- a node with cards


@asynccontextmanager
async def sliced_node(
    cluster: Cluster, cards: int = 2, *, extra: Sequence[str] = (), more: str = ""
) -> AsyncGenerator[AgentNode]:
    """So many sliced C500 and an agent that has offered them."""
    described = f"tangram: cards/v1\ncards:\n- {{product: C500, count: {cards}, sliced: true}}\n{more}"
    async with agent_node(cluster, described, mode="mode: sgpu\n", extra=extra) as node:
        await node.until_allocatable(SLICE, cards * 16, within=PATIENCE)
        yield node


async def start_agent_anew(node: AgentNode, count: int, *options: str, resource: str = SLICE) -> None:
    """Start an agent after the last has ended, and return once the kubelet counts so many units of the new one."""
    await node.until_allocatable(resource, 0, within=PATIENCE)
    await node.start_agent(*options)
    await node.until_allocatable(resource, count, within=PATIENCE)


def registrations(node: AgentNode) -> int:
    """How often the agents of this node have registered so far."""
    return node.log().count("registered with the kubelet")


@contextmanager
def driver_of(node: AgentNode) -> Generator[SimulatedClient]:
    driver = node.driver
    try:
        yield driver
    finally:
        driver.close()


def cards_of(node: AgentNode) -> dict[str, Device]:
    with driver_of(node) as driver:
        return {str(device.uuid): device for device in driver.devices()}


def uuids(node: AgentNode) -> list[str]:
    return list(cards_of(node))


def slices_of(node: AgentNode) -> dict[str, list[Slice]]:
    """Every slice that exists, by card."""
    with driver_of(node) as driver:
        return {str(device.uuid): list(driver.slices(device.uuid)) for device in driver.devices()}


def parts_of(node: AgentNode) -> list[Part]:
    """Every slice that exists, in the words of a test."""
    return sorted(
        Part(card, floor_mib(one.memory), one.cores)
        for card, found in slices_of(node).items()
        for one in found
    )


def control(node: AgentNode, line: str) -> None:
    with driver_of(node) as driver:
        driver.control(line)


# ---- what containers have


async def given_to(node: AgentNode, name: str, container_name: str = "main") -> Given:
    """What a container says it was given, once it has said all."""
    said = ""
    try:
        async with asyncio.timeout(PATIENCE):
            while "said\n" not in said:
                await asyncio.sleep(0.05)
                with suppress(ApiRefused):
                    said = await node.cluster.pod_log(name, container_name)
    except TimeoutError:
        raise NotInTime(f"container {container_name} of pod {name} said only {said!r}") from None
    return _given_in(said)


async def given_by_file(node: AgentNode, seen: Object, restart: int) -> Given:
    """The same of a container's later life, read on the node itself: the API server need not be there."""
    meta = seen["metadata"]
    folder = node.cluster.room(node.names).log / "pods" / f"default_{meta['name']}_{meta['uid']}" / "main"

    def said() -> str:
        file = folder / f"{restart}.log"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        # A moment, a stream and a mark come before each line.
        return "".join(f"{line.split(' ', 3)[3]}\n" for line in lines if line.count(" ") > 2)

    await until(lambda: "said\n" in said(), f"pod {meta['name']} has not spoken after {restart} restarts")
    return _given_in(said())


def _given_in(said: str) -> Given:
    lines = said.splitlines()
    written = next((line.removeprefix("slices ") for line in lines if line.startswith("slices ")), "")
    entries = [_ENTRY.fullmatch(entry) for entry in written.split(",") if entry]
    assert all(entries), f"METAX_SGPUS is {written!r}"
    return Given(
        tuple(
            Told(one[1], int(one[2]), int(one[3]), int(one[4]), one[5]) for one in entries if one is not None
        ),
        frozenset(line.removeprefix("node ") for line in lines if line.startswith("node ")),
    )


def assert_has(node: AgentNode, given: Given, *parts: Part) -> None:
    """The container was told of exactly these slices, the cards have them so, and its nodes are those of the cards."""
    cards, present = cards_of(node), slices_of(node)
    told = sorted((one.bus, one.memory, one.cores) for one in given.slices)
    assert told == sorted((cards[part.card].bdf, part.memory, part.cores) for part in parts)
    by_bus = {device.bdf: uuid for uuid, device in cards.items()}
    for one in given.slices:
        there = {
            (each.id, each.name): (floor_mib(each.memory), each.cores) for each in present[by_bus[one.bus]]
        }
        assert there.get((one.number, one.alias)) == (one.memory, one.cores), f"{one} is not in {there}"
    assert given.nodes == frozenset(path for part in parts for path in cards[part.card].nodes.all)


def assert_has_whole(node: AgentNode, given: Given, *cards: str) -> None:
    """The container has the nodes of exactly these cards, and no slice."""
    known = cards_of(node)
    assert not given.slices
    assert given.nodes == frozenset(path for card in cards for path in known[card].nodes.all)


def assert_nobody_shares(given: Iterable[Given]) -> None:
    """No slice was handed to two containers."""
    told = [(one.bus, one.number) for each in given for one in each.slices]
    assert len(told) == len(set(told)), "a slice was sold twice"


def assert_never_started(seen: Object, name: str = "main") -> None:
    status = container_status(seen, name)
    assert not status.get("containerID"), f"container {name} was started: {status}"
    assert status.get("restartCount", 0) == 0


# ---- what is said about it


async def until_event(
    cluster: Cluster, about: str, words: str, *, kind: str = "Pod", reason: str = NOT_GIVEN
) -> str:
    """The message of an event about an object that has these words in it."""
    messages: list[str] = []
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                events = await cluster.api.list(
                    path_of("Event"),
                    fieldSelector=f"involvedObject.kind={kind},involvedObject.name={about},reason={reason}",
                )
                messages = [one["message"] for one in events]
                for message in messages:
                    if words in message:
                        return message
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise NotInTime(f"no event about {about} says {words!r}; there are {messages}") from None


async def until_clean(node: AgentNode) -> None:
    """Nothing of any pod is left: no slice, no CDI file."""
    await until(lambda: not parts_of(node) and not grant_files(node), lambda: _left(node))


def grant_files(node: AgentNode) -> list[str]:
    folder = node.cluster.room(node.names).cdi
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("tangram"))


def _left(node: AgentNode) -> str:
    return f"left over are {parts_of(node)} and {grant_files(node)}"


async def until(true: Callable[[], bool], what: Callable[[], str] | str) -> None:
    """Wait for something that nobody announces, such as a slice."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not true():
                await asyncio.sleep(0.1)
    except TimeoutError:
        said = what if isinstance(what, str) else what()
        raise NotInTime(f"within {PATIENCE:g} s: {said}") from None


async def emptied(node: AgentNode) -> None:
    """Take every pod away and wait until nothing of them is left, as every test must leave a shared node."""
    # For whoever reads why a test failed: pytest shows it then and only then.
    print(node.log())  # noqa: T201
    await remove_all_pods(node)
    await until_clean(node)
