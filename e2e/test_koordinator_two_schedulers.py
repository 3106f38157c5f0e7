"""A scripted koord-scheduler and ours on the same node at the same time: no card is sold twice.

What is added up is what the driver says of its slices and what containers say of theirs, never what anybody wrote on a
pod. Every gap of koord-scheduler is wide open.
"""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from e2e.agent_kit import AGENT, AgentNode, slices
from e2e.agent_view_kit import (
    LOOK,
    VCORE,
    VMEMORY,
    Setup,
    all_slices,
    asking,
    empty,
    inside,
    metax,
    on,
)
from e2e.agent_watch_kit import annotations, until, until_annotation
from e2e.koordinator_kit import (
    NODE_LOCK,
    QUICK,
    SGPU,
    Koordinator,
    create_all,
    install_definition,
    koord_pod,
    koordinator,
    share,
    until_unlocked,
    whole,
)
from e2e.nodes_kit import until_refused
from e2e.restarts_kit import PATIENCE, container_status, get_pod
from e2e.scheduler_kit import SCHEDULER, Placement, events_of, placing
from e2e.storm_kit import NOT_GIVEN
from testbed.api import NotInTime, Object, path_of
from testbed.cluster import Cluster
from testbed.koord_devices import ALLOCATED, Given
from testbed.koord_scheduler import Windows
from testbed.koord_state import Chosen
from testbed.manifests import container, is_bound, is_gone, is_over, is_running, pod

pytestmark = [pytest.mark.xdist_group("two schedulers"), pytest.mark.usefixtures("placement")]

GIB = 1 << 30
CARDS = 4
SLICED = Setup(
    "sliced",
    f"tangram: cards/v1\ncards:\n- {{product: C500, count: {CARDS}, sliced: true}}\n",
    {SGPU: 16 * CARDS},
    "mode: sgpu\n",
)
LONG = 80.0
LATE = 3.0
"""How far behind koord-scheduler's copies are where a test needs it to decide from the past."""


@pytest_asyncio.fixture(scope="module")
async def placement(bed: Cluster) -> AsyncIterator[Placement]:
    # Before our scheduler starts: it looks for a kind that is not there only once a minute.
    await install_definition(bed)
    async with placing(bed) as ready:
        yield ready


@asynccontextmanager
async def both(node: AgentNode, windows: Windows) -> AsyncGenerator[Koordinator]:
    """Both schedulers over one node, which is left empty."""
    async with koordinator(node, windows, file=False) as running:
        try:
            yield running
        finally:
            await empty(node)


def ours(name: str, core: int, gib: int) -> Object:
    """A slice in MetaX's own words, for our scheduler."""
    return pod(name, container(script=LOOK, limits={SGPU: 1, VCORE: core, VMEMORY: gib}), scheduler=SCHEDULER)


def ours_in_their_words(made: Object) -> Object:
    """The same pod, placed by our scheduler."""
    made["spec"]["schedulerName"] = SCHEDULER
    return made


# ---- what is really held


def check_cards(node: AgentNode) -> None:
    """By the driver alone: no card has given more than it has, and a whole one gave to nobody else."""
    sizes = {card.uuid: card.memory for card in metax(node)}
    memory: Counter[str] = Counter()
    cores: Counter[str] = Counter()
    for part in all_slices(node):
        memory[part.card] += part.memory
        cores[part.card] += part.cores
    for uuid, size in sizes.items():
        assert isinstance(size, int)
        assert memory[uuid] <= size, f"{uuid} gave out {memory[uuid]} of {size} bytes"
        assert cores[uuid] <= 100, f"{uuid} gave out {cores[uuid]} percent"


async def check_containers(node: AgentNode) -> None:
    """Every running container has as many slices as it asked for, as large, and no slice is two containers'.

    A slice that is nobody's is of a pod that has just ended or is about to run: it does not stay so.
    """
    deadline = time.monotonic() + PATIENCE
    while unowned := await unowned_slices(node):
        assert time.monotonic() < deadline, f"nobody has {unowned}"
        await asyncio.sleep(0.5)


async def unowned_slices(node: AgentNode) -> set[tuple[str, str]]:
    """Card and name of slices that no running container has. A container's slices of several cards share a name."""
    owner: dict[tuple[str, str], str] = {}
    names = [one["metadata"]["name"] for one in await pods_of(node) if is_running(one)]
    parts = all_slices(node)
    for name in names:
        found = await inside(node, name)
        seen = await get_pod(node.cluster, name)
        mine = [part for part in parts if f"alias={part.name}" in found.env["METAX_SGPUS"]]
        limits = seen["spec"]["containers"][0]["resources"]["limits"]
        assert len(mine) == int(limits[SGPU]), f"{name} has {mine}"
        for part in mine:
            assert owner.setdefault((part.card, part.name), name) == name
            if VCORE in limits:
                assert (part.memory, part.cores) == (int(limits[VMEMORY]) * GIB, int(limits[VCORE]))
    return {(str(part.card), part.name) for part in parts} - owner.keys()


class Watching:
    """Looks at the cards all the time, not only in the end."""

    def __init__(self, node: AgentNode) -> None:
        self._node = node
        self.looks = 0

    async def run(self) -> None:
        while True:
            check_cards(self._node)
            self.looks += 1
            await asyncio.sleep(0.1)


@asynccontextmanager
async def watched(node: AgentNode) -> AsyncGenerator[None]:
    watching = Watching(node)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(watching.run())
        yield
        task.cancel()
    assert watching.looks > 5


async def pods_of(node: AgentNode) -> list[Object]:
    return await node.cluster.api.list(path_of("Pod"))


def is_refused(seen: Object) -> bool:
    """Bound, and the agent says why it may not start."""
    waiting = container_status(seen).get("state", {}).get("waiting", {})
    return waiting.get("reason") == "CreateContainerConfigError" and "[" in waiting.get("message", "")


def is_told(seen: Object) -> bool:
    """Fits nowhere, in the words of whoever should place it."""
    return any(
        one["type"] == "PodScheduled" and one["status"] == "False" and one.get("message")
        for one in seen["status"].get("conditions", [])
    )


def is_settled(seen: Object) -> bool:
    return is_running(seen) or (is_refused(seen) if is_bound(seen) else is_told(seen))


async def settled(node: AgentNode) -> list[str]:
    """The pods that run, once every other has been told why not. One that has failed is made again, as a Job does."""
    deadline = time.monotonic() + LONG
    while True:
        seen = await pods_of(node)
        for one in seen:
            if is_over(one):
                assert one["status"].get("message"), "a pod that fails says why"
                await make_again(node, one)
        running = [one["metadata"]["name"] for one in seen if is_running(one)]
        unsettled = [one for one in seen if not is_settled(one)]
        if running and not unsettled:
            return running
        if time.monotonic() > deadline:
            states = {one["metadata"]["name"]: (one["spec"], one["status"]) for one in unsettled}
            raise NotInTime(f"{len(running)} pods run and these neither run nor say why: {states}")
        await asyncio.sleep(0.3)


async def make_again(node: AgentNode, seen: Object) -> None:
    name = seen["metadata"]["name"]
    await node.cluster.api.delete(path_of("Pod", name), grace=0)
    await node.cluster.until_pod(name, is_gone)
    (again,) = [made for made in crowd() if made["metadata"]["name"] == name]
    await node.cluster.api.create(again)


# ---- the crowd


def crowd() -> list[Object]:
    """About one and a half times what four cards have, from both sides in turn."""
    sizes = [(20, 8), (10, 16), (50, 32), (30, 4), (70, 40), (5, 1)]
    pods: list[Object] = []
    for number, (core, gib) in enumerate(sizes):
        pods.append(koord_pod(f"theirs-{number}", share(core, f"{gib}Gi")))
        pods.append(ours(f"ours-{number}", core, gib))
    pods.append(koord_pod("theirs-whole", whole(1)))
    pods.append(ours_in_their_words(koord_pod("ours-whole", whole(1))))
    pods.append(ours_in_their_words(koord_pod("ours-part", share(25, "10Gi"))))
    return pods


@on(SLICED)
async def test_a_crowd_for_two_schedulers_never_gets_more_than_the_cards_have_and_all_run_in_the_end(
    standing: AgentNode,
) -> None:
    wide = Windows(news=0.4, before_lock=0.3, before_annotations=0.3, before_bind=0.3, backoff=(0.2, 1.0))
    async with both(standing, wide) as koord, watched(standing):
        await create_all(koord.cluster, crowd())
        left = {made["metadata"]["name"] for made in crowd()}
        rounds = 0
        while left:
            rounds += 1
            assert rounds <= len(crowd()), f"nobody of {left} gets to run"

            running = await settled(standing)
            check_cards(standing)
            await check_containers(standing)
            await until_unlocked(standing)
            for name in running:
                await koord.cluster.api.delete(path_of("Pod", name))
            for name in running:
                await koord.cluster.until_pod(name, is_gone, within=PATIENCE)
            left -= set(running)
        assert NODE_LOCK not in await annotations(standing)


# ---- each guard alone


@on(SLICED)
async def test_a_scripted_koord_scheduler_counts_what_our_scheduler_gave_in_any_words(
    standing: AgentNode,
) -> None:
    async with both(standing, QUICK) as koord:
        await koord.cluster.api.create(ours("mine", 60, 40))
        await inside(standing, "mine")
        (part,) = all_slices(standing)
        names = [f"beside-{number}" for number in range(CARDS)]
        await create_all(koord.cluster, (koord_pod(name, whole(1)) for name in names))
        await until(lambda: len(koord.scheduler.bound) == CARDS - 1, "as many are bound as cards are left")
        await until(lambda: len(koord.scheduler.waiting.stuck) == 1, "the last one waits")
        taken = [given.uuid for _, chosen in koord.scheduler.bound for given in given_in(koord, chosen)]
        assert sorted([*taken, part.card]) == sorted(card.uuid for card in metax(standing))
        for (_, name), _ in koord.scheduler.bound:
            await inside(standing, name)
        check_cards(standing)


def given_in(koord: Koordinator, chosen: Chosen) -> list[Given]:
    """The cards of a choice, with the ids of the Device."""
    ids = {card.index: str(card.uuid) for card in metax(koord.node)}
    return [Given(given.minor, given.amounts, ids[given.minor]) for given in chosen.given]


@on(SLICED)
async def test_our_bind_waits_for_one_that_a_scripted_koord_scheduler_has_begun_and_takes_what_that_left(
    standing: AgentNode,
) -> None:
    async with both(standing, Windows(before_bind=3.0, backoff=QUICK.backoff)) as koord:
        await koord.cluster.api.create(koord_pod("begun", whole(CARDS - 1)))
        await until(lambda: bool(koord.scheduler.locks), "koord-scheduler has the lock")
        # It is bound to nothing yet, so nobody but koord-scheduler knows which cards it will have.
        names = ["after-0", "after-1"]
        await create_all(koord.cluster, (ours(name, 100, 63) for name in names))
        await inside(standing, "begun")
        for name in names:
            await koord.cluster.until_pod(name, is_settled, within=PATIENCE)
        seen = {one["metadata"]["name"]: one for one in await pods_of(standing)}
        assert sorted(is_bound(seen[name]) for name in names) == [False, True]
        for name in seen:
            assert NOT_GIVEN not in [one["reason"] for one in await events_of(koord.cluster, name)]
        check_cards(standing)
        await check_containers(standing)
        await until_unlocked(standing)


@on(SLICED)
async def test_a_pod_that_says_nothing_to_a_scripted_koord_scheduler_is_made_to_by_the_agent_and_keeps_its_card(
    standing: AgentNode,
) -> None:
    card = metax(standing)[0]
    async with both(standing, QUICK) as koord:
        # As HAMi's scheduler writes it: Koordinator counts nothing of this.
        hidden = pod("hidden", asking(sgpu=1, vcore=60, vmemory=40))
        await standing.place(hidden, slices([(card.uuid, 40 << 10, 60)]))
        await inside(standing, "hidden")
        async with asyncio.timeout(PATIENCE):
            while ALLOCATED not in (await get_pod(koord.cluster, "hidden"))["metadata"]["annotations"]:
                await asyncio.sleep(0.05)
        await koord.cluster.api.create(koord_pod("all", whole(CARDS)))
        async with asyncio.timeout(PATIENCE):
            while not koord.scheduler.waiting.stuck:
                await asyncio.sleep(0.05)
        assert not is_bound(await get_pod(koord.cluster, "all"))
        await koord.cluster.api.delete(path_of("Pod", "hidden"))
        await inside(standing, "all")
        await until_unlocked(standing)
        check_cards(standing)


@on(SLICED)
async def test_a_pod_bound_from_a_late_copy_waits_with_a_sentence_until_the_card_is_free(
    standing: AgentNode,
) -> None:
    async with both(standing, Windows(news=LATE, backoff=QUICK.backoff)) as koord:
        await koord.cluster.api.create(koord_pod("late", whole(1)))
        names = [f"early-{number}" for number in range(CARDS)]
        await create_all(koord.cluster, (ours(name, 100, 63) for name in names))
        for name in names:
            await inside(standing, name)
        told = await until_refused(koord.cluster, "late", "CreateContainerConfigError", "[memory-oversold]")
        assert "default/early-" in told
        assert len(all_slices(standing)) == CARDS
        await until_unlocked(standing)
        for name in names:
            await koord.cluster.api.delete(path_of("Pod", name))
        await inside(standing, "late")
        check_cards(standing)


@on(SLICED)
async def test_where_the_node_as_a_whole_is_oversold_the_kubelet_fails_the_later_pod(
    standing: AgentNode,
) -> None:
    async with both(standing, Windows(news=LATE, backoff=QUICK.backoff)) as koord:
        await koord.cluster.api.create(koord_pod("late", whole(1)))
        await koord.cluster.api.create(ours_in_their_words(koord_pod("early", whole(CARDS))))
        await inside(standing, "early")
        seen = await koord.cluster.until_pod("late", is_over, within=PATIENCE)
        assert seen["status"]["reason"].startswith("OutOf")
        assert "koordinator.sh/" in seen["status"]["message"]
        await until_unlocked(standing)
        assert len(all_slices(standing)) == CARDS


@on(SLICED)
async def test_a_lock_that_a_scripted_koord_scheduler_writes_over_ours_ends_in_no_lock_and_no_card_twice(
    standing: AgentNode,
) -> None:
    async with both(standing, Windows(news=LATE, backoff=QUICK.backoff)) as koord:
        agent = standing.program(AGENT)
        await koord.cluster.box.send(agent, signal.SIGSTOP)
        try:
            await koord.cluster.api.create(koord_pod("theirs", share(60, "40Gi")))
            await koord.cluster.api.create(ours("mine", 60, 40))
            lock = await until_annotation(standing, NODE_LOCK, lambda value: value.endswith(",default,mine"))
            await until(lambda: bool(koord.scheduler.locks), "koord-scheduler has written its lock")
            written = koord.scheduler.locks[0]
            # It is younger than five minutes and its pod exists; only the copy did not show it.
            assert written.over is None
            assert written.lock != lock
        finally:
            await koord.cluster.box.send(agent, signal.SIGCONT)
        for name in ("mine", "theirs"):
            await koord.cluster.until_pod(name, is_settled, within=PATIENCE)
        await until_unlocked(standing)
        check_cards(standing)
        running = [one["metadata"]["name"] for one in await pods_of(standing) if is_running(one)]
        assert "mine" in running
        await check_containers(standing)
