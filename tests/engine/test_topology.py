"""Best sets, scores and losses, against the manual's choices and a slow exhaustive search."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import isqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import TWO_GROUPS_OF_FOUR, card
from builders.servers import layouts
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
        kinds=(0, 65, 0, 0, 65, 0, 0, 0, 0, 0, 0, 50, 0, 0, 50, 0),
        linked=(2, 1, 0, 0),
        one_switch=(0, 0, 8, 4),
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


@given(layouts(), st.data())
def test_scores_and_losses_are_true_extremes_over_all_sets(layout: Layout, data: st.DataObject) -> None:
    free = data.draw(st.integers(1, (1 << layout.size) - 1))
    cards = cards_of(free)
    for count in range(1, len(cards) + 1):
        worth = {
            chosen: (inside(layout.weights, chosen), cut(layout.weights, chosen, cards))
            for chosen in combinations(cards, count)
        }
        assert scores(layout, free)[count] == max(score for score, _ in worth.values())
        assert losses(layout, free)[count] == min(loss for _, loss in worth.values())
        mildest = TopologyTable(layout).best(free, count, least_damage=True)
        assert mildest is not None
        assert mildest.loss == losses(layout, free)[count]
        assert worth[tuple(cards_of(mildest.mask))] == (mildest.score, mildest.loss)


@given(layouts(), st.data())
def test_the_best_set_is_the_best_of_all_by_every_rule_in_turn(layout: Layout, data: st.DataObject) -> None:
    free = data.draw(st.integers(1, (1 << layout.size) - 1))
    cards = cards_of(free)

    def together(chosen: tuple[int, ...]) -> int:
        ways = [layout.linked, layout.one_switch]
        ways += [] if any(layout.linked) else [layout.switched, layout.same_numa]
        joined = [all(way[a] >> b & 1 for a, b in combinations(chosen, 2)) for way in ways]
        return next((len(ways) - at for at, each in enumerate(joined) if each), 0)

    for count in range(1, len(cards) + 1):
        first = max(
            combinations(cards, count),
            key=lambda chosen: (
                together(chosen),
                inside(layout.kinds, chosen),
                -cut(layout.kinds, chosen, cards),
                -cut(layout.weights, chosen, cards),
                inside(layout.weights, chosen),
                mask(*chosen),
            ),
        )
        best = TopologyTable(layout).best(free, count)
        assert best == TopologyTable(layout).worth(mask(*first), free)
        other = TopologyTable(layout).other(free, count, than=mask(*first))
        if other is not None:
            ranks = [TopologyTable(layout).rank(each, free) for each in (mask(*first), other.mask)]
            assert ranks[0] > ranks[1]


def cards_of(free: int) -> list[int]:
    return [each for each in range(free.bit_length()) if free >> each & 1]


def inside(pairs: tuple[int, ...], chosen: Iterable[int]) -> int:
    size = isqrt(len(pairs))
    return sum(pairs[a * size + b] for a, b in combinations(chosen, 2))


def cut(pairs: tuple[int, ...], chosen: Sequence[int], free: Sequence[int]) -> int:
    return inside(pairs, free) - inside(pairs, chosen) - inside(pairs, sorted(set(free) - set(chosen)))
