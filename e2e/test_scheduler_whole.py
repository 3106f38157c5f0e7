"""Whole MetaX cards from `kubectl apply` to the container, on a server of two linked groups of four.

The cards' places are counted from 1, as the manual's figures do: 1 to 4 are one group, 5 to 8 the other.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode
from e2e.agent_view_kit import (
    GPU,
    TWO_GROUPS,
    WHOLE_GIVEN,
    Setup,
    asking,
    cards_in,
    end_pods,
    inside,
    metax,
    nodes_of,
    on,
    place_known,
    positions,
    predicted,
    whole_pod,
)
from e2e.agent_watch_kit import until
from e2e.restarts_kit import PATIENCE
from e2e.scheduler_kit import (
    CARD_POLICY,
    NODE_POLICY,
    Placement,
    annotations_of,
    apply,
    placing,
    until_waiting,
)
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import is_running, pod

pytestmark = [pytest.mark.xdist_group("scheduler with whole cards"), pytest.mark.usefixtures("placement")]

NATIVE = Setup("native", TWO_GROUPS, {GPU: 8})
SCORES = "metax-tech.com/gpu.topology.scores"


@pytest_asyncio.fixture(scope="module")
async def placement(bed: Cluster) -> AsyncIterator[Placement]:
    async with placing(bed) as ready:
        yield ready


def by_policy(name: str, count: int, policy: str, key: str = NODE_POLICY) -> Object:
    made = whole_pod(name, count)
    made["metadata"]["annotations"][key] = policy
    return made


async def given(node: AgentNode, name: str) -> list[int]:
    """The places of the cards a pod's container found, which is what its annotation says in the end."""
    found = (await inside(node, name)).nodes
    held = [card for card in metax(node) if nodes_of([card]) <= found]
    assert found == nodes_of(held)

    def says_so(seen: Object) -> bool:
        named = cards_in(annotations_of(seen).get(WHOLE_GIVEN, ""))
        return [sorted(part) for part in named] == [sorted(card.uuid for card in held)]

    await node.cluster.until_pod(
        name, says_so, within=PATIENCE, what=f"the annotation of {name} names its cards"
    )
    return positions(metax(node), [card.uuid for card in held])


async def use(node: AgentNode, *places: int) -> None:
    """Let a pod hold these cards, and wait until the node says so, by which time the scheduler has heard of it too."""
    cards = metax(node)
    await place_known(node, whole_pod("used", len(places)), predicted(node, [cards[n - 1] for n in places]))
    assert await given(node, "used") == list(places)

    async def counted() -> bool:
        seen = await node.cluster.api.get(path_of("Node", node.name))
        scores = annotations_of(seen).get(SCORES, "")
        return f'"{8 - len(places)}":' in scores and f'"{9 - len(places)}":' not in scores

    await until(counted, f"the node counts {8 - len(places)} free cards")


@on(NATIVE)
async def test_with_the_first_two_cards_in_use_the_figures_of_the_manual_come_out(node: AgentNode) -> None:
    await use(node, 1, 2)
    await apply(node.cluster, by_policy("four", 4, "spread"))
    assert await given(node, "four") == [5, 6, 7, 8]
    await end_pods(node, "four")
    await apply(node.cluster, by_policy("two", 2, "binpack"))
    assert await given(node, "two") == [3, 4]


@pytest.mark.parametrize(
    ("key", "policy", "across"),
    [
        pytest.param(NODE_POLICY, "spread", False, id="spread"),
        pytest.param(NODE_POLICY, "binpack", False, id="binpack"),
        pytest.param(CARD_POLICY, "binpack", True, id="binpack for cards"),
    ],
)
@on(NATIVE)
async def test_a_linked_pair_is_taken_unless_the_pods_policy_for_cards_says_otherwise(
    node: AgentNode,
    key: str,
    policy: str,
    across: bool,
) -> None:
    # Free are 1 to 4 and 5: a pair of the group is linked, the lonely card and one of the group leave more behind.
    await use(node, 6, 7, 8)
    await apply(node.cluster, by_policy("pair", 2, policy, key))
    assert (5 in await given(node, "pair")) is across


@on(NATIVE)
async def test_requests_of_every_size_fill_the_server_and_no_card_is_given_twice(node: AgentNode) -> None:
    sizes = (4, 2, 1, 1)
    held: list[int] = []
    for size in sizes:
        await apply(node.cluster, whole_pod(f"whole-{size}-{len(held)}", size))
        held += await given(node, f"whole-{size}-{len(held)}")
    assert sorted(held) == [1, 2, 3, 4, 5, 6, 7, 8]
    await apply(node.cluster, whole_pod("ninth", 1))
    await until_waiting(node.cluster, "ninth", "0/1 nodes are available")
    await end_pods(node, "whole-2-4")
    assert set(await given(node, "ninth")) <= set(held[4:6])


@on(NATIVE)
async def test_each_container_has_cards_of_its_own_and_one_that_asks_for_none_has_none(
    node: AgentNode,
) -> None:
    await apply(node.cluster, pod("several", asking("one", gpu=1), asking("none"), asking("four", gpu=4)))
    await node.cluster.until_pod("several", is_running, within=PATIENCE)
    seen = {name: (await inside(node, "several", name)).nodes for name in ("one", "none", "four")}
    cards = metax(node)
    held = {
        name: positions(cards, [card.uuid for card in cards if nodes_of([card]) <= found])
        for name, found in seen.items()
    }
    assert held["none"] == []
    assert held["four"] in ([1, 2, 3, 4], [5, 6, 7, 8])
    assert len(held["one"]) == 1
    assert not set(held["one"]) & set(held["four"])


@on(NATIVE)
async def test_an_init_container_uses_the_pods_own_cards_and_takes_no_others(node: AgentNode) -> None:
    init = asking("init", gpu=4) | {"command": ["/bin/sh", "-c", "exit 0"]}
    await apply(node.cluster, pod("prepared", asking(gpu=4), inits=[init]), whole_pod("other", 4))
    first = set((await inside(node, "prepared")).nodes)
    second = set((await inside(node, "other")).nodes)
    common = nodes_of(metax(node)[:1]) & nodes_of(metax(node)[1:2])
    assert first & second == common
