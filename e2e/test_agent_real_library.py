"""The whole way of forty slices over MetaX's library: our scheduler places them, the agent makes them, containers find
them, while the agent is killed and cards are lost.

Compute is asked for so that five pods fill a card, so forty fill all eight, whatever the scheduler prefers: a new pod
has a place only where a pod has gone. Memory differs from pod to pod, so a mix-up of any two shows.
"""

import asyncio
import signal
from collections.abc import AsyncGenerator, Iterable, Mapping

import pytest
import pytest_asyncio

from e2e.agent_watch_kit import listed_cards, until_counts, until_event
from e2e.metax_host_kit import BY_HAND, CARDS, SLOTS, MetaxHost, libraries, metax_host
from e2e.nodes_kit import touch
from e2e.restarts_kit import PATIENCE, checkpointed, same_container
from e2e.scheduler_kit import apply, placing, slices_in, until_bound, until_waiting
from e2e.slice_pods_kit import SLICE, Part, remove_all_pods, slice_pod, until_running
from e2e.storm_kit import (
    assert_has,
    assert_nobody_shares,
    cards_of,
    given_to,
    grant_files,
    slices_of,
    until,
)
from e2e.test_health import health
from tangram.model.devices import Slice
from tangram.services.gpu_device.grants import slice_name
from tangram.units.memory import floor_mib
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import is_gone, is_running

pytestmark = pytest.mark.xdist_group("agent over MetaX's library")

PODS = 40
LEAST = 17
"""Percent: six times that is more than a card."""
VANISHED, LIMITED = 2, 5
"""Cards that are lost, by their numbers."""


@pytest_asyncio.fixture(params=libraries())
async def node(bed: Cluster, request: pytest.FixtureRequest) -> AsyncGenerator[MetaxHost]:
    async with metax_host(bed, request.param) as host, placing(bed):
        yield host
        await remove_all_pods(host)


def asked(number: int) -> tuple[int, int]:
    """MiB and percent of a pod."""
    return 6400 + 128 * number, LEAST + number % 4


def asking_pod(number: int) -> Object:
    return slice_pod(name_of(number), Part("", *asked(number)))


async def test_forty_containers_keep_exactly_their_slices_when_the_agent_dies_and_cards_are_lost(
    node: MetaxHost,
) -> None:
    await start_and_kill(node)
    pods = await until_all_run(node, *map(name_of, range(PODS)))
    await assert_exact(node, pods)
    by_card = pods_by_card(pods)
    assert {card: len(names) for card, names in by_card.items()} == dict.fromkeys(cards_of(node), 5)

    lost = [
        (uuid, device.bdf) for uuid, device in cards_of(node).items() if device.index in (VANISHED, LIMITED)
    ]
    (vanished, vanished_at), (limited, limited_at) = lost
    node.tree.lose(vanished_at)
    node.tree.limit(limited_at)
    await until_lost(node, {vanished, limited})
    await assert_only_theirs_are_told(node, pods, by_card[vanished] | by_card[limited])

    # A place on a lost card is none; one that becomes free elsewhere is.
    gone, other = min(by_card[vanished]), min(by_card[min(set(by_card) - {vanished, limited})])
    first, second = name_of(PODS), name_of(PODS + 1)
    await delete(node, gone)
    await apply(node.cluster, asking_pod(PODS))
    await until_waiting(node.cluster, first)
    await delete(node, other)
    after = {name: seen for name, seen in pods.items() if name not in (gone, other)}
    after[first] = await run_one(node, PODS)
    assert only_card_of(after[first]) == only_card_of(pods[other])

    await node.kill_agent()
    await node.start_agent()
    await until_counts(node, SLICE, (CARDS - 1) * SLOTS, (CARDS - 2) * SLOTS, fresh=True)
    await apply(node.cluster, asking_pod(PODS + 1))
    await until_waiting(node.cluster, second)
    node.tree.bring_back()
    await until_counts(node, SLICE, CARDS * SLOTS, CARDS * SLOTS)
    after[second] = await run_one(node, PODS + 1)
    assert only_card_of(after[second]) == vanished
    await assert_exact(node, after)
    await assert_untouched(node, pods, set(pods) & set(after))

    leaving = {name for name in after if int(name.rpartition("-")[2]) % 2}
    await asyncio.gather(*(delete(node, name) for name in leaving))
    after = {name: seen for name, seen in after.items() if name not in leaving}
    await assert_exact(node, after)
    await assert_untouched(node, pods, set(pods) & set(after))
    await remove_all_pods(node)
    await until(lambda: not ours(node) and not grant_files(node), lambda: f"{ours(node)} are left")
    assert_by_hand_is_there(node)


# ---- steps


async def start_and_kill(node: MetaxHost) -> None:
    """Have all pods admitted at once, and end the agent when it has made some of their slices.

    A pod that is not admitted yet when the agent ends is refused by the kubelet, and is no part of this story; nor is a
    slice that has no name yet, which goes after a minute and a half (`tests/services/gpu_device/test_tidying.py`).
    """
    kubelet = node.names.kubelet
    await node.cluster.box.send(kubelet, signal.SIGSTOP)
    try:
        await apply(node.cluster, *map(asking_pod, range(PODS)))
        for number in range(PODS):
            await until_bound(node.cluster, name_of(number))
    finally:
        await node.cluster.box.send(kubelet, signal.SIGCONT)

    def amid() -> bool:
        admitted = len(checkpointed(node.cluster, SLICE)) == PODS
        return admitted and len(ours(node)) >= PODS // 4 and not node.tree.nameless()

    async with asyncio.timeout(PATIENCE):
        while not await node.kill_agent(amid):
            await asyncio.sleep(0.01)
    made = len(ours(node))
    print(f"{made} slices were made before the agent was killed")  # noqa: T201 - shown when it fails
    assert made < PODS
    await node.start_agent()


async def until_all_run(node: MetaxHost, *names: str) -> dict[str, Object]:
    """These pods as they run; the kubelet is made to try at once what it would try again later."""
    async with asyncio.timeout(PATIENCE):
        while True:
            pods = {one["metadata"]["name"]: one for one in await node.cluster.api.list(path_of("Pod"))}
            waiting = [name for name in names if not is_running(pods[name])]
            if not waiting:
                return {name: pods[name] for name in names}
            for name in waiting:
                await touch(node.cluster, name)
            await asyncio.sleep(1)


async def run_one(node: MetaxHost, number: int) -> Object:
    """A pod that waited, once it was placed and runs. Nothing is done to it before it is placed."""
    await until_bound(node.cluster, name_of(number))
    return (await until_all_run(node, name_of(number)))[name_of(number)]


async def until_lost(node: MetaxHost, lost: set[str]) -> None:
    """The node offers no slot of these cards, says of each why, and all others go on."""
    await until_counts(node, SLICE, CARDS * SLOTS, (CARDS - len(lost)) * SLOTS)
    for uuid in lost:
        told = await until_event(node, node.name, "GpuUnhealthy", uuid)
        assert told["type"] == "Warning"
        assert told["message"].rpartition(uuid)[2].partition(":")[2].strip(), "it says why"
    listed = await listed_cards(node)
    assert {uuid for uuid, card in listed.items() if not card.get("healthy", False)} == lost
    assert len(listed) == CARDS


async def assert_only_theirs_are_told(node: MetaxHost, pods: Mapping[str, Object], theirs: set[str]) -> None:
    """Every pod runs on, and those of a lost card alone hear of it."""
    for name, before in pods.items():
        word = "Unhealthy" if name in theirs else "Healthy"
        seen = await node.cluster.until_pod(
            name,
            lambda seen, word=word: set(health(seen).values()) == {word},
            within=PATIENCE,
            what=f"the device of {name} {word}",
        )
        assert is_running(seen)
        assert same_container(seen, before)


async def assert_untouched(node: MetaxHost, pods: Mapping[str, Object], names: Iterable[str]) -> None:
    """These containers are the ones that were there at the beginning."""
    for name in names:
        assert same_container(await until_running(node, name), pods[name])


async def assert_exact(node: MetaxHost, pods: Mapping[str, Object]) -> None:
    """Every container has the slice that it asked for and the scheduler chose, and there is no other slice."""
    found = {name: await given_to(node, name) for name in pods}
    wanted: list[tuple[str, str, int, int]] = []
    for name, seen in pods.items():
        (((card, memory, cores),),) = slices_in(seen)
        assert (memory, cores) == asked(int(name.rpartition("-")[2]))
        wanted.append((card, expected_name(seen), memory, cores))
    await until(
        lambda: sorted(described(node)) == sorted(wanted),
        lambda: f"{sorted(described(node))} exist and {sorted(wanted)} should",
    )
    for (name, given), (card, alias, memory, cores) in zip(found.items(), wanted, strict=True):
        assert_has(node, given, Part(card, memory, cores))
        assert [one.alias for one in given.slices] == [alias], name
    assert_nobody_shares(found.values())
    assert_by_hand_is_there(node)


async def delete(node: MetaxHost, name: str) -> None:
    await node.cluster.api.delete(path_of("Pod", name))
    await node.cluster.until_pod(name, is_gone, within=PATIENCE)


# ---- words for what is there


def name_of(number: int) -> str:
    return f"job-{number}"


def expected_name(seen: Object) -> str:
    return slice_name(seen["metadata"]["uid"], "main")


def only_card_of(seen: Object) -> str:
    (((card, _, _),),) = slices_in(seen)
    return card


def pods_by_card(pods: Mapping[str, Object]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, seen in pods.items():
        found.setdefault(only_card_of(seen), set()).add(name)
    return found


def ours(node: MetaxHost) -> list[Slice]:
    return [one for found in slices_of(node).values() for one in found if one.name != BY_HAND.alias]


def described(node: MetaxHost) -> list[tuple[str, str, int, int]]:
    return [(str(one.card), one.name, floor_mib(one.memory), one.cores) for one in ours(node)]


def assert_by_hand_is_there(node: MetaxHost) -> None:
    """Nothing was done to the slice that a person made."""
    found = [one for each in slices_of(node).values() for one in each if one.name == BY_HAND.alias]
    assert [(one.id, floor_mib(one.memory), one.cores) for one in found] == [
        (BY_HAND.id, BY_HAND.memory, BY_HAND.compute)
    ]
