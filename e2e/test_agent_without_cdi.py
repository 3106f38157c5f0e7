"""A node whose container runtime knows no CDI: everything must be answered before the kubelet says for whom.

Whole cards are in the ids, so they are always right. A slice is answered for the pod that it can only be for, and where
there are two, neither gets anything of the other's.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode, agent_node
from e2e.nodes_kit import message_of
from e2e.restarts_kit import PATIENCE, end_container, restarted
from e2e.slice_pods_kit import GPU, LOOK_AND_STAY, SLICE, Part, promise, slice_pod, until_running
from e2e.storm_kit import (
    Given,
    assert_has,
    assert_has_whole,
    assert_never_started,
    assert_nobody_shares,
    cards_of,
    emptied,
    given_to,
    until_event,
)
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, is_running, pod
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("agent without CDI")

Unique = Callable[[str], str]
CARDS = "tangram: cards/v1\ncards:\n- {product: C500, count: 2, sliced: true}\n- {product: C500, count: 2}\n"
LOCK = "hami.io/mutex.lock"


@pytest_asyncio.fixture(scope="module")
async def serving() -> AsyncGenerator[AgentNode]:
    """Two sliced cards and two whole ones."""
    async with (
        Cluster.open(Options(nodes=1, cdi=False)) as cluster,
        agent_node(cluster, CARDS, mode="mode: mixed\nslicedCards: [0, 1]\n", extra=("--cdi", "off")) as node,
    ):
        await node.until_allocatable(SLICE, 32, within=PATIENCE)
        await node.until_allocatable(GPU, 2, within=PATIENCE)
        yield node


@pytest_asyncio.fixture
async def node(serving: AgentNode) -> AsyncGenerator[AgentNode]:
    """The module's node, which every test finds and leaves without pods, slices and CDI files."""
    yield serving
    await emptied(serving)


def sliced_cards(node: AgentNode) -> list[str]:
    return [uuid for uuid, card in cards_of(node).items() if card.sliced is True]


async def test_without_cdi_whole_cards_reach_their_containers(node: AgentNode, unique: Unique) -> None:
    names = [unique("first"), unique("second")]
    asking = container(script=LOOK_AND_STAY, limits={GPU: 1})
    await asyncio.gather(
        *(node.cluster.api.create(pod(name, asking, node=node.names.name)) for name in names)
    )
    whole = [uuid for uuid, card in cards_of(node).items() if card.sliced is not True]
    held: list[str] = []
    for name in names:
        await until_running(node, name)
        given = await given_to(node, name)
        (mine,) = [card for card in whole if frozenset(cards_of(node)[card].nodes.all) == given.nodes]
        assert_has_whole(node, given, mine)
        held.append(mine)
    assert sorted(held) == sorted(whole)


async def test_without_cdi_a_slice_that_can_only_be_for_one_pod_is_given_and_kept_over_a_restart(
    node: AgentNode, unique: Unique
) -> None:
    name, part = unique("alone"), Part(sliced_cards(node)[0], 1024, 10)
    await node.place(slice_pod(name, part), promise(part))
    seen = await until_running(node, name)
    given = await given_to(node, name)
    assert_has(node, given, part)
    await end_container(node.cluster, seen)
    await node.cluster.until_pod(name, restarted(1), within=PATIENCE)
    assert await given_to(node, name) == given


async def bind_at_once(node: AgentNode, wanted: Sequence[tuple[str, Part]]) -> None:
    """Make the pods first and bind them together, so that the agent cannot tell who came first."""
    made: list[Object] = []
    for name, part in wanted:
        one = slice_pod(name, part)
        one["spec"]["schedulerName"] = "placed-by-test"
        made.append(await node.cluster.api.create(one))
    await asyncio.gather(
        *(node.bind(one, promise(part)) for one, (_, part) in zip(made, wanted, strict=True))
    )


async def until_decided(node: AgentNode, name: str) -> Object:
    """The pod once its container runs, or waits with a reason of the agent's."""
    return await node.cluster.until_pod(
        name,
        lambda seen: is_running(seen) or "[" in message_of(seen),
        within=PATIENCE,
        what=f"pod {name} decided",
    )


async def test_without_cdi_two_pods_that_wait_for_as_much_never_get_each_others_slice(
    node: AgentNode, unique: Unique
) -> None:
    first, second = sliced_cards(node)
    wanted = [(unique("one"), Part(first, 1024, 10)), (unique("two"), Part(second, 2048, 20))]
    await bind_at_once(node, wanted)
    running: list[Given] = []
    for name, part in wanted:
        seen = await until_decided(node, name)
        if is_running(seen):
            running.append(await given_to(node, name))
            assert_has(node, running[-1], part)
            continue
        assert message_of(seen).endswith("[answered-otherwise]")
        assert "switch CDI on" in await until_event(node.cluster, name, "[answered-otherwise]")
        assert_never_started(seen)
    assert_nobody_shares(running)


async def test_without_cdi_the_pod_that_hamis_lock_names_is_served_among_several(
    node: AgentNode, unique: Unique
) -> None:
    first, second = sliced_cards(node)
    named, other = (unique("named"), Part(second, 2048, 20)), (unique("other"), Part(first, 1024, 10))
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    await lock(node, f"{moment},default,{named[0]}")
    await bind_at_once(node, [other, named])
    await until_running(node, named[0])
    assert_has(node, await given_to(node, named[0]), named[1])
    seen = await until_decided(node, other[0])
    if is_running(seen):
        assert_has(node, await given_to(node, other[0]), other[1])
    else:
        assert_never_started(seen)
    await node.cluster.until_node(
        node.names.name,
        lambda seen: LOCK not in seen["metadata"]["annotations"],
        within=PATIENCE,
        what="the lock released",
    )


async def lock(node: AgentNode, value: str) -> None:
    path = path_of("Node", node.names.name)
    await node.cluster.api.patch(path, {"metadata": {"annotations": {LOCK: value}}})
