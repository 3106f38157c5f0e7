"""Moore Threads cards: one per pod, sixteen slices, sizes of the card's own model."""

import msgspec
import pytest

from builders.clusters import card, grouped, metax_node, mthreads_node
from builders.explained import explained
from builders.requests import DEFAULTS, indexes, request, run, slice_ask
from builders.tenants import Part, ledger_of, rules, tenant
from tangram.engine.filter import filter_nodes
from tangram.engine.ledger import Ledger
from tangram.engine.wording import node_sentence
from tangram.model.cards import CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import Role
from tangram.model.requests import Ask, CardFilter, CardOrder, ContainerAsk, Request
from tangram.model.topology import Link, LinkKind, PcieLevel, Topology, TopologyScope
from tangram.model.verdicts import CardRule, NodeRule
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import Bytes, from_512mib_units, from_gib

S4000 = mthreads_node("n", 1)
S5000_TIERS = tuple(from_512mib_units(units) for units in (2, 4, 8, 16, 32, 64, 128, 160))


def s5000(name: str, cards: int = 1, *, numa_of: tuple[int, ...] = ()) -> Node:
    return Node(
        name=NodeName(name),
        cards=tuple(
            msgspec.structs.replace(
                card(name, at, vendor=Vendor.MTHREADS, memory=from_gib(80), product="MTT S5000"),
                memory_tiers=S5000_TIERS,
                numa=numa_of[at] if numa_of else 0,
            )
            for at in range(cards)
        ),
    )


def units(memory: int | None = None, cores: int = 0, count: int = 1) -> Ask:
    size = None if memory is None else from_512mib_units(memory)
    return slice_ask(count, memory=size, cores=cores, vendor=Vendor.MTHREADS)


def mt(name: str, *asks: Ask, order: tuple[CardOrder, ...] = ()) -> Request:
    return request(name, *asks, qos=None, one_card=True, card_order=order)


EXCLUSIVE = units(cores=16)


def cards_given(ledger: Ledger, *requests: Request) -> list[list[int]]:
    return [indexes(run(ledger, each)) for each in requests]


def test_two_pods_of_half_a_card_share_it_and_a_third_with_compute_does_not_fit() -> None:
    ledger = ledger_of(S4000)
    pods = [mt(name, units(32, 8)) for name in "abc"]
    assert cards_given(ledger, *pods) == [[0], [0], []]
    assert rules(ledger, mt("d", units(2, 1))) == [CardRule.CORES]


def test_memory_is_a_cap() -> None:
    ledger = ledger_of(S4000)
    assert rules(ledger, mt("p", units(97))) == [CardRule.MEMORY_TIER]
    assert cards_given(ledger, mt("a", units(64)), mt("b", units(32))) == [[0], [0]]
    assert rules(ledger, mt("c", units(2))) == [CardRule.MEMORY]


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        pytest.param(
            units(96, 16), [CardRule.FITS, CardRule.MEMORY_TIER], id="96 units exist on an S4000 only"
        ),
        pytest.param(units(128), [CardRule.MEMORY_TIER, CardRule.FITS], id="128 on an S5000 only"),
        pytest.param(units(160), [CardRule.MEMORY_TIER, CardRule.FITS], id="and so do 160"),
        pytest.param(units(64), [CardRule.FITS, CardRule.FITS], id="64 on both"),
        pytest.param(units(6), [CardRule.MEMORY_TIER] * 2, id="6 on neither"),
        pytest.param(EXCLUSIVE, [CardRule.FITS, CardRule.FITS], id="a whole card on both"),
    ],
)
def test_sizes_belong_to_the_card_not_to_the_vendor(asked: Ask, rule: list[CardRule]) -> None:
    both = Node(name=NodeName("n"), cards=(S4000.cards[0], s5000("m").cards[0]))
    assert rules(ledger_of(both), mt("p", asked)) == rule


@pytest.mark.parametrize(
    ("node", "memory"),
    [
        pytest.param(S4000, from_gib(48), id="S4000"),
        pytest.param(s5000("n"), from_gib(80), id="S5000"),
    ],
)
def test_an_exclusive_pod_gets_all_memory_its_model_has(node: Node, memory: Bytes) -> None:
    # B8: 48 GiB were written down for every model.
    placed = run(ledger_of(node), mt("p", EXCLUSIVE))
    assert placed is not None
    (share,) = placed.containers[0].shares
    assert (share.memory, share.cores) == (memory, 16)


def test_several_whole_cards_of_a_small_model_fit_too() -> None:
    # B8: on cards with less memory than the constant such pods never fitted.
    small = Node(
        name=NodeName("n"),
        cards=tuple(card("n", at, vendor=Vendor.MTHREADS, memory=from_gib(16)) for at in range(2)),
    )
    assert cards_given(ledger_of(small), mt("p", units(cores=16, count=2))) == [[1, 0]]


def test_sixteen_slices_fill_a_card_however_small_they_are() -> None:
    ledger = ledger_of(S4000)
    pods = [mt(f"p{at}", units(2)) for at in range(17)]
    assert cards_given(ledger, *pods) == [[0]] * 16 + [[]]
    assert rules(ledger, mt("p", units(2))) == [CardRule.SLOTS]


@pytest.mark.parametrize(
    ("asks", "given_cards"),
    [
        pytest.param((units(32, 8), units(32, 8)), [1, 1], id="two containers that fit one card together"),
        pytest.param((units(2), units(2), units(2)), [1, 1, 1], id="three"),
        pytest.param((units(64), units(64)), [], id="each fits a card, both do not"),
        pytest.param((units(2, 9), units(2, 9)), [], id="too much compute together"),
        pytest.param((EXCLUSIVE, units(2)), [], id="a whole card and a slice"),
    ],
)
def test_all_containers_of_a_pod_share_one_card_or_the_pod_waits(
    asks: tuple[Ask, ...], given_cards: list[int]
) -> None:
    assert cards_given(ledger_of(mthreads_node("n", 2)), mt("p", *asks)) == [given_cards]


def test_the_one_card_of_a_pod_is_chosen_by_what_all_containers_need() -> None:
    node = mthreads_node("n", 2)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("t", node, Part(1, from_gib(1), 0), qos=None))
    # Under binpack the fuller card 1 would be first, and holds either container, but not both.
    asked = mt("p", units(64), units(32), order=(CardOrder.BINPACK,))
    assert cards_given(ledger, asked) == [[0, 0]]


def test_slots_for_all_containers_must_be_left_on_the_card() -> None:
    node = mthreads_node("n", 2)
    ledger = ledger_of(node)
    for at in range(15):
        ledger.put_tenant(tenant(f"t{at}", node, Part(1, from_gib(1), 0), qos=None))
    assert cards_given(ledger, mt("p", units(2), units(2), order=(CardOrder.BINPACK,))) == [[0, 0]]


def test_exclusive_means_alone() -> None:
    ledger = ledger_of(S4000)
    run(ledger, mt("a", units(2)))
    assert rules(ledger, mt("b", units(2, 16))) == [CardRule.EXCLUSIVE]
    alone = ledger_of(S4000)
    run(alone, mt("a", units(2, 16)))
    assert rules(alone, mt("b", units(2))) == [CardRule.COMPUTE_TAKEN]


def meshed(name: str) -> Node:
    """Eight cards all joined by two links, the near four on the other NUMA node than their numbers suggest."""
    numa = (0, 1, 1, 0, 0, 1, 1, 0)
    links = tuple(
        Link(a, b, LinkKind.MTLINK, PcieLevel.NUMA_NODE if numa[a] == numa[b] else PcieLevel.SYSTEM, lanes=2)
        for a in range(8)
        for b in range(a + 1, 8)
    )
    return msgspec.structs.replace(s5000(name, 8, numa_of=numa), topology=Topology(8, links))


@pytest.mark.parametrize("beside", [(), (metax_node("metax", 8),)], ids=["alone", "beside MetaX nodes"])
def test_several_whole_cards_stay_on_one_numa_node_where_all_links_are_equal(
    beside: tuple[Node, ...],
) -> None:
    ledger = ledger_of(meshed("n"), *beside)
    assert cards_given(ledger, mt("p", units(cores=16, count=4))) == [[7, 4, 3, 0]]
    assert cards_given(ledger, mt("q", units(cores=16, count=2))) == [[6, 5]]


def test_a_card_of_another_maker_on_the_node_does_not_hide_the_links() -> None:
    cards = (*mthreads_node("n", 4).cards, card("n", 4))
    node = Node(name=NodeName("n"), cards=cards, topology=grouped(5, [(0, 3), (1, 2)]))
    assert cards_given(ledger_of(node), mt("p", units(cores=16, count=2))) == [[3, 0]]


def test_the_pool_of_whole_cards_is_another_one() -> None:
    ledger = ledger_of(mthreads_node("n", 1, mode=CardMode.WHOLE))
    outcome = filter_nodes(ledger, mt("p", units(2)), DEFAULTS)
    assert outcome.node is None
    assert outcome.placement.rule.tolist() == [NodeRule.NO_SUCH_CARDS]


def test_a_scope_holds_for_whole_cards_in_the_sliced_pool_too() -> None:
    ledger = ledger_of(meshed("n"))
    asked = msgspec.structs.replace(mt("p", units(cores=16, count=5)), required_scope=TopologyScope.NUMA)
    outcome = filter_nodes(ledger, asked, DEFAULTS)
    assert outcome.placement.rule.tolist() == [NodeRule.SCOPE]


# ------------------------------------------------------------------------------------- several cards of a pod


def served(node: Node) -> Node:
    """The node with Tangram's agent."""
    return msgspec.structs.replace(node, managed=True)


@pytest.mark.parametrize(
    ("asks", "given_cards"),
    [
        pytest.param((EXCLUSIVE, EXCLUSIVE), [2, 1], id="a card for each of two containers"),
        pytest.param((EXCLUSIVE,) * 3, [2, 1, 0], id="for each of three"),
        pytest.param((EXCLUSIVE,) * 4, [], id="four, of three cards"),
        pytest.param((units(cores=0), units(cores=0)), [2, 1], id="all memory twice"),
        pytest.param((units(2), EXCLUSIVE), [1, 2], id="a slice beside a card"),
        pytest.param((units(64, 8), EXCLUSIVE, units(32, 8)), [1, 2, 1], id="slices share theirs"),
        pytest.param((units(64), EXCLUSIVE, units(64)), [], id="slices that do not fit one card"),
    ],
)
def test_a_container_that_takes_all_of_a_card_has_one_of_its_own_where_our_agent_serves(
    asks: tuple[Ask, ...], given_cards: list[int]
) -> None:
    # HAMi puts every container of a pod on one card (CardNotFoundCustomFilterRule), so these wait there without end.
    ledger = ledger_of(served(mthreads_node("n", 3)))
    assert cards_given(ledger, mt("p", *asks)) == [given_cards]


def test_slices_share_a_card_in_use_while_whole_cards_need_idle_ones() -> None:
    node = served(mthreads_node("n", 2))
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("t", node, Part(1, from_gib(1), 1), qos=None))
    # By the order alone the slice would go first and to the idle card.
    assert cards_given(ledger, mt("p", units(2, 1), EXCLUSIVE)) == [[1, 0]]


def test_an_init_container_gets_a_card_its_pod_has_anyway() -> None:
    ledger = ledger_of(served(mthreads_node("n", 3)))
    asked = request(
        "p",
        ContainerAsk("init", Role.INIT, (EXCLUSIVE,)),
        ContainerAsk("a", Role.APP, (EXCLUSIVE,)),
        ContainerAsk("b", Role.APP, (EXCLUSIVE,)),
        qos=None,
        one_card=True,
    )
    first, *others = indexes(run(ledger, asked))
    assert others == [2, 1]
    assert first in others


def test_a_node_whose_plugin_reads_one_list_says_so_only_if_nothing_else_is_in_the_way() -> None:
    asked = mt("p", EXCLUSIVE, EXCLUSIVE)
    two, one = mthreads_node("two", 2), mthreads_node("one", 1)
    for node, rule in (
        (two, NodeRule.CARD_PER_CONTAINER),
        (one, NodeRule.CARDS),
        (metax_node("other", 2), NodeRule.NO_SUCH_CARDS),
        (served(two), NodeRule.FITS),
    ):
        (verdict,) = explained(ledger_of(node), asked, DEFAULTS).nodes
        assert verdict.rule is rule
        if rule is NodeRule.CARD_PER_CONTAINER:
            assert "one list of cards" in node_sentence(verdict)


def test_two_exclusive_containers_that_follow_each_other_need_no_agent() -> None:
    asked = request(
        "p",
        ContainerAsk("init", Role.INIT, (EXCLUSIVE,)),
        ContainerAsk("a", Role.APP, (EXCLUSIVE,)),
        qos=None,
        one_card=True,
    )
    assert indexes(run(ledger_of(mthreads_node("n", 2)), asked)) == [1, 1]


def both_makers(name: str) -> Node:
    return Node(
        name=NodeName(name),
        cards=(
            card(name, 0),
            *(card(name, at, vendor=Vendor.MTHREADS, memory=from_gib(48)) for at in (1, 2)),
        ),
    )


def test_a_slice_of_another_maker_does_not_join_the_shared_card() -> None:
    # They were all sought on one card, which no card can be.
    asked = mt("p", units(32, 8), slice_ask(memory=from_gib(8), cores=20), units(16, 4))
    assert cards_given(ledger_of(both_makers("n")), asked) == [[2, 0, 2]]


def test_a_node_of_one_maker_is_refused_for_the_container_that_has_no_card_there() -> None:
    asked = mt("p", units(32, 8), slice_ask(memory=from_gib(8), cores=20), units(16, 4))
    for node, container in ((mthreads_node("n", 2), "c1"), (metax_node("m", 2), "")):
        (verdict,) = explained(ledger_of(node), asked, DEFAULTS).nodes
        assert (verdict.rule, verdict.container) == (NodeRule.NO_SUCH_CARDS, container)


def test_what_the_shared_card_lacks_is_counted_for_all_that_share_it_and_for_no_other() -> None:
    asked = mt("p", units(64), slice_ask(memory=from_gib(8), cores=20), units(64))
    (verdict,) = explained(ledger_of(both_makers("n")), asked, DEFAULTS).nodes
    assert verdict.rule is NodeRule.CARDS
    assert [(each.rule, each.need) for each in verdict.cards[1:]] == [(CardRule.MEMORY, from_gib(64))] * 2


def test_a_made_up_id_finds_its_card_as_long_as_the_node_is_there() -> None:
    node = mthreads_node("n", 2)
    made_up = CardUuid("n-mthreads-0")
    ledger = ledger_of(msgspec.structs.replace(node, stand_ins={made_up: node.cards[0].uuid}))
    asked = request("p", units(2), qos=None, cards=CardFilter(only_uuids=frozenset({made_up})))
    assert cards_given(ledger, asked) == [[0]]
    assert ledger.has_any([made_up])
    ledger.put_node(node)
    assert not ledger.has_any([made_up])
    ledger.remove_node(node.name)
    assert not ledger.has_any([made_up, node.cards[0].uuid])
