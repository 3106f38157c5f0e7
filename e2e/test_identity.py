"""Whom a call of the kubelet is for: Allocate does not say, PreStartContainer only by ids, PodResources by name."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import grpc
import grpc.aio
import pytest
import pytest_asyncio
from google.protobuf.unknown_fields import UnknownFieldSet

from e2e.nodes_kit import (
    clear_specs,
    delete_now,
    first_line,
    holder_of,
    spec_of,
    start_pod,
    write,
)
from e2e.restarts_kit import (
    NODE,
    PATIENCE,
    calls_of,
    checkpointed,
    plugin_of,
    room_of,
    until_offered,
)
from tangram.kubelet.sockets import ask, open_channel
from tangram.wire.kubelet import podresources
from testbed.api import path_of
from testbed.changes import Changes
from testbed.cluster import Cluster
from testbed.manifests import SLEEP, container, is_running, pod
from testbed.plugin import ScriptedPlugin
from testbed.plugin_behaviours import Script, holding
from testbed.plugin_records import Call, Grant
from testbed.podresources import PodResourcesClient

PODS = 16
CONTAINERS = ("first", "second")
TOGETHER = 10.0
"""How long a start waits for the others, well within the kubelet's 30 s."""


@pytest.fixture
def resource(unique: Callable[[str], str]) -> str:
    return f"tangram.dev/{unique('identity')}"


@dataclass
class Naming:
    """Grants a CDI name that means nothing yet, and at the start gives it the name of whom PodResources names.

    Starts wait for each other, so that as many as possible are asked about at one time.
    """

    cluster: Cluster
    client: PodResourcesClient
    resource: str
    names: dict[tuple[str, ...], str] = field(default_factory=dict[tuple[str, ...], str])
    begun: int = 0
    under_way: int = 0
    most_at_once: int = 0
    changes: Changes = field(default_factory=Changes)

    def script(self) -> Script:
        return Script(allocate=self.allocate, pre_start=self.pre_start)

    async def allocate(self, call: Call) -> tuple[Grant, ...]:
        (ids,) = call.ids
        name = self.names[ids] = f"tangram.dev/identity=call-{call.order}"
        # Time enough for a second call to be seen beside this one, if the kubelet made one.
        await asyncio.sleep(0.02)
        return (Grant(cdi_names=(name,)),)

    async def pre_start(self, call: Call) -> None:
        (ids,) = call.ids
        self.begun += 1
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        self.changes.announce()
        await self.changes.until(lambda: self.begun >= PODS, within=TOGETHER)
        holder = await holder_of(self.client, self.resource, ids)
        told = f"{holder.namespace}/{holder.pod}/{holder.container}"
        # A start that the kubelet repeats has its spec already.
        write(self.cluster, spec_of(self.names[ids], {"TOLD": told}), replace=True)
        self.under_way -= 1


@dataclass(frozen=True, slots=True)
class Starts:
    """What sixteen identical pods, started at once, were told, and what the kubelet asked on the way."""

    told: dict[tuple[str, str], str]
    plugin: ScriptedPlugin
    naming: Naming


@pytest_asyncio.fixture(scope="module")
async def starts(one_node: Cluster) -> Starts:
    resource = "tangram.dev/sixteen"
    names = [f"twin-{number}" for number in range(PODS)]
    # They stay, so that no id comes free before all are given out.
    script = f'echo "$TOLD"; {SLEEP}'
    naming = Naming(one_node, PodResourcesClient(room_of(one_node).pod_resources, within=TOGETHER), resource)
    ids = [f"slot-{number:03d}" for number in range(3 * PODS)]
    async with plugin_of(one_node, resource, ids, script=naming.script()) as plugin:
        await until_offered(one_node, plugin)
        twins = [container(name, script=script, limits={resource: 1}) for name in CONTAINERS]
        await asyncio.gather(*(one_node.api.create(pod(name, *twins, node=NODE)) for name in names))
        keys = [(name, one) for name in names for one in CONTAINERS]
        words = await asyncio.gather(*(first_line(one_node, *key) for key in keys))
        await asyncio.gather(*(delete_now(one_node, name) for name in names))
    clear_specs(one_node)
    return Starts(dict(zip(keys, words, strict=True)), plugin, naming)


@pytest.mark.smoke
async def test_pre_start_and_pod_resources_name_the_pod_and_container_of_each_of_16_concurrent_starts(
    starts: Starts,
) -> None:
    assert starts.naming.most_at_once > 1
    assert starts.told == {(name, one): f"default/{name}/{one}" for name, one in starts.told}
    assert len(starts.told) == PODS * len(CONTAINERS)


@pytest.mark.smoke
async def test_allocate_is_called_once_for_each_container_and_never_twice_at_a_time(starts: Starts) -> None:
    assert len(calls_of(starts.plugin, "Allocate")) == PODS * len(CONTAINERS)
    endings = [one for one in starts.plugin.log.endings if one.call.method == "Allocate"]
    assert all(earlier.at <= later.call.at for earlier, later in itertools.pairwise(endings))


async def test_the_kubelet_gives_out_ids_in_no_order_and_none_twice(starts: Starts) -> None:
    given = [call.ids[0] for call in calls_of(starts.plugin, "Allocate")]
    assert all(len(ids) == 1 for ids in given)
    assert set(Counter(given).values()) == {1}
    assert given != sorted(given)


async def test_a_slow_allocate_keeps_every_other_new_pod_of_the_node_waiting(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    slow, other = unique("slow"), unique("without-device")
    answer = asyncio.Event()
    async with plugin_of(cluster, resource, ["a"]) as plugin:
        plugin.script.allocate = holding(answer, plugin.script.allocate)
        await until_offered(cluster, plugin)
        await start_pod(cluster, slow, resource)
        await plugin.wait_for_call("Allocate", within=PATIENCE)
        await cluster.api.create(pod(other, node=NODE))
        # Nothing marks the absence; a pod without devices is otherwise noticed in a few hundredths of a second.
        await asyncio.sleep(3.0)
        assert "startTime" not in (await cluster.api.get(path_of("Pod", other)))["status"]
        answer.set()
        await asyncio.gather(
            *(cluster.until_pod(name, is_running, within=PATIENCE) for name in (slow, other))
        )


async def test_pod_resources_names_pods_by_name_and_says_nothing_else_about_them(
    cluster: Cluster, unique: Callable[[str], str], resource: str
) -> None:
    name = unique("named")
    async with plugin_of(cluster, resource, ["a"]) as plugin:
        await until_offered(cluster, plugin)
        uid = (await start_pod(cluster, name, resource))["metadata"]["uid"]
        await cluster.until_pod(name, is_running, within=PATIENCE)
        async with open_channel(room_of(cluster).pod_resources) as channel:
            question = podresources.ListPodResourcesRequest()
            answer = await ask(channel, podresources.LIST, question, within=PATIENCE)
        (found,) = [one for one in answer.pod_resources if one.name == name]
        # Were there a field we do not know of, it would be kept as unknown.
        assert not len(UnknownFieldSet(found))
        assert {field.name for field, _ in found.ListFields()} == {"name", "namespace", "containers"}
        assert uid.encode() not in answer.SerializeToString()
        assert [one.pod_uid for one in checkpointed(cluster, resource)] == [uid]


async def test_pod_resources_refuses_whoever_asks_more_often_than_it_likes_and_soon_answers_again(
    cluster: Cluster,
) -> None:
    async with open_channel(room_of(cluster).pod_resources) as channel:

        async def code() -> grpc.StatusCode:
            question = podresources.ListPodResourcesRequest()
            try:
                await ask(channel, podresources.LIST, question, within=PATIENCE)
            except grpc.aio.AioRpcError as refused:
                return refused.code()
            return grpc.StatusCode.OK

        codes = Counter(await asyncio.gather(*(code() for _ in range(1000))))
        assert set(codes) == {grpc.StatusCode.OK, grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert codes[grpc.StatusCode.OK] >= 10
        async with asyncio.timeout(PATIENCE):
            while await code() is not grpc.StatusCode.OK:
                await asyncio.sleep(0.05)
