"""Pods that run without anyone having written down on which cards: charged all the same."""

import msgspec
import pytest

from builders.clusters import card, metax_node
from builders.requests import DEFAULTS, request, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.adopt import MOST_PLACED, adopt
from tangram.engine.filter import filter_nodes
from tangram.engine.ledger import Ledger
from tangram.model.allocations import Share
from tangram.model.cards import AppClass, CardMode, QosPolicy
from tangram.model.nodes import Node, Taint
from tangram.model.requests import CardFilter, CardOrder, HostAsk, Request
from tangram.model.topology import TopologyScope
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import Bytes, from_gib

NODE = metax_node("n", 2)
SMALL = slice_ask(memory=from_gib(4), cores=10)
changed = msgspec.structs.replace


def shares(ledger: Ledger, asked: Request) -> list[Share]:
    holder = adopt(ledger, asked, NodeName("n"))
    assert holder.guessed
    assert holder.allocation.node == "n"
    assert len(holder.allocation.containers) == len(asked.containers)
    return [each for container in holder.allocation.containers for each in container.shares]


def test_a_pod_gets_the_cards_it_would_have_been_given_and_the_ledger_waits_to_be_told() -> None:
    ledger = ledger_of(NODE)
    ledger.put_tenant(tenant("t", NODE, Part(1)))
    assert [share.index for share in shares(ledger, request("p", SMALL, SMALL))] == [0, 1]
    assert sum(1 for _ in ledger.holdings()) == 1


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(
            request("p", SMALL, cards=CardFilter(only_uuids=frozenset({CardUuid("x")}))), id="lists"
        ),
        pytest.param(request("p", SMALL, card_order=(CardOrder.MUTEX,)), id="mutex"),
        pytest.param(
            request("p", slice_ask(2, memory=from_gib(1), cores=1), required_scope=TopologyScope.LINK),
            id="scope",
        ),
        pytest.param(changed(request("p", SMALL), host=HostAsk(cpu_milli=9_000)), id="processors"),
    ],
)
def test_what_the_pod_may_have_been_denied_does_not_matter_once_it_runs(asked: Request) -> None:
    node = changed(metax_node("n", 2, cpu_milli=1), taints=(Taint("t"),), unschedulable=True)
    ledger = ledger_of(node)
    for at in (0, 1):
        ledger.put_tenant(tenant(f"t{at}", node, Part(at)))
    assert len(shares(ledger, asked)) == asked.containers[0].asks[0].count


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(
            request("p", slice_ask(memory=from_gib(40), cores=30)),
            [(0, from_gib(40), 30)],
            id="too much memory",
        ),
        pytest.param(
            request("p", slice_ask()), [(0, from_gib(64), 100)], id="a whole card that nobody has free"
        ),
        pytest.param(
            request("p", slice_ask(2)), [(0, from_gib(64), 100), (1, from_gib(64), 100)], id="two of them"
        ),
        pytest.param(
            request("p", slice_ask(memory=from_gib(40), cores=30), app_class=AppClass.ONLINE),
            [(0, from_gib(40), 0)],
            id="an online slice, which holds no compute",
        ),
        pytest.param(
            request("p", SMALL, qos=QosPolicy.BURST_SHARE),
            [(0, from_gib(4), 10)],
            id="another policy on every card",
        ),
        pytest.param(
            request("p", slice_ask(memory=from_gib(40), cores=1), slice_ask(memory=from_gib(40), cores=1)),
            [(0, from_gib(40), 1), (1, from_gib(40), 1)],
            id="the second container looks again where room is",
        ),
    ],
)
def test_a_pod_that_should_not_fit_is_charged_where_most_room_is(
    asked: Request, expected: list[tuple[int, Bytes, int]]
) -> None:
    ledger = ledger_of(NODE)
    ledger.put_tenant(tenant("a", NODE, Part(0, from_gib(30), 80), qos=QosPolicy.FIXED_SHARE))
    ledger.put_tenant(tenant("b", NODE, Part(1, from_gib(50), 80), qos=QosPolicy.FIXED_SHARE))
    found = [(share.index, share.memory, share.cores) for share in shares(ledger, asked)]
    assert found == expected


def test_an_oversold_card_takes_nobody_else() -> None:
    ledger = ledger_of(metax_node("n", 1))
    ledger.put_tenant(tenant("t", NODE, Part(0, from_gib(40), 10)))
    ledger.put_tenant(adopt(ledger, request("p", slice_ask(memory=from_gib(40), cores=10)), NODE.name))
    smallest = slice_ask(memory=Bytes(1), cores=0)
    assert filter_nodes(ledger, request("q", smallest), DEFAULTS).node is None
    ledger.remove(request("p").pod.uid)
    assert filter_nodes(ledger, request("q", smallest), DEFAULTS).node == "n"


@pytest.mark.parametrize(
    ("mode", "count", "memory"),
    [
        pytest.param(CardMode.VIRTUAL, 3, from_gib(16), id="virtual functions"),
        pytest.param(CardMode.SHARED, 3, Bytes(0), id="places on a shared card"),
        pytest.param(CardMode.WHOLE, 1, from_gib(64), id="a card that is broken now"),
    ],
)
def test_units_of_a_card_are_charged_as_units(mode: CardMode, count: int, memory: Bytes) -> None:
    node = Node(name=NodeName("n"), cards=(card("n", 0, mode=mode, slots=4, healthy=False),))
    found = [(share.index, share.memory) for share in shares(ledger_of(node), request("p", whole_ask(count)))]
    assert found == [(0, memory)] * count


def test_more_cards_than_the_node_has_are_charged_as_far_as_it_has_them() -> None:
    assert [share.index for share in shares(ledger_of(NODE), request("p", slice_ask(5)))] == [1, 0]
    # Its cards are sliced now, and it was given whole ones: they were offered so once.
    assert [share.index for share in shares(ledger_of(NODE), request("p", whole_ask(5)))] == [1, 0]


def test_cards_that_may_be_its_own_come_before_any_other_and_each_whole_one_once() -> None:
    ledger = ledger_of(metax_node("n", 4, mode=CardMode.WHOLE))
    named = [CardUuid("GPU-n-2"), CardUuid("GPU-n-9")]
    holder = adopt(ledger, request("p", whole_ask(1), whole_ask(1)), NODE.name, named=named)
    first, second = holder.allocation.containers
    assert first.shares[0].card == "GPU-n-2"
    assert second.shares[0].card != "GPU-n-2"


def test_a_pod_of_very_many_containers_is_charged_without_placing_each_beside_all_others() -> None:
    ledger = ledger_of(NODE)
    holder = adopt(ledger, request("p", *[SMALL] * (MOST_PLACED + 1)), NODE.name)
    assert sum(len(each.shares) for each in holder.allocation.containers) == MOST_PLACED + 1


def test_on_a_node_nobody_knows_the_pod_holds_nothing_but_its_place() -> None:
    holder = adopt(ledger_of(), request("p", SMALL), NODE.name)
    assert holder.allocation.cards == ()
    assert [each.name for each in holder.allocation.containers] == ["c0"]


def test_adopting_a_pod_again_does_not_count_its_first_guess_against_it() -> None:
    ledger = ledger_of(metax_node("n", 1))
    first = adopt(ledger, request("p", slice_ask()), NODE.name)
    ledger.put_tenant(first)
    assert adopt(ledger, request("p", slice_ask()), NODE.name) == first
