"""Pods that come past every scheduler that knows cards: written for a node, made by a DaemonSet, or placed by
Kubernetes' own scheduler. Whole cards need no more than the kubelet's count; a slice needs somebody who chose a card.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode, agent_node
from e2e.nodes_kit import until_refused
from e2e.restarts_kit import PATIENCE, get_pod
from e2e.slice_pods_kit import GPU, LOOK_AND_STAY, SLICE, until_running
from e2e.storm_kit import (
    assert_has_whole,
    assert_never_started,
    cards_of,
    emptied,
    given_to,
    parts_of,
    until_event,
)
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, pod
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("agent bypass")

Unique = Callable[[str], str]
CARDS = "tangram: cards/v1\ncards:\n- {product: C500, sliced: true}\n- {product: C500, count: 3}\n"
APPS = "apps/v1"


@pytest_asyncio.fixture(scope="module")
async def serving() -> AsyncGenerator[AgentNode]:
    """One sliced card and three whole ones."""
    async with (
        Cluster.open(Options(nodes=1)) as cluster,
        agent_node(cluster, CARDS, mode="mode: mixed\nslicedCards: [0]\n") as node,
    ):
        await node.until_allocatable(SLICE, 16, within=PATIENCE)
        await node.until_allocatable(GPU, 3, within=PATIENCE)
        yield node


@pytest_asyncio.fixture
async def node(serving: AgentNode) -> AsyncGenerator[AgentNode]:
    """The module's node, which every test finds and leaves without pods, slices and CDI files."""
    yield serving
    for made in await serving.cluster.api.list(path_of("DaemonSet", version=APPS)):
        await serving.cluster.api.delete(path_of("DaemonSet", made["metadata"]["name"], version=APPS))
    await emptied(serving)


async def three_ways(node: AgentNode, unique: Unique, resource: str) -> list[str]:
    """One pod with one unit of the resource by each of the ways, none of which chooses a card."""
    asking = container(script=LOOK_AND_STAY, limits={resource: 1})
    written, scheduled, everywhere = unique("written"), unique("scheduled"), unique("everywhere")
    await node.cluster.api.create(pod(written, asking, node=node.names.name))
    await node.cluster.api.create(pod(scheduled, asking))
    await node.cluster.api.create(daemon_set(everywhere, asking))
    return [written, scheduled, await pod_of_set(node, everywhere)]


def daemon_set(name: str, made: Object) -> Object:
    labels = {"daemon": name}
    spec: Object = {"containers": [made], "terminationGracePeriodSeconds": 1}
    return {
        "apiVersion": APPS,
        "kind": "DaemonSet",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


async def pod_of_set(node: AgentNode, name: str) -> str:
    async with asyncio.timeout(PATIENCE):
        while not (found := await node.cluster.api.list(path_of("Pod"), labelSelector=f"daemon={name}")):
            await asyncio.sleep(0.05)
    return found[0]["metadata"]["name"]


async def test_a_slice_that_no_scheduler_chose_a_card_for_never_starts_and_says_what_to_do(
    node: AgentNode, unique: Unique
) -> None:
    for name in await three_ways(node, unique, SLICE):
        message = await until_refused(
            node.cluster, name, "CreateContainerConfigError", "[allocation-missing]"
        )
        event = await until_event(node.cluster, name, "[allocation-missing]")
        assert event in message
        assert "write schedulerName: tangram-scheduler" in event
        assert "write no nodeName, and make the pod again" in event
        assert_never_started(await get_pod(node.cluster, name))
    assert parts_of(node) == []


async def test_whole_cards_are_given_to_pods_that_no_scheduler_of_cards_has_seen(
    node: AgentNode, unique: Unique
) -> None:
    whole = [uuid for uuid, card in cards_of(node).items() if card.sliced is not True]
    names = await three_ways(node, unique, GPU)
    held: list[str] = []
    for name in names:
        await until_running(node, name)
        given = await given_to(node, name)
        (mine,) = [card for card in whole if frozenset(cards_of(node)[card].nodes.all) == given.nodes]
        assert_has_whole(node, given, mine)
        held.append(mine)
    assert sorted(held) == sorted(whole), "each has a card of its own"
