"""A bad day: the leader is killed twenty times in the middle of a burst, and everything around it falls over too."""

import asyncio
import datetime as dt
import json
import signal
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TypeVar

import aiohttp
import pytest

from e2e.agent_kit import AgentNode
from e2e.agent_kit import agent_node as with_agent
from e2e.agent_view_kit import SGPU, VCORE, VMEMORY, all_slices
from e2e.agent_watch_kit import until
from e2e.card_nodes_kit import POOL, Pool, agent_node, closed_node, pooled
from e2e.closed_plugin_kit import lock_of, plugin
from e2e.pairs_kit import LEASE_PATH, Cutter, Pair, Pairs, pairs, reader_token
from e2e.restarts_kit import PATIENCE
from e2e.scheduler_kit import SCHEDULER, slices_in, until_waiting
from e2e.scheduling_kit import scheduled
from e2e.sums_kit import Room, summed
from testbed import controlplane
from testbed.api import ApiRefused, NotInTime, Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, is_bound, is_over, is_running
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("scheduler on a bad day")

API_SERVER = "kube-apiserver"
KILLS = 20
BURST = 500
NODES = 12
CLOSED = "a-closed"
"""First by its name, so that pods go there as long as there is room."""
REPLICAS = 10
TENTH: dict[str, str | int] = {SGPU: 1, VCORE: 10, VMEMORY: 4}
CARDS = "tangram: cards/v1\ncards:\n- {product: C500, count: 1, sliced: true}\n"
AWAY = (aiohttp.ClientError, OSError)

T = TypeVar("T")


async def steady(attempt: Callable[[], Awaitable[T]]) -> T:
    """Try again while the API server is away or not itself yet."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return await attempt()
        except (*AWAY, ApiRefused) as failed:
            if (isinstance(failed, ApiRefused) and failed.status < 500) or time.monotonic() > deadline:
                raise
        await asyncio.sleep(0.1)


class Bound:
    """Which pods of a pool have a node, followed over every outage."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._names: set[str] = set()

    def __len__(self) -> int:
        return len(self._names)

    @asynccontextmanager
    async def followed(self) -> AsyncGenerator["Bound"]:
        task = asyncio.create_task(self._follow())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _follow(self) -> None:
        api, chosen = self._pool.cluster.api, f"{POOL}={self._pool.name}"
        while True:
            with suppress(*AWAY, ApiRefused):
                everyone = await api.get(path_of("Pod"), labelSelector=chosen)
                for one in everyone["items"]:
                    self._note(one)
                since = everyone["metadata"]["resourceVersion"]
                async for _, one in api.watch(path_of("Pod"), labelSelector=chosen, resourceVersion=since):
                    self._note(one)
            await asyncio.sleep(0.05)

    def _note(self, one: Object) -> None:
        if is_bound(one):
            self._names.add(one["metadata"]["name"])

    async def until(self, count: int) -> None:
        try:
            await until(lambda: len(self) >= count, f"{count} pods are bound", pause=0.01)
        except NotInTime as late:
            waiting = {
                one["metadata"]["name"]: scheduled(one).get("message", "nothing")
                for one in await self._pool.pods()
                if not is_bound(one)
            }
            raise NotInTime(f"{late}; {len(self)} are, and the others say: {waiting}") from None


class Day:
    """The cluster and everything that may fall over in it."""

    def __init__(self, pool: Pool, both: Pairs, cutter: Cutter, node: AgentNode) -> None:
        self.pool = pool
        self.cluster = pool.cluster
        self.both = both
        self.cutter = cutter
        self.node = node
        self.made = 0
        self.killed = ""

    async def create(self, *pods: Object) -> None:
        gate = asyncio.Semaphore(24)

        async def one(made: Object) -> None:
            async with gate:
                try:
                    await steady(lambda: self.cluster.api.create(made))
                except ApiRefused as refused:
                    # The answer to an earlier attempt was lost.
                    if refused.reason != "AlreadyExists":
                        raise

        await asyncio.gather(*(one(each) for each in pods))

    async def more(self, count: int) -> None:
        await self.create(*(self.pool.pod(f"{self.made + n}", TENTH) for n in range(count)))
        self.made += count

    async def new_leader(self) -> Pair:
        """Who leads, once it is not the one that was killed last."""

        async def led_by_another() -> bool:
            try:
                return await self.both.identity() not in (self.killed, "")
            except AWAY:
                return False

        await until(led_by_another, "somebody else leads")
        return await self.both.until_held()

    async def kill(self, leader: Pair, *, at_once: bool) -> None:
        """Both processes of a pair together; they come back as a standby.

        The other leads when the Lease has run out, or at once, when somebody who knows what happened gives it up.
        """
        self.killed = await self.both.identity()
        await leader.stop(signal.SIGKILL)
        if at_once:
            change = {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}
            await steady(lambda: self.cluster.api.patch(LEASE_PATH, change))
        await leader.start()

    async def restart_api_server(self) -> None:
        box = self.cluster.box
        await box.stop(API_SERVER, by=signal.SIGKILL)
        await box.start(
            API_SERVER,
            controlplane.api_server(self.cluster.programs, self.cluster.credentials, self.cluster.options),
        )
        await steady(lambda: self.cluster.api.get("/readyz"))

    async def skew_lease(self, hours: int) -> None:
        moment = dt.datetime.now(dt.UTC) + dt.timedelta(hours=hours)
        change = {"spec": {"renewTime": moment.strftime("%Y-%m-%dT%H:%M:%S.000000Z")}}
        await steady(lambda: self.cluster.api.patch(LEASE_PATH, change))

    async def restart_agent(self) -> None:
        await self.node.stop_agent(by=signal.SIGKILL)
        await self.node.start_agent()

    async def disturb(self, number: int) -> None:
        """Something that happens in a moment, while the leader is at work."""
        if number % 3 == 0:
            assert self.cutter.cut() > 0
        else:
            await self.skew_lease(3 if number % 3 == 1 else -3)

    async def break_down(self, number: int) -> None:
        """Something that takes longer, while nobody leads or a new leader begins."""
        if number in (5, 15):
            await self.restart_api_server()
        elif number % 4 == 0:
            await self.restart_agent()
        await self.both.restart_fallen()


@asynccontextmanager
async def bad_day() -> AsyncGenerator[Day]:
    """A cluster with one real node, nodes that are only objects, and one of a closed plugin."""
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(Cluster.open(Options(nodes=1, kwok_nodes=1)))
        node = await stack.enter_async_context(with_agent(cluster, CARDS, mode="mode: sgpu\n"))
        await node.until_allocatable(SGPU, 16, within=PATIENCE)
        cutter = await stack.enter_async_context(Cutter(cluster).serving())
        both = await stack.enter_async_context(pairs(cluster, kubeconfig=cutter.kubeconfig))
        nodes = [agent_node(f"chaos-{n}", 8) for n in range(NODES)]
        pool = await stack.enter_async_context(pooled(cluster, "chaos", [*nodes, closed_node(CLOSED, 1)]))
        yield Day(pool, both, cutter, node)


def deployment(node: str) -> Object:
    """Slices on the real node, made anew when a kubelet refuses one."""
    labels = {"app": "real"}
    work = container(limits=TENTH)
    spec = {
        "schedulerName": SCHEDULER,
        "nodeSelector": {"kubernetes.io/hostname": node},
        "terminationGracePeriodSeconds": 1,
        "containers": [work],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "real"},
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


async def real_pods(cluster: Cluster) -> list[Object]:
    pods = await cluster.api.list(path_of("Pod"), labelSelector="app=real")
    return [one for one in pods if not is_over(one)]


def exactly(pool: Pool, rooms: dict[str, Room]) -> list[Object]:
    """For every card with room a pod that asks for all of it and for no other card."""
    asked: Sequence[tuple[str, Room]] = [(card, room) for card, room in rooms.items() if room.percent]
    return [
        pool.pod(
            f"rest-{number}",
            {SGPU: 1, VCORE: room.percent, VMEMORY: room.mib >> 10},
            **{"metax-tech.com/use-gpuuuid": card},
        )
        for number, (card, room) in enumerate(asked)
    ]


async def test_after_twenty_kills_and_all_else_every_pod_has_its_cards_and_nothing_is_left_behind() -> None:
    async with bad_day() as day, plugin(day.cluster, CLOSED) as served:
        cluster, pool = day.cluster, day.pool
        token = await reader_token(cluster)
        began = time.monotonic()
        impossible = pool.pod("impossible", {SGPU: 1, VCORE: 10, VMEMORY: 65})
        await day.create(deployment(str(day.node.name)), impossible)
        async with Bound(pool).followed() as bound:
            await day.more(BURST)
            for number in range(KILLS):
                if len(bound) + 40 > day.made:
                    await day.more(40)
                leader = await day.new_leader()
                await bound.until(len(bound) + 5)
                await day.disturb(number)
                await day.kill(leader, at_once=number % 2 == 1)
                await day.break_down(number)
            print(f"{KILLS} kills within {time.monotonic() - began:.0f} s, {len(bound)} pods bound")  # noqa: T201
            await bound.until(day.made)

        # Every pod that can go has gone, and the one that cannot says why.
        assert "memory" in (await until_waiting(cluster, impossible["metadata"]["name"])).lower()

        # Nothing was given out twice, on nodes that are objects and on the real one, where the driver agrees.
        async def real_runs() -> bool:
            return sum(map(is_running, await real_pods(cluster))) == REPLICAS

        await until(real_runs, "the pods on the real node run", within=2 * PATIENCE)
        nodes = await cluster.api.list(path_of("Node"))
        everyone = [*await pool.pods(), *await real_pods(cluster)]
        managed = [one for one in everyone if one["spec"].get("nodeName") != CLOSED]
        left = summed(nodes, managed)
        given = sorted(each for one in await real_pods(cluster) for row in slices_in(one) for each in row)
        await until(
            lambda: (
                sorted((part.card, part.memory >> 20, part.cores) for part in all_slices(day.node)) == given
            ),
            "the driver has the slices that the annotations say",
        )

        # The plugin has served every pod of its node once, and the lock is nobody's.
        async def unlocked() -> bool:
            return not await lock_of(cluster, CLOSED)

        await until(unlocked, "the lock is given back")
        there = [one["metadata"]["name"] for one in everyone if one["spec"].get("nodeName") == CLOSED]
        assert sorted(served) == sorted(there)
        assert len(served) == 10

        # No promise is left: pods that need exactly what the sums leave have room.
        rest = exactly(pool, {card: room for card, room in left.items() if room.node != str(day.node.name)})
        assert rest
        await day.create(*rest)
        async with Bound(pool).followed() as bound:
            await bound.until(day.made + len(rest))
        left = summed(nodes, [one for one in await pool.pods() if one["spec"].get("nodeName") != CLOSED])
        assert {room.percent for room in left.values() if room.node != str(day.node.name)} == {0}
        active = await day.both.until_held()

        async def no_promise() -> bool:
            return await active.metric("tangram_scheduler_reservations", token) == 0

        await until(no_promise, "no promise is left")
        waiting = [one["metadata"]["name"] for one in await pool.pods() if not is_bound(one)]
        assert waiting == [impossible["metadata"]["name"]], json.dumps(waiting)
