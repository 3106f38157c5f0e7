"""The device ConfigMap on a real cluster: applied as people do it, followed by an agent that is not restarted for it.

The kubelet writes the node's status every second here, so a condition that it did not leave alone would not last.
"""

import asyncio
import signal
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode
from e2e.agent_view_kit import (
    GPU,
    SGPU,
    Setup,
    end_pods,
    metax,
    on,
    run_here,
    whole_pod,
)
from e2e.agent_watch_kit import events_about, until, until_counts
from e2e.restarts_kit import API_SERVER, PATIENCE
from testbed import controlplane
from testbed.api import ApiRefused, Object, path_of
from testbed.cluster import Cluster
from testbed.podresources import PodResourcesClient

pytestmark = pytest.mark.xdist_group("the device ConfigMap")

SPACE = "kube-system"
FIRST, SECOND = "metax-device-config", "device-config"
CONDITION = "GpuModeChangePending"
FOLLOWING = Setup(
    "following",
    "tangram: cards/v1\ncards:\n- {product: C500, count: 2}\n",
    {GPU: 2},
    extra=("--config-namespace", SPACE),
)

USER_PAGE = """apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
  namespace: kube-system
  annotations:
    # nothing
data:
  version: v1
  cluster-config: |
    mode: native
    # native, sgpu, shared or vgpu
    {more}
  nodes-config: |
    - nodeName: {node}
      mode: {mode}
"""


async def apply(node: AgentNode, mode: str, *, name: str = FIRST, more: str = "") -> None:
    text = USER_PAGE.format(name=name, node=node.name, mode=mode, more=more)
    done = await node.cluster.kubectl("apply", "-f", "-", stdin=text)
    assert done.status == 0, done.errors


async def delete(node: AgentNode, name: str = FIRST) -> None:
    try:
        await node.cluster.api.delete(path_of("ConfigMap", name, namespace=SPACE))
    except ApiRefused as refused:
        if refused.status != 404:
            raise


async def condition(node: AgentNode) -> Object:
    """The node's condition of ours; empty where it has none."""
    seen = await node.cluster.api.get(path_of("Node", node.name))
    found: list[Object] = [each for each in seen["status"]["conditions"] if each["type"] == CONDITION]
    return found[0] if found else {}


async def until_condition(node: AgentNode, reason: str) -> Object:
    async def so() -> bool:
        return (await condition(node)).get("reason") == reason

    await until(so, f"the condition says {reason}", pause=0.2)
    return await condition(node)


async def heartbeat(node: AgentNode) -> str:
    """When the kubelet last wrote the node's status."""
    seen = await node.cluster.api.get(path_of("Node", node.name))
    (ready,) = [each for each in seen["status"]["conditions"] if each["type"] == "Ready"]
    return ready["lastHeartbeatTime"]


async def until_event_on_map(node: AgentNode, name: str, reason: str, words: str = "") -> Object:
    found: list[Object] = []

    async def there() -> bool:
        found[:] = [
            each
            for each in await events_about(node, name, namespace=SPACE)
            if each["reason"] == reason and words in each["message"]
        ]
        return bool(found)

    await until(there, f"an event {reason} on {name}", pause=0.2)
    return found[0]


@pytest_asyncio.fixture
async def node(standing: AgentNode) -> AsyncIterator[AgentNode]:
    """Without ConfigMaps, pods, or cards that are not whole."""
    yield standing
    for name in (FIRST, SECOND):
        await delete(standing, name)
    await end_pods(
        standing,
        *(each["metadata"]["name"] for each in await standing.cluster.api.list(path_of("Pod"))),
    )
    await until_counts(standing, GPU, 2, 2)


@on(FOLLOWING)
async def test_the_user_pages_config_map_is_applied_and_the_node_shows_sixteen_slices_for_each_card(
    node: AgentNode,
) -> None:
    await until_counts(node, GPU, 2, 2)
    await apply(node, "sgpu")
    await until_counts(node, SGPU, 32, 32)
    assert [card.sliced for card in metax(node)] == [True, True]
    assert await condition(node) == {}
    await delete(node)
    await until_counts(node, GPU, 2, 2)
    assert [card.sliced for card in metax(node)] == [False, False]


@on(FOLLOWING)
async def test_a_busy_card_waits_with_a_condition_that_outlives_the_kubelets_writes(node: AgentNode) -> None:
    await run_here(node, whole_pod("holder", 1))
    await apply(node, "sgpu")
    await until_counts(node, SGPU, 16, 16)
    said = await until_condition(node, "CardsBusy")
    assert said["status"] == "True"
    assert "is native and is to be sgpu: held by default/holder" in said["message"]
    before = await heartbeat(node)

    async def written_since() -> bool:
        return await heartbeat(node) > before

    await apply(node, "shared")
    await until_counts(node, GPU, 5, 5)
    await until(written_since, "the kubelet has written the node's status", pause=0.5)
    later = await condition(node)
    assert (later["status"], later["reason"]) == ("True", "CardsBusy")
    assert later["lastTransitionTime"] == said["lastTransitionTime"]
    await end_pods(node, "holder")
    done = await until_condition(node, "ModesInForce")
    assert done["status"] == "False"
    await until_counts(node, GPU, 8, 8)


@on(FOLLOWING)
async def test_content_without_meaning_is_an_event_on_the_config_map_and_changes_nothing(
    node: AgentNode,
) -> None:
    await apply(node, "sgpu")
    await until_counts(node, SGPU, 32, 32)
    await apply(node, "sliced")
    event = await until_event_on_map(node, FIRST, "GpuConfigRefused")
    assert event["type"] == "Warning"
    assert "nodes-config, line 2: mode in nodes-config[0]" in event["message"]
    shown = await node.cluster.kubectl("describe", "configmap", FIRST, "-n", SPACE)
    assert "GpuConfigRefused" in shown.output
    assert any(
        each["reason"] == "GpuConfigRefused" and "nodes-config, line 2" in each["message"]
        for each in await events_about(node, str(node.name))
    )
    await apply(node, "sgpu", more="mode: sgpu")
    await until_event_on_map(node, FIRST, "GpuConfigRefused", "cluster-config, line 3: it cannot be read")
    await until_counts(node, SGPU, 32, 32)
    assert [card.sliced for card in metax(node)] == [True, True]


@on(FOLLOWING)
async def test_of_two_config_maps_the_operators_counts_and_the_other_is_told(node: AgentNode) -> None:
    await apply(node, "sgpu", name=SECOND)
    await until_counts(node, SGPU, 32, 32)
    await apply(node, "native")
    await until_counts(node, GPU, 2, 2)
    event = await until_event_on_map(node, SECOND, "GpuConfigNotRead")
    assert f"ConfigMap {SPACE}/{FIRST}" in event["message"]


@on(FOLLOWING)
async def test_an_agent_that_restarts_without_api_server_offers_the_cards_as_before(node: AgentNode) -> None:
    """In mode shared, of which the kernel knows nothing: only the agent's own note can tell it."""
    await apply(node, "shared")
    await until_counts(node, GPU, 8, 8)
    kubelet = PodResourcesClient(node.cluster.room(node.names).pod_resources)

    async def offered(count: int) -> bool:
        found = await kubelet.allocatable()
        return len(found.get(GPU, ())) == count

    async with api_server_gone(node.cluster):
        await node.stop_agent()
        await until(lambda: offered(0), "the kubelet knows that the agent is gone")
        await node.start_agent()
        await until(lambda: offered(8), "the kubelet is offered eight turns again")
    await until_counts(node, GPU, 8, 8, fresh=True)


@asynccontextmanager
async def api_server_gone(cluster: Cluster) -> AsyncGenerator[None]:
    await cluster.box.stop(API_SERVER, by=signal.SIGKILL)
    try:
        yield
    finally:
        command = controlplane.api_server(cluster.programs, cluster.credentials, cluster.options)
        await cluster.box.start(API_SERVER, command)
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    await cluster.api.get("/readyz")
                except (aiohttp.ClientError, ApiRefused):
                    await asyncio.sleep(0.1)
                else:
                    break
