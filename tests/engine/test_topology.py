"""Best sets, scores and losses, against the manual's choices and a slow exhaustive search."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import TWO_GROUPS_OF_FOUR, card
from tangram.engine.card_sets import losses, scores
from tangram.engine.layout import Layout, layout_of
from tangram.engine.topology import TopologyTable
from tangram.engine.weights import DEFAULT_WEIGHTS
from tangram.model.cards import CardMode
from tangram.model.nodes import Node
from tangram.model.topology import Topology, TopologyScope
from tangram.units.ids import NodeName


def table(topology: Topology) -> TopologyTable:
    cards = tuple(
        card("n", index, mode=CardMode.WHOLE, numa=index * 2 // topology.size)
        for index in range(topology.size)
    )
    layout = layout_of(Node(name=NodeName("n"), cards=cards, topology=topology), DEFAULT_WEIGHTS)
    assert layout is not None
    return TopologyTable(layout)


def mask(*cards: int) -> int:
    return sum(1 << each for each in cards)


@pytest.mark.parametrize(
    ("count", "given_cards"),
    [
        pytest.param(4, (4, 5, 6, 7), id="figure 2.2: the only four that share a group"),
        pytest.param(2, (2, 3), id="figure 2.3: the group of four stays whole"),
        pytest.param(3, (5, 6, 7), id="three of the whole group rather than two and one"),
    ],
)
def test_with_the_first_two_cards_in_use_the_manuals_choice_is_made(
    count: int, given_cards: tuple[int, ...]
) -> None:
    best = table(TWO_GROUPS_OF_FOUR).best(mask(2, 3, 4, 5, 6, 7), count)
    assert best is not None
    assert best.mask == mask(*given_cards)


def test_a_linked_set_beats_a_switched_set_of_the_same_size() -> None:
    # Cards 0-1 share a MetaXLink but no switch, cards 2-3 only a switch.
    layout = Layout(
        4,
        known=True,
        weights=(0, 70, 0, 0, 70, 0, 0, 0, 0, 0, 0, 50, 0, 0, 50, 0),
        linked=(2, 1, 0, 0),
        switched=(0, 0, 8, 4),
        same_numa=(0, 0, 0, 0),
    )
    best = TopologyTable(layout).best(0b1111, 2)
    assert best is not None
    assert best.mask == mask(0, 1)


def test_a_request_no_group_can_hold_is_still_served() -> None:
    best = table(TWO_GROUPS_OF_FOUR).best(0xFF, 6)
    assert best is not None
    assert best.mask.bit_count() == 6


def test_a_scope_is_a_condition_not_a_wish() -> None:
    layout = table(TWO_GROUPS_OF_FOUR)
    assert layout.best(0xFF, 4, scope=TopologyScope.LINK) is not None
    assert layout.best(0xFF, 5, scope=TopologyScope.LINK) is None
    assert layout.best(mask(0, 4), 2, scope=TopologyScope.PCIE) is None
    assert layout.best(mask(0, 1, 4), 2, scope=TopologyScope.NUMA) is not None
    assert layout.best(mask(0, 4), 2, scope=TopologyScope.NUMA) is None


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    size = draw(st.integers(1, 7))
    weights = [[0] * size for _ in range(size)]
    for a, b in combinations(range(size), 2):
        weights[a][b] = weights[b][a] = draw(st.sampled_from([0, 10, 20, 50, 80, 110, 120]))
    flat = tuple(each for row in weights for each in row)
    nobody = (0,) * size
    return Layout(size, known=True, weights=flat, linked=nobody, switched=nobody, same_numa=nobody)


@given(layouts(), st.data())
def test_scores_and_losses_are_true_extremes_over_all_sets(layout: Layout, data: st.DataObject) -> None:
    free = data.draw(st.integers(1, (1 << layout.size) - 1))
    cards = [each for each in range(layout.size) if free >> each & 1]

    def inside(chosen: tuple[int, ...]) -> int:
        return sum(layout.weights[a * layout.size + b] for a, b in combinations(chosen, 2))

    fast = TopologyTable(layout)
    for count in range(1, len(cards) + 1):
        worth = {
            chosen: (
                inside(chosen),
                inside(tuple(cards)) - inside(chosen) - inside(tuple(set(cards) - set(chosen))),
            )
            for chosen in combinations(cards, count)
        }
        assert scores(layout, free)[count] == max(score for score, _ in worth.values())
        assert losses(layout, free)[count] == min(loss for _, loss in worth.values())
        connected, damage = fast.best(free, count), fast.best(free, count, least_damage=True)
        assert connected is not None
        assert damage is not None
        assert (connected.score, -connected.loss) == max((score, -loss) for score, loss in worth.values())
        assert (-damage.loss, damage.score) == max((-loss, score) for score, loss in worth.values())
