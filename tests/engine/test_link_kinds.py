"""MetaX's manual on which cards of a node are given: the kind of link, then one group, then what stays whole.

The rules are written down here a second time and from the cards and their links alone, without weights or tables.
"""

from itertools import combinations
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from builders.clusters import card, grouped
from builders.requests import DEFAULTS, request, slice_ask, whole_ask
from builders.servers import servers
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.filter import filter_nodes
from tangram.engine.place import Defaults
from tangram.model.cards import CardMode
from tangram.model.nodes import Node
from tangram.model.requests import Ask, AskKind, CardOrder, NodePolicy
from tangram.model.topology import Link, LinkKind, PcieLevel, Topology
from tangram.units.ids import NodeName

POLICIES = [None, NodePolicy.BINPACK, NodePolicy.SPREAD, NodePolicy.FRAG]


class Chosen(NamedTuple):
    free: tuple[int, ...]
    cards: tuple[int, ...]


def chosen_on(
    node: Node,
    busy: tuple[int, ...],
    ask: Ask,
    *,
    node_policy: NodePolicy | None = None,
    card_order: tuple[CardOrder, ...] = (),
    defaults: Defaults = DEFAULTS,
) -> Chosen:
    """The cards that a pod gets there, by their places."""
    ledger = ledger_of(node)
    for at in busy:
        ledger.put_tenant(
            tenant(f"t{at}", node, Part(at, node.cards[at].memory, node.cards[at].cores, AskKind.WHOLE))
        )
    asked = request("p", ask, node_policy=node_policy, card_order=card_order)
    allocation = filter_nodes(ledger, asked, defaults).allocation
    assert allocation is not None
    free = tuple(at for at in range(len(node.cards)) if at not in busy)
    return Chosen(free, tuple(sorted(share.index for share in allocation.containers[0].shares)))


class Kind(NamedTuple):
    """How a set is joined, compared from left to right."""

    linked: bool
    """Every two of its cards have a direct link."""
    switched: bool
    """Every two of them meet below one PCIe switch."""


def kind(node: Node, cards: tuple[int, ...]) -> Kind:
    links = {} if node.topology is None else {(each.a, each.b): each for each in node.topology.links}
    pairs = [links.get(pair) for pair in combinations(cards, 2)]
    linked = all(each is not None and each.kind is not LinkKind.NONE for each in pairs)
    near = all(each is not None and each.pcie <= PcieLevel.SINGLE_SWITCH for each in pairs)
    return Kind(linked, linked or near)


@given(servers(), st.data(), st.sampled_from(POLICIES))
def test_no_free_set_of_a_better_kind_is_ever_passed_over(
    node: Node, data: st.DataObject, policy: NodePolicy | None
) -> None:
    busy = tuple(sorted(data.draw(st.sets(st.integers(0, len(node.cards) - 1)))))
    free = len(node.cards) - len(busy)
    assume(free > 0)
    ask = whole_ask(data.draw(st.integers(1, free)), vendor=node.cards[0].vendor)
    found = chosen_on(node, busy, ask, node_policy=policy)
    best = max(kind(node, each) for each in combinations(found.free, ask.count))
    assert kind(node, found.cards) == best


@given(servers(), st.data())
def test_the_policy_of_the_node_never_changes_the_cards(node: Node, data: st.DataObject) -> None:
    busy = tuple(sorted(data.draw(st.sets(st.integers(0, len(node.cards) - 1)))))
    free = len(node.cards) - len(busy)
    assume(free > 0)
    ask = whole_ask(data.draw(st.integers(1, free)), vendor=node.cards[0].vendor)
    cards = {
        chosen_on(node, busy, ask, node_policy=policy, defaults=Defaults(node_policy=default)).cards
        for policy in POLICIES
        for default in (NodePolicy.BINPACK, NodePolicy.SPREAD)
    }
    assert len(cards) == 1


@st.composite
def grouped_servers(draw: st.DrawFn) -> tuple[Node, tuple[int, ...]]:
    """Groups of linked cards, some pairs of which also share a switch; and the group of each card."""
    groups = tuple(draw(st.lists(st.integers(0, 3), min_size=2, max_size=8)))
    members = [tuple(at for at, each in enumerate(groups) if each == number) for number in range(4)]
    near = draw(st.sets(st.sampled_from(list(combinations(range(len(groups)), 2)))))
    topology = grouped(len(groups), [each for each in members if each], near=near)
    cards = tuple(card("n", at, mode=CardMode.WHOLE, numa=0) for at in range(len(groups)))
    return Node(name=NodeName("n"), cards=cards, topology=topology), groups


@given(grouped_servers(), st.data(), st.sampled_from(POLICIES))
def test_in_groups_of_linked_cards_the_manuals_rules_decide_in_their_order(
    server: tuple[Node, tuple[int, ...]], data: st.DataObject, policy: NodePolicy | None
) -> None:
    node, groups = server
    busy = tuple(sorted(data.draw(st.sets(st.integers(0, len(groups) - 1)))))
    assume(len(busy) < len(groups))
    count = data.draw(st.integers(1, len(groups) - len(busy)))
    found = chosen_on(node, busy, whole_ask(count), node_policy=policy)

    def together(cards: tuple[int, ...]) -> int:
        return sum(groups[a] == groups[b] for a, b in combinations(cards, 2))

    def rules(cards: tuple[int, ...]) -> tuple[bool, int, int]:
        left = tuple(each for each in found.free if each not in cards)
        return len({groups[each] for each in cards}) == 1, together(cards), together(left)

    assert rules(found.cards) == max(rules(each) for each in combinations(found.free, count))


FOURS = Node(
    name=NodeName("n"),
    cards=tuple(card("n", at, mode=CardMode.WHOLE, numa=at // 4) for at in range(8)),
    topology=grouped(8, [(0, 1, 2, 3), (4, 5, 6, 7)]),
)
"""The server of the manual's figures."""


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("busy", "count", "cards"),
    [
        pytest.param((0, 1), 4, (4, 5, 6, 7), id="figure 2.2"),
        pytest.param((0, 1), 2, (2, 3), id="figure 2.3"),
        pytest.param((0, 5, 6), 2, (4, 7), id="three of one group and two of the other are free"),
        pytest.param((5, 6, 7), 2, (2, 3), id="four linked cards and a lone one are free"),
        pytest.param((0, 1, 2), 2, (6, 7), id="a lone card and a whole group are free"),
    ],
)
def test_binpack_and_spread_give_the_manuals_cards(
    policy: NodePolicy | None, busy: tuple[int, ...], count: int, cards: tuple[int, ...]
) -> None:
    assert chosen_on(FOURS, busy, whole_ask(count), node_policy=policy).cards == cards


LONE_AND_FOUR = (0, 1, 2)
"""Busy cards of `FOURS` that leave a lone card and a whole group."""


@pytest.mark.parametrize(
    ("order", "cards"),
    [
        pytest.param((), (6, 7), id="no policy"),
        pytest.param((CardOrder.BINPACK,), (3, 7), id="binpack: the least loss"),
        pytest.param((CardOrder.NUMA, CardOrder.BINPACK), (3, 7), id="binpack after another word"),
        pytest.param((CardOrder.BINPACK, CardOrder.SPREAD), (3, 7), id="binpack before spread"),
        pytest.param((CardOrder.SPREAD, CardOrder.BINPACK), (6, 7), id="spread before binpack"),
        pytest.param((CardOrder.BINPACK, CardOrder.TOPOLOGY), (6, 7), id="links asked for by name"),
        pytest.param((CardOrder.SPREAD,), (6, 7), id="spread"),
        pytest.param((CardOrder.MUTEX,), (6, 7), id="mutex"),
    ],
)
def test_only_the_pods_own_card_policy_puts_the_loss_before_the_links(
    order: tuple[CardOrder, ...], cards: tuple[int, ...]
) -> None:
    assert chosen_on(FOURS, LONE_AND_FOUR, whole_ask(2), card_order=order).cards == cards
    by_default = Defaults(card_order=order or DEFAULTS.card_order)
    assert chosen_on(FOURS, LONE_AND_FOUR, whole_ask(2), defaults=by_default).cards == (6, 7)


def test_exclusive_slices_follow_the_links_whatever_order_of_cards_is_asked_for() -> None:
    sliced = msgspec.structs.replace(
        FOURS, cards=tuple(card("n", at, mode=CardMode.SLICED) for at in range(8))
    )
    for order in ((), (CardOrder.BINPACK,), (CardOrder.SPREAD,)):
        assert chosen_on(sliced, LONE_AND_FOUR, slice_ask(2), card_order=order).cards == (6, 7)


def test_a_complete_set_of_links_comes_before_a_larger_sum_with_one_link_less() -> None:
    # Three far linked cards are worth 240, two near pairs and a switch 270: the manual counts links, not distances.
    links = (
        *(Link(a, b, LinkKind.METAXLINK, PcieLevel.MULTIPLE_SWITCHES) for a, b in ((0, 1), (0, 2), (1, 2))),
        *(Link(a, b, LinkKind.METAXLINK, PcieLevel.SINGLE_SWITCH) for a, b in ((3, 4), (4, 5))),
        Link(3, 5, pcie=PcieLevel.SINGLE_SWITCH),
    )
    node = Node(
        name=NodeName("n"),
        cards=tuple(card("n", at, mode=CardMode.WHOLE) for at in range(6)),
        topology=Topology(6, links),
    )
    assert chosen_on(node, (), whole_ask(3)).cards == (0, 1, 2)
