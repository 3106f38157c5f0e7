"""The set told as chosen is the one that is chosen, and the runner-up is another legal one that is never better."""

from itertools import combinations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import card, metax_node
from builders.requests import DEFAULTS, request, run, slice_ask, whole_ask
from builders.servers import servers
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.alternatives import Weighed, alternatives
from tangram.engine.as_held import request_as_held
from tangram.engine.decide import Memo, decide
from tangram.engine.demand import demand_from, shape_of
from tangram.engine.filter import Candidates
from tangram.engine.frag import FragScores
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.model.allocations import Allocation
from tangram.model.cards import AppClass, CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.requests import Ask, AskKind, CardFilter, CardOrder, NodePolicy, Request
from tangram.model.topology import TopologyScope
from tangram.units.ids import NodeName
from tangram.units.memory import Bytes, from_gib

HERE = NodeName("n")
EXPECTED = FragScores(demand_from([shape_of(request("x", slice_ask(memory=from_gib(24), cores=30)))]))

parts = st.lists(
    st.builds(Part, st.integers(0, 7), st.integers(1, 20).map(from_gib), st.integers(0, 30)), max_size=8
)
asks = st.one_of(
    st.builds(whole_ask, st.integers(1, 8)),
    st.builds(
        slice_ask,
        st.integers(1, 4),
        memory=st.integers(1, 64).map(from_gib),
        cores=st.sampled_from([None, 0, 10, 40, 100]),
    ),
)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    order = draw(
        st.sampled_from(
            [(), (CardOrder.BINPACK,), (CardOrder.SPREAD,), (CardOrder.TOPOLOGY,), (CardOrder.MUTEX,)]
        )
    )
    return request(
        "p",
        *draw(st.lists(asks, min_size=1, max_size=2)),
        card_order=order,
        node_policy=draw(st.sampled_from([None, NodePolicy.BINPACK, NodePolicy.SPREAD, NodePolicy.FRAG])),
        app_class=draw(st.sampled_from([None, None, AppClass.ONLINE])),
        required_scope=draw(st.sampled_from([None, None, TopologyScope.LINK])),
    )


def decided(ledger: Ledger, asked: Request, defaults: Defaults = DEFAULTS) -> Allocation | None:
    here = Candidates(names=(HERE,))
    return decide(ledger, asked, defaults, here, memo=Memo(), frag=EXPECTED).allocation


def weighed(ledger: Ledger, asked: Request, defaults: Defaults = DEFAULTS) -> tuple[Weighed, ...]:
    return alternatives(ledger, asked, HERE, defaults, frag=EXPECTED)


def only(asked: Request, *cards: str) -> Request:
    """The same pod, which may have no others than these."""
    return msgspec.structs.replace(asked, cards=CardFilter(only_uuids=frozenset(cards)))  # pyright: ignore[reportArgumentType] - names as they are written


def numbers(found: tuple[Weighed, ...], node: Node) -> list[list[int]]:
    index = {each.uuid: each.index for each in node.cards}
    return [sorted(index[uuid] for uuid in each.cards) for each in found]


@given(
    st.sampled_from([CardMode.SLICED, CardMode.WHOLE, CardMode.VIRTUAL, CardMode.UNDECIDED]),
    parts,
    requests(),
)
def test_the_first_is_what_is_decided_and_the_second_could_be(
    mode: CardMode, held: list[Part], asked: Request
) -> None:
    node = metax_node("n", 8, mode=mode, slots=4 if mode is CardMode.VIRTUAL else None)
    ledger = ledger_of(node)
    if held and mode is not CardMode.WHOLE:
        ledger.put_tenant(tenant("t", node, *held))
    allocation = decided(ledger, asked)
    found = weighed(ledger, asked)
    if allocation is None:
        assert found == ()
        return
    if not found:
        # There was no choice: without the last card of its first container the pod does not fit.
        last = CardFilter(not_uuids=frozenset({allocation.containers[0].shares[-1].card}))
        assert decided(ledger, msgspec.structs.replace(asked, cards=last)) is None
        return
    chosen, other, *mildest = found
    assert (set(chosen.cards), chosen.chosen, other.chosen) == (set(allocation.cards), True, False)
    assert set(other.cards) != set(chosen.cards)
    legal = decided(ledger, only(asked, *other.cards))
    assert legal is not None
    assert set(legal.cards) == set(other.cards)
    for each in mildest:
        assert each.least_loss
        assert each.loss < min(chosen.loss, other.loss)
        again = decided(ledger, only(asked, *each.cards))
        assert again is not None
        assert set(again.cards) == set(each.cards)
    if not any(each.least_loss for each in found):
        assert other.score <= chosen.score


@given(servers(), st.data(), st.booleans())
def test_of_connected_cards_the_second_is_the_best_of_all_others_and_the_least_loss_is_among_them(
    node: Node,
    data: st.DataObject,
    packed: bool,  # noqa: FBT001 - drawn
) -> None:
    taken = data.draw(st.sets(st.integers(0, len(node.cards) - 1)))
    count = data.draw(st.integers(1, len(node.cards)))
    ledger = ledger_of(node)
    for each in taken:
        ledger.put_tenant(
            tenant(f"t{each}", node, Part(each, node.cards[each].memory, node.cards[each].cores))
        )
    asked = request(
        "p", whole_ask(count, vendor=node.cards[0].vendor), card_order=(CardOrder.BINPACK,) if packed else ()
    )
    found = weighed(ledger, asked)
    free = [each for each in range(len(node.cards)) if each not in taken]
    sets = [sum(1 << each for each in one) for one in combinations(free, count)]
    if len(sets) < 2:
        assert found == ()
        return
    table, mask_of_free = ledger.tables[0], sum(1 << each for each in free)
    best = sorted(sets, key=lambda each: table.rank(each, mask_of_free, least_damage=packed), reverse=True)
    shown = [sum(1 << at for at in each) for each in numbers(found, node)]
    assert shown[:2] == best[:2]
    least = min(table.worth(each, mask_of_free).loss for each in sets)
    if any(table.layout.weights):
        assert [each.loss == least for each in found] == [each.least_loss for each in found]
        assert any(each.least_loss for each in found)
        assert len(found) == 2 or not (found[0].least_loss or found[1].least_loss)
    else:
        assert not any(each.least_loss for each in found)


def test_what_the_links_of_the_chosen_cards_cost_the_rest_can_be_read_off() -> None:
    node = metax_node("n", 8, mode=CardMode.WHOLE)
    ledger = ledger_of(node)
    for each in (0, 1, 2):
        ledger.put_tenant(tenant(f"t{each}", node, Part(each, from_gib(64), 100, AskKind.WHOLE)))
    found = weighed(ledger, request("p", whole_ask(2), node_policy=NodePolicy.BINPACK))
    assert numbers(found, node) == [[6, 7], [5, 7], [3, 7]]
    assert [(each.score, each.loss, each.least_loss) for each in found] == [
        (110, 460, False),
        (110, 460, False),
        (10, 360, True),
    ]


def test_a_pod_that_holds_its_cards_is_weighed_as_if_it_did_not() -> None:
    node = metax_node("n", 8, mode=CardMode.WHOLE)
    ledger = ledger_of(node)
    before = weighed(ledger, request("p", whole_ask(4)))
    allocation = run(ledger, request("p", whole_ask(4)))
    holding = ledger.holding(request("p").pod.uid)
    assert allocation is not None
    assert holding is not None
    after = weighed(ledger, request_as_held(holding.tenant, node))
    assert after == before
    assert numbers(after, node) == [[4, 5, 6, 7], [0, 1, 2, 3]]


def test_a_pod_that_would_get_others_by_now_keeps_its_own_as_the_first() -> None:
    node = metax_node("n", 8, mode=CardMode.WHOLE)
    ledger = ledger_of(node)
    scattered = tenant("p", node, *(Part(at, from_gib(64), 100, AskKind.WHOLE) for at in (0, 5)))
    ledger.put_tenant(scattered)
    found = weighed(ledger, request_as_held(scattered, node))
    assert numbers(found, node) == [[0, 5], [6, 7]]
    assert found[0].score < found[1].score


@pytest.mark.parametrize("policy", [CardOrder.BINPACK, CardOrder.SPREAD])
def test_slices_are_weighed_by_the_order_that_cards_are_tried_in(policy: CardOrder) -> None:
    node = metax_node("n", 3)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("a", node, Part(0, from_gib(32), 50), Part(1, from_gib(8), 10)))
    asked = request("p", slice_ask(memory=from_gib(8), cores=10), card_order=(policy,))
    expected = [[0], [1]] if policy is CardOrder.BINPACK else [[2], [1]]
    found = weighed(ledger, asked)
    assert numbers(found, node) == expected
    assert found[0].score > found[1].score


def test_all_containers_are_one_set() -> None:
    node = metax_node("n", 4, topology=None)
    found = weighed(ledger_of(node), request("p", slice_ask(cores=None), slice_ask(cores=None)))
    chosen, other = numbers(found, node)
    assert (len(chosen), len(other)) == (2, 2)
    assert chosen != other


@pytest.mark.parametrize(
    ("node", "asked"),
    [
        pytest.param(metax_node("n", 1), request("p", slice_ask()), id="one card"),
        pytest.param(metax_node("n", 4, mode=CardMode.WHOLE), request("p", whole_ask(4)), id="all of them"),
        pytest.param(metax_node("n", 4), request("p", whole_ask(1)), id="it does not fit"),
        pytest.param(metax_node("n", 4), request("p"), id="no card is asked for"),
        pytest.param(metax_node("m", 4), request("p", slice_ask()), id="no such node"),
    ],
)
def test_without_a_choice_there_is_nothing_to_tell(node: Node, asked: Request) -> None:
    assert weighed(ledger_of(node), asked) == ()


def test_a_pod_that_sits_elsewhere_was_not_weighed_here() -> None:
    here, there = metax_node("n", 4), metax_node("m", 4)
    ledger = ledger_of(here, there)
    ledger.put_tenant(tenant("p", there, Part(0)))
    assert weighed(ledger, request("p", slice_ask(cores=10, memory=from_gib(1)))) == ()


@given(parts, asks)
def test_what_a_pod_holds_can_be_asked_for_again(held: list[Part], ask: Ask) -> None:
    node = metax_node("n", 8)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("t", node, *held))
    allocation = run(ledger, request("p", ask))
    if allocation is None:
        return
    holding = ledger.holding(request("p").pod.uid)
    assert holding is not None
    again = request_as_held(holding.tenant, node)
    ledger.remove(again.pod.uid)
    assert decided(ledger, only(again, *allocation.cards)) is not None


def test_shares_of_cards_that_are_gone_ask_for_nothing() -> None:
    node = metax_node("n", 2)
    held = tenant("p", node, Part(0, Bytes(1), 1), Part(1, Bytes(1), 1))
    fewer = msgspec.structs.replace(node, cards=(card("n", 0, vendor=Vendor.METAX),))
    assert [ask.count for ask in request_as_held(held, fewer).containers[0].asks] == [1]
