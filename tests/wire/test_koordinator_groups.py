"""Which groups of cards Koordinator is told of: complete ones, in the blocks that pods of two, four and eight fill."""

import json
from collections.abc import Iterable
from itertools import combinations, product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders.clusters import card, grouped
from tangram.model.nodes import Node
from tangram.model.topology import Link, LinkKind, Topology
from tangram.units.ids import NodeName
from tangram.wire.koordinator import names
from tangram.wire.koordinator.device import device_object, read_device
from tangram.wire.koordinator.device_info import encode_device_infos
from tangram.wire.koordinator.groups import linked_groups
from tangram.wire.koordinator.reporting import device_infos_of, device_of
from tangram.wire.nodes import read_node
from testbed.koordlet import device_of as device_of_koordlet
from wire import manifests

NOW = "2026-11-16T00:00:00Z"
WORDS = {"MetaXLink": LinkKind.METAXLINK, "MTLink": LinkKind.MTLINK}
Pairs = Iterable[tuple[int, int]]


def of(count: int, topology: Topology) -> Node:
    cards = tuple(card("n", at) for at in range(count))
    return Node(name=NodeName("n"), cards=cards, topology=topology)


def joined(count: int, pairs: Pairs) -> Node:
    return of(count, Topology(count, tuple(Link(a, b, LinkKind.METAXLINK) for a, b in pairs)))


def sizes(node: Node) -> dict[int, list[tuple[int, ...]]]:
    found: dict[int, list[tuple[int, ...]]] = {}
    for group in linked_groups(node):
        found.setdefault(len(group.minors), []).append(group.minors)
    return found


def test_a_linked_four_is_also_two_pairs() -> None:
    assert sizes(of(8, grouped(8, [(0, 1, 2, 3), (4, 5, 6, 7)]))) == {
        2: [(0, 1), (2, 3), (4, 5), (6, 7)],
        4: [(0, 1, 2, 3), (4, 5, 6, 7)],
    }


def test_eight_linked_cards_are_told_of_as_koordinator_tells_of_its_own_servers() -> None:
    assert sizes(of(8, grouped(8, [tuple(range(8))]))) == {
        2: [(0, 1), (2, 3), (4, 5), (6, 7)],
        4: [(0, 1, 2, 3), (4, 5, 6, 7)],
        8: [tuple(range(8))],
    }


def test_sixteen_linked_cards_are_fifteen_groups() -> None:
    found = sizes(of(16, grouped(16, [tuple(range(16))])))
    assert {size: len(groups) for size, groups in found.items()} == {2: 8, 4: 4, 8: 2, 16: 1}


def test_linked_pairs_have_no_smaller_blocks() -> None:
    assert sizes(of(4, grouped(4, [(0, 1), (2, 3)]))) == {2: [(0, 1), (2, 3)]}


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (3, {2: [(0, 1)], 3: [(0, 1, 2)]}),
        (6, {2: [(0, 1), (2, 3), (4, 5)], 4: [(0, 1, 2, 3)], 6: [(0, 1, 2, 3, 4, 5)]}),
    ],
)
def test_cards_that_fill_no_block_are_in_the_whole_set_alone(
    count: int, expected: dict[int, list[tuple[int, ...]]]
) -> None:
    assert sizes(of(count, grouped(count, [tuple(range(count))]))) == expected


def test_blocks_are_cut_by_minor_and_not_by_distance() -> None:
    assert sizes(of(8, grouped(8, [(0, 2, 5, 7)]))) == {2: [(0, 2), (5, 7)], 4: [(0, 2, 5, 7)]}


def test_of_a_ring_the_pairs_are_told_and_never_a_card_with_both_neighbours() -> None:
    assert sizes(joined(4, [(0, 1), (1, 2), (2, 3), (0, 3)])) == {2: [(0, 1), (0, 3), (1, 2), (2, 3)]}


def test_a_card_in_two_complete_sets_is_in_the_blocks_of_both() -> None:
    shared = [*combinations((0, 1, 2, 3), 2), *combinations((3, 4, 5, 6), 2)]
    assert sizes(joined(7, shared)) == {
        2: [(0, 1), (2, 3), (3, 4), (5, 6)],
        4: [(0, 1, 2, 3), (3, 4, 5, 6)],
    }


def test_links_of_two_kinds_make_no_group_together() -> None:
    kinds = {(0, 1): LinkKind.METAXLINK, (1, 2): LinkKind.MTLINK, (0, 2): LinkKind.MTLINK}
    node = of(3, Topology(3, tuple(Link(*pair, kind) for pair, kind in kinds.items())))
    assert {group.minors: group.link for group in linked_groups(node)} == {
        (0, 1): "MetaXLink",
        (0, 2): "MTLink",
        (1, 2): "MTLink",
    }


@pytest.mark.parametrize("node", [of(2, grouped(2, [])), of(1, Topology(1)), of(0, Topology(0))])
def test_where_nothing_is_linked_there_are_no_groups(node: Node) -> None:
    assert linked_groups(node) == ()
    assert linked_groups(replace(node, topology=None)) == ()


def test_the_sixteen_come_before_the_pairs_as_koordlet_sorts_sizes_as_text() -> None:
    device = device_of(of(16, grouped(16, [tuple(range(16))])), now=NOW)
    assert list(json.loads(device.annotations[names.GPU_PARTITIONS])) == ["16", "2", "4", "8"]


# ---- whatever is linked


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    """Up to sixteen cards in any order, from hardly linked to nearly all of them."""
    count = draw(st.integers(2, 16))
    every = list(combinations(range(count), 2))
    pairs = draw(st.sets(st.sampled_from(every)))
    if draw(st.booleans()):
        pairs = set(every) - pairs
    kinds = st.sampled_from([LinkKind.METAXLINK] * 3 + [LinkKind.MTLINK])
    node = of(count, Topology(count, tuple(Link(a, b, draw(kinds)) for a, b in sorted(pairs))))
    minors = draw(st.permutations(range(count)))
    cards = tuple(replace(each, index=minor) for each, minor in zip(node.cards, minors, strict=True))
    return replace(node, cards=cards)


def links_of(node: Node) -> dict[tuple[int, ...], LinkKind]:
    assert node.topology is not None
    return {
        tuple(sorted((node.cards[link.a].index, node.cards[link.b].index))): link.kind
        for link in node.topology.links
        if link.kind is not LinkKind.NONE
    }


@given(node=nodes())
def test_every_group_is_complete_and_told_once_and_every_link_is_in_one(node: Node) -> None:
    groups, linked = linked_groups(node), links_of(node)
    told = {pair: WORDS[group.link] for group in groups for pair in combinations(group.minors, 2)}
    assert told == linked
    for group in groups:
        assert {linked[pair] for pair in combinations(group.minors, 2)} == {WORDS[group.link]}
        assert list(group.minors) == sorted(group.minors)
    assert len({group.minors for group in groups}) == len(groups)


@given(node=nodes(), order=st.randoms(use_true_random=False))
def test_the_order_in_which_links_were_read_changes_nothing(node: Node, order: Random) -> None:
    assert node.topology is not None
    links = list(node.topology.links)
    order.shuffle(links)
    assert linked_groups(replace(node, topology=replace(node.topology, links=tuple(links)))) == linked_groups(
        node
    )


@given(node=nodes())
def test_a_card_whose_neighbours_are_all_linked_is_told_of_with_all_of_them(node: Node) -> None:
    linked = links_of(node)
    told = {(group.minors, group.link) for group in linked_groups(node)}
    for each, (word, kind) in product(node.cards, WORDS.items()):
        near = {minor for pair, how in linked.items() if how is kind and each.index in pair for minor in pair}
        if near and {linked.get(pair) for pair in combinations(sorted(near), 2)} == {kind}:
            assert (tuple(sorted(near)), word) in told


@given(node=nodes())
def test_the_table_stays_small_however_cards_are_linked(node: Node) -> None:
    count = len(node.cards)
    assert len(linked_groups(node)) <= count * (count - 1)


@given(node=nodes())
def test_koordlet_makes_of_our_file_the_table_and_the_policy_of_our_device(node: Node) -> None:
    file = json.loads(encode_device_infos(device_infos_of(node)))
    theirs = device_of_koordlet({"metadata": {"name": "n", "uid": "u"}}, file, NOW)
    ours: Any = device_object(device_of(node, now=NOW), node_uid="u")
    for part in ("labels", "annotations"):
        assert ours["metadata"].get(part, {}) == theirs["metadata"][part]


@given(node=nodes())
def test_the_table_read_back_is_the_links(node: Node) -> None:
    device, problems = read_device(device_object(device_of(node, now=NOW), node_uid="u"))
    assert problems == ()
    back = read_node(manifests.node("n", capacity={"metax-tech.com/sgpu": "256"}), device).node
    assert links_of(back) == links_of(node)
