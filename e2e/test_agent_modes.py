"""Cards offered otherwise than whole: as virtual functions, to several at once, some of a node in slices, and a card
that changes from one to the other.
"""

import pytest

from e2e.agent_kit import AgentNode, slices
from e2e.agent_view_kit import (
    GPU,
    SGPU,
    Setup,
    all_slices,
    end_pods,
    inside,
    look,
    metax,
    nodes_of,
    on,
    place_known,
    predicted,
    run_here,
    running,
    set_mode,
    slice_of,
    whole_pod,
)
from e2e.agent_watch_kit import until, until_counts
from testbed.manifests import pod

pytestmark = pytest.mark.xdist_group("agent and modes")

FOUR = "tangram: cards/v1\ncards:\n- {product: C500, count: 4}\n"
FUNCTIONS = Setup(
    "functions", "tangram: cards/v1\ncards:\n- {product: N260, count: 2, virtual_functions: 4}\n", {GPU: 8}
)
SHARED = Setup("shared", FOUR, {GPU: 12}, "mode: shared\nshareNums: 3\n")
MIXED = Setup("mixed", FOUR, {GPU: 2, SGPU: 32}, "mode: mixed\nslicedCards: [2, 3]\n")


# ---- virtual functions and shared cards


@on(FUNCTIONS)
async def test_virtual_functions_count_each_and_fill_the_card_that_has_the_fewest_left(
    node: AgentNode,
) -> None:
    await until_counts(node, GPU, 8, 8)
    functions = [each for each in look(node).devices if each.virtual_function_of is not None]
    assert len(functions) == 8
    names = ("three", "one", "two")
    for name, count in zip(names, (3, 1, 2), strict=True):
        await run_here(node, whole_pod(name, count))
    taken: list[str] = []
    by_pod: dict[str, set[str | None]] = {}
    for name, count in zip(names, (3, 1, 2), strict=True):
        found = (await inside(node, name)).nodes
        own = [each for each in functions if nodes_of([each]) <= found]
        assert len(own) == count
        assert found == nodes_of(own)
        taken += [each.uuid for each in own]
        by_pod[name] = {each.virtual_function_of for each in own}
    assert len(taken) == len(set(taken)) == 6
    assert by_pod["three"] == by_pod["one"]
    assert by_pod["two"].isdisjoint(by_pod["one"])


@on(SHARED)
async def test_a_shared_card_is_offered_as_often_as_said_and_its_users_find_the_same_nodes(
    node: AgentNode,
) -> None:
    cards = metax(node)
    await until_counts(node, GPU, 12, 12)
    names = [f"turn-{number}" for number in range(5)]
    for name in names:
        await run_here(node, whole_pod(name, 1))
    seen = [(await inside(node, name)).nodes for name in names]
    users = [[number for number, card in enumerate(cards) if nodes_of([card]) == nodes] for nodes in seen]
    assert all(len(each) == 1 for each in users)
    assert {number for (number,) in users} == {0, 1, 2, 3}
    await run_here(node, whole_pod("wide", 4))
    assert (await inside(node, "wide")).nodes == nodes_of(cards)


# ---- cards of one node offered in different ways


@on(MIXED)
async def test_a_mixed_node_offers_its_cards_under_two_names_and_serves_both_at_once(node: AgentNode) -> None:
    await until_counts(node, GPU, 2, 2)
    await until_counts(node, SGPU, 32, 32)
    cards = metax(node)
    assert [card.sliced for card in cards] == [False, False, True, True]
    await run_here(node, whole_pod("whole", 2))
    await node.place(pod("slice", slice_of()), slices([(cards[3].uuid, 1024, 10)]))
    assert (await inside(node, "whole")).nodes == nodes_of(cards[:2])
    found = await inside(node, "slice")
    assert found.nodes == nodes_of([cards[3]])
    (part,) = all_slices(node)
    assert part.card == cards[3].uuid
    assert part.name in found.env["METAX_SGPUS"]


@on(MIXED)
async def test_a_card_changes_how_it_is_offered_only_when_nobody_has_it_any_more(node: AgentNode) -> None:
    cards = metax(node)
    await until_counts(node, GPU, 2, 2)
    await place_known(node, whole_pod("holder", 1), predicted(node, [cards[0]]))
    held = await running(node, "holder")
    try:
        set_mode(node, "mode: mixed\nslicedCards: [0, 1, 2, 3]\n")
        await until_counts(node, SGPU, 48, 48)
        await until_counts(node, GPU, 1, 1)
        assert [card.sliced for card in metax(node)] == [False, True, True, True]
        assert (await running(node, "holder"))["status"]["containerStatuses"] == (
            held["status"]["containerStatuses"]
        )
        await end_pods(node, "holder")
        await until_counts(node, SGPU, 64, 64)
        await until_counts(node, GPU, 0, 0)
        await until(lambda: all(card.sliced for card in metax(node)), "the last card is sliced")
    finally:
        set_mode(node, MIXED.mode)
        await until_counts(node, GPU, 2, 2)
        await until_counts(node, SGPU, 32, 32)
