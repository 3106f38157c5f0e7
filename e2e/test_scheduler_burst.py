"""Pods that come in crowds: decided about ahead, at two writes each, and hints that turn out wrong harm nobody."""

import asyncio
import signal
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from e2e.agent_kit import slices
from e2e.agent_view_kit import SGPU, VCORE, VMEMORY
from e2e.audit_kit import Audit, auditing
from e2e.card_nodes_kit import CARD_MIB, Pool, agent_node, empty, pooled
from e2e.priorities_kit import HIGH, LOW, make_priorities, names_left, ranked
from e2e.scheduler_kit import Placement, placing, slices_in, until_bound
from e2e.scheduling_kit import NOBODY, Load, bind, poll_until
from testbed.api import Object, path_of
from testbed.cluster import SCHEDULER as KUBE_SCHEDULER
from testbed.cluster import Cluster
from testbed.manifests import is_bound
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("bursts")

Unique = Callable[[str], str]
OURS = "tangram-scheduler"
NODES = 100
PODS = 200
AT_ONCE = 32
LONG = 180.0
GATE = [{"name": "example.com/not-yet"}]


def part(percent: int, gib: int = 1) -> dict[str, str | int]:
    return {SGPU: 1, VCORE: percent, VMEMORY: gib}


@pytest_asyncio.fixture(scope="module")
async def placement(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Placement]:
    flags = auditing(tmp_path_factory.mktemp("audit") / "policy.json")
    options = Options(nodes=0, kwok_nodes=1, api_server_flags=flags)
    async with Cluster.open(options) as cluster, placing(cluster) as ready:
        yield ready


@pytest.fixture
def audit(placement: Placement) -> Audit:
    return Audit(placement.cluster)


@pytest_asyncio.fixture(scope="module")
async def crowd(placement: Placement) -> AsyncIterator[Pool]:
    """A hundred nodes of two cards."""
    nodes = [agent_node(f"crowd-{number:03d}") for number in range(NODES)]
    async with pooled(placement.cluster, "crowd", nodes) as pool:
        yield pool


@pytest_asyncio.fixture
async def pool(crowd: Pool) -> AsyncIterator[Pool]:
    yield crowd
    await empty(crowd)


async def create_all(pool: Pool, pods: Iterable[Object]) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def create(made: Object) -> None:
        async with gate:
            await pool.cluster.api.create(made)

    await asyncio.gather(*(create(made) for made in pods))


async def until_all(pool: Pool, true: Callable[[Object], bool], what: str) -> list[Object]:
    async def all_are() -> bool:
        return all(true(one) for one in await pool.pods())

    await poll_until(all_are, within=LONG, what=what)
    return await pool.pods()


def nominated(seen: Object) -> str:
    return seen["status"].get("nominatedNodeName", "")


def check_nothing_sold_twice(pods: Iterable[Object]) -> None:
    cores: Counter[str] = Counter()
    memory: Counter[str] = Counter()
    homes: defaultdict[str, set[str]] = defaultdict(set)
    for one in pods:
        for row in slices_in(one):
            assert row, "every container has its slice"
            for uuid, mib, percent in row:
                cores[uuid] += percent
                memory[uuid] += mib
                homes[uuid].add(one["spec"]["nodeName"])
    assert max(cores.values()) <= 100
    assert max(memory.values()) <= CARD_MIB
    assert all(len(nodes) == 1 for nodes in homes.values())


@asynccontextmanager
async def kube_scheduler_held(cluster: Cluster) -> AsyncGenerator[None]:
    """kube-scheduler takes no pod from its queue in the meantime."""
    await cluster.box.send(KUBE_SCHEDULER, signal.SIGSTOP)
    try:
        yield
    finally:
        await cluster.box.send(KUBE_SCHEDULER, signal.SIGCONT)


# ---- what it costs


async def test_a_crowd_is_placed_at_two_writes_a_pod(pool: Pool, audit: Audit) -> None:
    pods = [pool.pod(f"{number:03d}", part(60)) for number in range(PODS)]

    async def mostly_nominated() -> bool:
        return sum(bool(nominated(one)) for one in await pool.pods()) > PODS // 2

    # Who gets to a pod first is not left to how busy the machine is.
    async with kube_scheduler_held(pool.cluster):
        await create_all(pool, pods)
        await poll_until(mostly_nominated, within=LONG, what="most pods nominated")
    placed = await until_all(pool, is_bound, f"{PODS} pods bound")
    assert len(placed) == PODS
    check_nothing_sold_twice(placed)
    written = [
        await audit.writes_until(one["metadata"]["name"], f"{OURS} create binding", "kube-scheduler")
        for one in placed
    ]
    assert all(each[f"{OURS} create binding"] == 1 for each in written)
    total = sum(written, Counter[str]())
    assert total.total() <= 2 * PODS, total
    assert total[f"{OURS} patch status"] > PODS // 2, "most were decided about before they were asked about"


async def test_a_pod_that_comes_alone_costs_the_binding_and_no_other_write(pool: Pool, audit: Audit) -> None:
    for number in range(3):
        seen = await pool.bound(pool.pod(f"alone-{number}", part(10)))
        written = await audit.writes_until(
            seen["metadata"]["name"], f"{OURS} create binding", "kube-scheduler"
        )
        assert written == {f"{OURS} create binding": 1}


# ---- hints that are wrong by now


async def test_nominations_of_one_that_died_and_of_nodes_that_filled_up_or_went_away_harm_nothing(
    placement: Placement, unique: Unique
) -> None:
    cluster, name = placement.cluster, unique("stale")
    full, gone, *others = (f"{name}-{number}" for number in range(4))
    async with pooled(cluster, name, [agent_node(node) for node in (full, gone, *others)]) as pool:
        async with kube_scheduler_held(cluster):
            await create_all(pool, (pool.pod(f"{number}", part(50)) for number in range(8)))
            hinted = await until_all(pool, lambda seen: bool(nominated(seen)), "8 pods nominated")
            assert {full, gone} <= {nominated(one) for one in hinted}
            await placement.stop(signal.SIGKILL)
            await cluster.api.delete(path_of("Node", gone))
            # Somebody else fills a node meanwhile, and says so as a scheduler does.
            for number in range(2):
                await place_by_hand(pool, f"squatter-{number}", full, f"GPU-{full}-{number}")
            await placement.start()
        placed = await until_all(pool, is_bound, "every pod bound")
        check_nothing_sold_twice(placed)
        assert Counter(one["spec"]["nodeName"] for one in placed) == {full: 2, **dict.fromkeys(others, 4)}


async def place_by_hand(pool: Pool, name: str, node: str, card: str) -> None:
    """A pod with all of a card, bound by somebody else."""
    made = pool.pod(name, part(100), scheduler=NOBODY)
    await pool.cluster.api.create(made)
    load = Load(annotations=slices([(card, CARD_MIB, 100)]))
    await bind(pool.cluster.api, made["metadata"]["name"], node, load)


async def test_room_that_was_promised_ahead_is_for_the_more_important_pod_that_came_later_and_nobody_goes(
    placement: Placement, unique: Unique
) -> None:
    cluster, name = placement.cluster, unique("later")
    await make_priorities(cluster.api)
    async with pooled(cluster, name, [agent_node(f"{name}-0")]) as pool:
        async with kube_scheduler_held(cluster):
            await create_all(pool, (ranked(pool.pod(f"low-{number}", part(50)), LOW) for number in range(4)))
            await until_all(pool, lambda seen: bool(nominated(seen)), "all promised")
            urgent = ranked(pool.pod("urgent", part(100)), HIGH)
            await cluster.api.create(urgent)
        await until_bound(cluster, urgent["metadata"]["name"])

        async def settled() -> bool:
            return sum(is_bound(one) for one in await pool.pods()) == 3

        await poll_until(settled, within=LONG, what="two of the others bound")
        check_nothing_sold_twice(one for one in await pool.pods() if is_bound(one))
        assert await names_left(pool) == {"urgent", *(f"low-{number}" for number in range(4))}


async def test_a_pod_that_somebody_else_nominated_keeps_its_node(pool: Pool) -> None:
    cluster, wanted = pool.cluster, f"crowd-{NODES - 1:03d}"
    async with kube_scheduler_held(cluster):
        theirs = pool.pod("theirs", part(10))
        theirs["spec"]["schedulingGates"] = GATE
        await cluster.api.create(theirs)
        path = path_of("Pod", theirs["metadata"]["name"])
        await cluster.api.patch(path + "/status", {"status": {"nominatedNodeName": wanted}})
        await cluster.api.patch(path, {"spec": {"schedulingGates": None}})
        await create_all(pool, (pool.pod(f"ours-{number}", part(10)) for number in range(4)))
        hinted = await until_all(pool, lambda seen: bool(nominated(seen)), "the others nominated")
        assert {nominated(one) for one in hinted if "ours" in one["metadata"]["name"]} != {wanted}
        assert nominated(await cluster.api.get(path)) == wanted
    seen = await until_bound(cluster, theirs["metadata"]["name"])
    assert seen["spec"]["nodeName"] == wanted
