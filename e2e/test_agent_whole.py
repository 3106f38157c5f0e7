"""Whole cards through the agent on a real kubelet: which cards a container gets, what is written back and published."""

import itertools
import json
from collections.abc import Iterable

import pytest

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
    run_here,
    running,
    whole_pod,
)
from e2e.agent_watch_kit import until_annotation, until_counts
from e2e.restarts_kit import PATIENCE
from testbed.manifests import is_over, pod

pytestmark = pytest.mark.xdist_group("agent with whole cards")

NATIVE = Setup("native", TWO_GROUPS, {GPU: 8})

SCORES = "metax-tech.com/gpu.topology.scores"
LOSSES = "metax-tech.com/gpu.topology.losses"
ZONES = "metax-tech.com/gpu.topology.zones"


async def written(node: AgentNode, name: str) -> list[list[str]]:
    """The cards that a pod's annotation names, by container, once it has one."""
    seen = await node.cluster.until_pod(
        name, lambda seen: WHOLE_GIVEN in seen["metadata"].get("annotations", {}), within=PATIENCE
    )
    return cards_in(seen["metadata"]["annotations"][WHOLE_GIVEN])


async def given(node: AgentNode, name: str) -> list[str]:
    """The cards that a pod's only container has, which its annotation says too."""
    found = await inside(node, name)
    (uuids,) = await written(node, name)
    assert found.nodes == nodes_of(card for card in metax(node) if card.uuid in uuids)
    assert found.env == {}
    return uuids


# ---- which cards


@on(NATIVE)
async def test_a_container_finds_the_nodes_of_exactly_as_many_cards_as_it_asked_for(node: AgentNode) -> None:
    await until_counts(node, GPU, 8, 8)
    for sizes in ((5, 2, 1), (4, 3), (8,)):
        names = [f"whole-{size}" for size in sizes]
        await run_here(node, *(whole_pod(name, size) for name, size in zip(names, sizes, strict=True)))
        held = [await given(node, name) for name in names]
        assert tuple(len(cards) for cards in held) == sizes
        taken = [uuid for cards in held for uuid in cards]
        assert len(taken) == len(set(taken)) == sum(sizes)
        await end_pods(node, *names)


@pytest.mark.smoke
@on(NATIVE)
async def test_with_the_first_two_cards_in_use_four_and_two_go_where_the_manual_says(node: AgentNode) -> None:
    cards = metax(node)
    await until_counts(node, GPU, 8, 8)
    await place_known(node, whole_pod("used", 2), predicted(node, cards[:2]))
    assert positions(cards, await given(node, "used")) == [1, 2]
    await run_here(node, whole_pod("four", 4))
    assert positions(cards, await given(node, "four")) == [5, 6, 7, 8]
    await end_pods(node, "four")
    await run_here(node, whole_pod("two", 2))
    assert positions(cards, await given(node, "two")) == [3, 4]


@on(NATIVE)
async def test_a_prediction_that_can_be_kept_is_kept_though_other_cards_would_be_better(
    node: AgentNode,
) -> None:
    cards = metax(node)
    await place_known(node, whole_pod("apart", 2), predicted(node, [cards[0], cards[7]]))
    assert positions(cards, await given(node, "apart")) == [1, 8]


@on(NATIVE)
async def test_what_the_kubelet_really_gave_is_written_over_a_prediction_that_could_not_be_kept(
    node: AgentNode,
) -> None:
    cards = metax(node)
    await place_known(node, whole_pod("first", 2), predicted(node, cards[:2]))
    await given(node, "first")
    promised = predicted(node, [cards[1], cards[2]])
    await place_known(node, whole_pod("second", 2), promised)
    await running(node, "second")
    corrected = await node.cluster.until_pod(
        "second",
        lambda seen: seen["metadata"].get("annotations", {}).get(WHOLE_GIVEN) != promised[WHOLE_GIVEN],
    )
    (uuids,) = cards_in(corrected["metadata"]["annotations"][WHOLE_GIVEN])
    assert (await inside(node, "second")).nodes == nodes_of(card for card in cards if card.uuid in uuids)
    assert positions(cards, uuids) == [3, 4]


@on(NATIVE)
async def test_each_container_of_a_pod_has_its_own_cards_and_the_annotation_lists_them_in_order(
    node: AgentNode,
) -> None:
    cards = metax(node)
    await run_here(node, pod("several", asking("one", gpu=1), asking("none"), asking("three", gpu=3)))
    seen = {name: (await inside(node, "several", name)).nodes for name in ("one", "none", "three")}
    assert seen["none"] == frozenset()
    by_container = [
        [card for card in cards if nodes_of([card]) <= seen[name]] for name in ("one", "none", "three")
    ]
    assert [len(each) for each in by_container] == [1, 0, 3]
    said = await written(node, "several")
    assert [sorted(part) for part in said] == [sorted(card.uuid for card in part) for part in by_container]


@on(NATIVE)
async def test_a_ninth_card_is_refused_by_the_kubelet_and_a_released_one_is_given_again(
    node: AgentNode,
) -> None:
    await run_here(node, whole_pod("seven", 7), whole_pod("one", 1))
    await node.cluster.api.create(whole_pod("ninth", 1, node))
    refused = await node.cluster.until_pod("ninth", is_over)
    assert refused["status"]["phase"] == "Failed"
    assert GPU in refused["status"]["reason"] + refused["status"]["message"]
    before = await given(node, "one")
    await end_pods(node, "one", "ninth")
    await run_here(node, whole_pod("after", 1))
    assert await given(node, "after") == before


# ---- what is published


def figures(free: Iterable[int]) -> tuple[str, str]:
    """Scores and losses by trying every set of cards: 70 for a pair of one group, 10 for one across."""
    cards = sorted(free)

    def worth(pairs: Iterable[tuple[int, int]]) -> int:
        return sum(70 if a // 4 == b // 4 else 10 for a, b in pairs)

    scores: dict[str, int] = {}
    losses: dict[str, int] = {}
    for size in range(1, len(cards) + 1):
        sets = list(itertools.combinations(cards, size))
        scores[str(size)] = max(worth(itertools.combinations(chosen, 2)) for chosen in sets)
        losses[str(size)] = min(worth(itertools.product(chosen, set(cards) - set(chosen))) for chosen in sets)
    return _compact(scores), _compact(losses)


def zones(*available: int) -> str:
    return _compact(
        {
            "zones": [
                {
                    "name": f"gpu-group-{number}",
                    "type": "DirectLink",
                    "attributes": [{"name": "topologyLinkWeight", "value": "60"}],
                    "resources": [{"name": GPU, "capacity": "4", "allocatable": "4", "available": str(left)}],
                }
                for number, left in enumerate(available)
            ]
        }
    )


def _compact(thing: object) -> str:
    return json.dumps(thing, separators=(",", ":"))


async def until_published(node: AgentNode, free: Iterable[int]) -> None:
    left = sorted(free)
    scores, losses = figures(left)
    await until_annotation(node, SCORES, lambda value: value == scores, f"scores {scores}")
    await until_annotation(node, LOSSES, lambda value: value == losses, f"losses {losses}")
    wanted = zones(sum(card < 4 for card in left), sum(card >= 4 for card in left))
    await until_annotation(node, ZONES, lambda value: value == wanted, f"zones {wanted}")


@on(NATIVE)
async def test_scores_losses_and_zones_follow_what_is_free_byte_for_byte(node: AgentNode) -> None:
    cards = metax(node)
    await until_published(node, range(8))
    assert await until_annotation(node, SCORES, bool) == (
        '{"1":0,"2":70,"3":210,"4":420,"5":460,"6":570,"7":750,"8":1000}'
    )
    await place_known(node, whole_pod("two", 2), predicted(node, cards[:2]))
    await until_published(node, range(2, 8))
    await place_known(node, whole_pod("one", 1), predicted(node, [cards[5]]))
    await until_published(node, {2, 3, 4, 6, 7})
    await end_pods(node, "two")
    await until_published(node, {0, 1, 2, 3, 4, 6, 7})
