"""Two pairs of kube-scheduler and our scheduler: one is active, the other is warm, and nothing is lost between them."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from e2e.agent_view_kit import SGPU, VCORE, VMEMORY
from e2e.agent_watch_kit import until
from e2e.card_nodes_kit import Pool, agent_node, pooled
from e2e.pairs_kit import Pairs, pairs
from e2e.restarts_kit import PATIENCE
from e2e.scheduler_kit import until_bound
from e2e.sums_kit import summed
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import is_bound
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("scheduler in pairs")

Unique = Callable[[str], str]
TENTH: dict[str, str | int] = {SGPU: 1, VCORE: 10, VMEMORY: 4}


@pytest_asyncio.fixture(scope="module")
async def two() -> AsyncIterator[Pairs]:
    async with Cluster.open(Options(nodes=0, kwok_nodes=1)) as cluster, pairs(cluster) as ready:
        yield ready


@pytest_asyncio.fixture
async def pool(two: Pairs, unique: Unique) -> AsyncIterator[Pool]:
    """Five nodes with two cards, on which exactly a hundred pods of a tenth of a card have room."""
    await two.restart_fallen()
    for pair in two.members:
        await pair.ready()
    name = unique("pairs")
    async with pooled(two.cluster, name, [agent_node(f"{name}-{n}") for n in range(5)]) as made:
        yield made


async def burst(pool: Pool, count: int) -> list[Object]:
    made = [pool.pod(f"{n}", TENTH) for n in range(count)]
    await asyncio.gather(*(pool.cluster.api.create(each) for each in made))
    return made


async def until_so_many_are_bound(pool: Pool, count: int) -> None:
    async def enough() -> bool:
        return sum(map(is_bound, await pool.pods())) >= count

    await until(enough, f"{count} pods are bound", within=2 * PATIENCE)


async def all_is_in_order(pool: Pool) -> None:
    """Every card is given out to the last percent, to nobody twice."""
    nodes = [await pool.cluster.api.get(path_of("Node", f"{pool.name}-{n}")) for n in range(5)]
    left = summed(nodes, await pool.pods())
    assert {room.percent for room in left.values()} == {0}


async def test_the_standby_is_warm_and_neither_filters_nor_binds(two: Pairs, pool: Pool) -> None:
    active = await two.until_held()
    seen = await pool.bound(pool.pod("one", TENTH))
    standby = two.standby_of(active)
    await standby.ready()
    other = await pool.cluster.api.create(
        pool.pod("other", TENTH) | {"spec": seen["spec"] | {"nodeName": ""}}
    )
    question = {"Pod": other, "Nodes": None, "NodeNames": [f"{pool.name}-{n}" for n in range(5)]}
    answer = await standby.ask("/filter", question)
    assert "standby" in answer["Error"]
    assert active.name in answer["Error"]
    order = {
        "PodName": other["metadata"]["name"],
        "PodNamespace": "default",
        "PodUID": other["metadata"]["uid"],
        "Node": f"{pool.name}-0",
    }
    assert "standby" in (await standby.ask("/bind", order))["Error"]
    await until_bound(pool.cluster, other["metadata"]["name"])


async def test_a_leader_killed_in_the_middle_of_a_burst_loses_nothing_and_gives_nothing_twice(
    two: Pairs, pool: Pool
) -> None:
    active = await two.until_held()
    await burst(pool, 100)
    await until_so_many_are_bound(pool, 20)
    await active.stop(signal.SIGKILL)
    standby = two.standby_of(active)
    await two.until_held(by=standby)
    await until_so_many_are_bound(pool, 100)
    await all_is_in_order(pool)


async def test_a_leader_that_ends_in_good_order_hands_over(two: Pairs, pool: Pool) -> None:
    active = await two.until_held()
    await burst(pool, 100)
    await until_so_many_are_bound(pool, 20)
    await active.stop()
    await two.until_held(by=two.standby_of(active))
    await until_so_many_are_bound(pool, 100)
    await all_is_in_order(pool)


async def test_a_scheduler_that_falls_alone_and_comes_back_goes_on_where_the_pods_are(
    two: Pairs, pool: Pool
) -> None:
    active = await two.until_held()
    await burst(pool, 100)
    await until_so_many_are_bound(pool, 20)
    await pool.cluster.box.stop(active.ours, by=signal.SIGKILL)
    await active.start_ours()
    await until_so_many_are_bound(pool, 100)
    assert await two.holder() is active
    await all_is_in_order(pool)
