"""Whole and exclusive cards: chosen together, by their links, with the rest left as whole as possible."""

from collections.abc import Callable

import msgspec
import pytest

from builders.clusters import TWO_GROUPS_OF_FOUR, card, grouped, metax_node
from builders.requests import DEFAULTS, indexes, request, run, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.filter import filter_nodes
from tangram.engine.ledger import Ledger
from tangram.model.cards import CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import Role
from tangram.model.requests import Ask, AskKind, ContainerAsk
from tangram.model.topology import TopologyScope
from tangram.model.verdicts import NodeRule
from tangram.units.ids import NodeName
from tangram.units.memory import Bytes, from_gib

WHOLE = metax_node("n", 8, mode=CardMode.WHOLE)
changed = msgspec.structs.replace


def busy(node: Node, *cards: int) -> Ledger:
    ledger = ledger_of(node)
    for at in cards:
        ledger.put_tenant(tenant(f"t{at}", node, Part(at, from_gib(64), 100, AskKind.WHOLE)))
    return ledger


@pytest.mark.parametrize(
    ("ask", "mode"),
    [
        pytest.param(whole_ask, CardMode.WHOLE, id="whole cards"),
        pytest.param(slice_ask, CardMode.SLICED, id="exclusive slices"),
    ],
)
@pytest.mark.parametrize(
    ("count", "given_cards"),
    [
        pytest.param(4, [7, 6, 5, 4], id="figure 2.2"),
        pytest.param(2, [3, 2], id="figure 2.3"),
        pytest.param(1, [3], id="one that breaks least"),
        pytest.param(6, [7, 6, 5, 4, 3, 2], id="all that is left"),
        pytest.param(7, [], id="more than is left"),
    ],
)
def test_with_the_first_two_cards_in_use_the_manuals_cards_are_given(
    ask: Callable[[int], Ask], mode: CardMode, count: int, given_cards: list[int]
) -> None:
    ledger = busy(metax_node("n", 8, mode=mode), 0, 1)
    assert indexes(run(ledger, request("p", ask(count)))) == given_cards


@pytest.mark.parametrize(
    "beside", [(), (metax_node("v", 2, mode=CardMode.VIRTUAL, slots=4),), (metax_node("big", 20),)]
)
def test_links_decide_whatever_other_nodes_there_are(beside: tuple[Node, ...]) -> None:
    scattered = changed(WHOLE, topology=grouped(8, [(0, 2, 5, 7), (1, 3, 4, 6)]))
    assert indexes(run(ledger_of(scattered, *beside), request("p", whole_ask(4)))) == [7, 5, 2, 0]


def test_two_containers_may_each_have_whole_cards() -> None:
    # B1: all containers had to use the same card, and a whole card has one slot.
    placed = run(ledger_of(WHOLE), request("p", whole_ask(2), whole_ask(2)))
    assert placed is not None
    given = [[share.index for share in each.shares] for each in placed.containers]
    assert given == [[7, 6], [5, 4]]


def test_cards_across_zones_are_taken_where_most_links_are() -> None:
    # B6: five of zones of 4, 3 and 1 made 1+3+1 with three linked pairs instead of 4+1 with six.
    zones = grouped(8, [(0, 1, 2, 3), (4, 5, 6), (7,)])
    ledger = ledger_of(changed(metax_node("n", 8), topology=zones))
    assert indexes(run(ledger, request("p", slice_ask(5)))) == [7, 3, 2, 1, 0]


def test_equal_zones_are_taken_from_the_higher_numbers_every_time() -> None:
    # B6: equal zones were chosen at random.
    for _ in range(5):
        assert indexes(run(ledger_of(metax_node("n", 8)), request("p", slice_ask(3)))) == [7, 6, 5]


@pytest.mark.parametrize(
    ("node", "scope", "count", "rule"),
    [
        pytest.param(WHOLE, TopologyScope.LINK, 4, NodeRule.FITS, id="four of a group"),
        pytest.param(WHOLE, TopologyScope.LINK, 5, NodeRule.SCOPE, id="five of two groups"),
        pytest.param(WHOLE, TopologyScope.NUMA, 5, NodeRule.SCOPE, id="five of two NUMA nodes"),
        pytest.param(WHOLE, TopologyScope.NODE, 8, NodeRule.FITS, id="all of a node"),
        pytest.param(WHOLE, TopologyScope.NODE, 9, NodeRule.NO_SUCH_CARDS, id="more than a node"),
        pytest.param(
            changed(WHOLE, topology=None), TopologyScope.LINK, 2, NodeRule.SCOPE, id="links unknown"
        ),
        pytest.param(changed(WHOLE, topology=None), TopologyScope.LINK, 1, NodeRule.FITS, id="a single card"),
        pytest.param(
            metax_node("n", 18, mode=CardMode.WHOLE),
            TopologyScope.NUMA,
            2,
            NodeRule.SCOPE,
            id="too many to tell",
        ),
        pytest.param(
            metax_node("n", 2, mode=CardMode.VIRTUAL, slots=4),
            TopologyScope.LINK,
            4,
            NodeRule.FITS,
            id="functions of one card",
        ),
        pytest.param(
            metax_node("n", 2, mode=CardMode.VIRTUAL, slots=4),
            TopologyScope.LINK,
            5,
            NodeRule.SCOPE,
            id="functions of two cards",
        ),
    ],
)
def test_a_scope_is_never_dropped(node: Node, scope: TopologyScope, count: int, rule: NodeRule) -> None:
    beside = metax_node("other", 1, mode=CardMode.SHARED, slots=2)
    for ledger in (ledger_of(node), ledger_of(node, beside)):
        view = filter_nodes(ledger, request("p", whole_ask(count), required_scope=scope), DEFAULTS)
        assert view.placement.rule[0] == rule


def test_virtual_functions_are_handed_out_until_each_card_is_full() -> None:
    ledger = ledger_of(metax_node("n", 2, mode=CardMode.VIRTUAL, slots=4))
    given = [indexes(run(ledger, request(f"p{at}", whole_ask(3)))) for at in range(3)]
    assert given == [[1, 1, 1], [0, 0, 0], []]
    assert indexes(run(ledger, request("q", whole_ask(2)))) == [1, 0]
    view = ledger.view()
    assert view.use.memory[0, :2].tolist() == [from_gib(64)] * 2
    assert view.use.cores[0, :2].tolist() == [100] * 2


def test_functions_of_an_uneven_split_never_add_up_to_more_than_the_card() -> None:
    uneven = Node(
        name=NodeName("n"), cards=(card("n", 0, mode=CardMode.VIRTUAL, slots=3, memory=Bytes(100)),)
    )
    placed = run(ledger_of(uneven), request("p", whole_ask(3)))
    assert placed is not None
    shares = placed.containers[0].shares
    assert sum(share.memory for share in shares) <= 100
    assert sum(share.cores for share in shares) <= 100
    assert len(shares) == 3


def test_a_shared_card_takes_as_many_pods_as_it_has_places() -> None:
    ledger = ledger_of(metax_node("n", 1, mode=CardMode.SHARED, slots=2))
    given = [indexes(run(ledger, request(f"p{at}", whole_ask()))) for at in range(3)]
    assert given == [[0], [0], []]


def test_cards_of_two_makers_on_one_node_are_not_mixed_up() -> None:
    node = Node(
        name=NodeName("n"),
        cards=(
            *(card("n", at, mode=CardMode.WHOLE) for at in range(2)),
            *(card("n", at, mode=CardMode.WHOLE, vendor=Vendor.MTHREADS) for at in range(2, 4)),
        ),
        topology=TWO_GROUPS_OF_FOUR,
    )
    ledger = ledger_of(node)
    both = ContainerAsk("c", Role.APP, (whole_ask(2), whole_ask(1, vendor=Vendor.MTHREADS)))
    assert indexes(run(ledger, request("p", both))) == [1, 0, 3]
    assert filter_nodes(ledger, request("q", whole_ask()), DEFAULTS).node is None


def test_nodes_with_more_cards_than_a_table_holds_are_placed_by_count() -> None:
    ledger = ledger_of(metax_node("n", 20, mode=CardMode.WHOLE))
    assert indexes(run(ledger, request("p", whole_ask(18)))) == list(range(19, 1, -1))
    assert indexes(run(ledger, request("q", whole_ask(2)))) == [1, 0]
    assert run(ledger, request("r", whole_ask(1))) is None


@pytest.mark.parametrize(
    ("in_use", "given"),
    [
        pytest.param((0, 1, 2, 4, 5, 6), [], id="the two free cards lie in different groups"),
        pytest.param((0, 1, 2, 3, 5, 6), [4, 7], id="the two free cards are linked"),
    ],
)
def test_a_scope_holds_for_all_containers_of_a_pod_together(
    in_use: tuple[int, ...], given: list[int]
) -> None:
    pair = request("p", whole_ask(1), whole_ask(1), required_scope=TopologyScope.LINK)
    assert sorted(indexes(filter_nodes(busy(WHOLE, *in_use), pair, DEFAULTS).allocation)) == given
