"""The node's own card choice: the same answers as the cluster's tables, without what those need."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import TWO_GROUPS_OF_FOUR, card, grouped
from builders.servers import layouts
from tangram.engine.card_sets import best_score, best_set, least_loss, losses, scores
from tangram.engine.layout import Layout, layout_of
from tangram.engine.topology import TopologyTable
from tangram.engine.weights import DEFAULT_WEIGHTS
from tangram.model.cards import CardMode
from tangram.model.nodes import Node
from tangram.model.topology import Topology
from tangram.units.ids import NodeName


def layout_with(topology: Topology) -> Layout:
    cards = tuple(card("n", index, mode=CardMode.WHOLE) for index in range(topology.size))
    layout = layout_of(Node(name=NodeName("n"), cards=cards, topology=topology), DEFAULT_WEIGHTS)
    assert layout is not None
    return layout


def mask(*cards: int) -> int:
    return sum(1 << each for each in cards)


@pytest.mark.parametrize(
    ("count", "given_cards"),
    [
        pytest.param(4, (4, 5, 6, 7), id="figure 2.2: the only four that share a group"),
        pytest.param(2, (2, 3), id="figure 2.3: the group of four stays whole"),
        pytest.param(3, (5, 6, 7), id="three of the whole group rather than two and one"),
        pytest.param(6, (2, 3, 4, 5, 6, 7), id="all that is left"),
    ],
)
def test_with_the_first_two_cards_in_use_the_manuals_choice_is_made(
    count: int, given_cards: tuple[int, ...]
) -> None:
    best = best_set(layout_with(TWO_GROUPS_OF_FOUR), mask(2, 3, 4, 5, 6, 7), count)
    assert best is not None
    assert best.mask == mask(*given_cards)


def test_the_largest_score_is_the_near_pairs_and_the_least_loss_the_broken_groups() -> None:
    # Four linked cards of which two share a switch, and two more that are linked from afar.
    layout = layout_with(grouped(6, [(0, 1, 2, 3), (4, 5)], near=[(0, 1)]))
    connected, damage = best_score(layout, 0b111111, 2), least_loss(layout, 0b111111, 2)
    assert connected is not None
    assert damage is not None
    assert (connected.mask, damage.mask) == (mask(0, 1), mask(4, 5))


def test_a_far_linked_pair_is_given_before_a_near_one_whose_group_is_whole() -> None:
    # Both pairs are linked: what stays free decides, as the manual has it, and not the PCIe switch beside the link.
    layout = layout_with(grouped(6, [(0, 1, 2, 3), (4, 5)], near=[(0, 1)]))
    best = best_set(layout, 0b111111, 2)
    assert best is not None
    assert best.mask == mask(4, 5)


def test_of_two_linked_pairs_of_a_group_the_nearer_is_given() -> None:
    best = best_set(layout_with(grouped(4, [(0, 1, 2, 3)], near=[(0, 1), (2, 3)])), 0b1111, 2)
    assert best is not None
    assert best.mask == mask(2, 3)


def test_figures_seen_in_the_field_come_out_exactly() -> None:
    layout, free = layout_with(TWO_GROUPS_OF_FOUR), mask(2, 3, 4, 5, 6, 7)
    assert scores(layout, free) == {1: 0, 2: 110, 3: 330, 4: 660, 5: 700, 6: 850}
    assert losses(layout, free) == {1: 150, 2: 80, 3: 390, 4: 80, 5: 150, 6: 0}


def test_figures_of_the_published_node_with_switch_pairs_come_out_exactly() -> None:
    paired = grouped(8, [(0, 1, 2, 3), (4, 5, 6, 7)], near=[(0, 1), (2, 3), (4, 5), (6, 7)])
    assert scores(layout_with(paired), 0xFF) == {
        1: 0, 2: 110, 3: 270, 4: 540, 5: 580, 6: 730, 7: 930, 8: 1240,
    }  # fmt: skip


@pytest.mark.parametrize("count", [-1, 3, 17])
def test_more_cards_than_are_free_are_nobody(count: int) -> None:
    assert best_set(layout_with(TWO_GROUPS_OF_FOUR), mask(2, 7), count) is None


def test_cards_the_node_does_not_have_are_never_chosen() -> None:
    layout = layout_with(grouped(2, [(0, 1)]))
    best = best_set(layout, mask(0, 1, 2, 9), 2)
    assert best is not None
    assert best.mask == mask(0, 1)
    assert scores(layout, mask(0, 1, 2, 9)) == scores(layout, mask(0, 1))


def test_no_cards_have_no_figures() -> None:
    nothing = layout_with(Topology(0))
    assert scores(nothing, 0) == losses(nothing, 0) == {}
    assert scores(layout_with(TWO_GROUPS_OF_FOUR), 0) == {}


@given(layouts(largest=9), st.data())
def test_every_choice_is_that_of_the_clusters_table(layout: Layout, data: st.DataObject) -> None:
    table = TopologyTable(layout)
    free = data.draw(st.integers(0, (1 << layout.size) - 1))
    for count in range(layout.size + 2):
        assert best_set(layout, free, count) == table.best(free, count)


@given(layouts(), st.data())
def test_cards_that_must_be_there_are_and_the_rest_is_the_best_beside_them(
    layout: Layout, data: st.DataObject
) -> None:
    free = data.draw(st.integers(0, (1 << layout.size) - 1))
    must = free & data.draw(st.integers(0, (1 << layout.size) - 1))
    table = TopologyTable(layout)
    for count in range(must.bit_count(), free.bit_count() + 1):
        with_these = [
            each
            for each in range(free + 1)
            if each & ~free == 0 and each & must == must and each.bit_count() == count
        ]
        best = best_set(layout, free, count, must=must)
        assert best is not None
        assert best.mask == max(with_these, key=lambda each: table.rank(each, free))


@pytest.mark.parametrize("size", [15, 16])
def test_the_largest_nodes_are_chosen_from_as_the_table_chooses(size: int) -> None:
    groups = [tuple(range(first, min(first + 4, size))) for first in range(0, size, 4)]
    layout = layout_with(grouped(size, groups, near=[(0, 1), (4, 6), (9, 11)]))
    table = TopologyTable(layout)
    for free in ((1 << size) - 1, 0b0110_1101_1011_1111 & ((1 << size) - 1)):
        for count in (1, 4, 8):
            assert best_set(layout, free, count) == table.best(free, count)


@pytest.mark.parametrize("module", ["tangram.engine.card_sets", "tangram.wire.publication"])
def test_a_node_agent_is_spared_the_arrays(module: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", f"import sys, {module}; print('numpy' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "False"
