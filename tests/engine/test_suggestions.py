"""Changes that would let a waiting pod run: each was tried, and following it to the letter works."""

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from builders.clusters import card, metax_node, mthreads_node
from builders.following import node_when_followed, said_alike
from builders.requests import DEFAULTS, request, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.filter import filter_nodes
from tangram.engine.ledger import Ledger
from tangram.engine.suggest import suggest
from tangram.model.cards import AppClass, CardMode, QosPolicy, Vendor
from tangram.model.nodes import Node, Taint
from tangram.model.pods import Placing
from tangram.model.requests import Ask, CardFilter, CardOrder, HostAsk, Request
from tangram.model.topology import TopologyScope
from tangram.units.ids import NodeName
from tangram.units.memory import from_512mib_units, from_gib, from_mib

changed = msgspec.structs.replace


def codes(ledger: Ledger, asked: Request) -> set[str]:
    found = suggest(ledger, asked, DEFAULTS, most=99)
    assert len({each.code for each in found}) == len(found)
    for each in found:
        assert each.code == "when-pod-ends" or node_when_followed(ledger, asked, each) == each.node
        assert node_when_followed(ledger, asked, each) is not None
        assert said_alike(each), each
    return {each.code for each in found}


ONE = metax_node("n", 1)
SMALL = slice_ask(memory=from_gib(4), cores=10)


@pytest.mark.parametrize(
    ("node", "holders", "asked", "code"),
    [
        pytest.param(
            metax_node("n", 8, mode=CardMode.WHOLE),
            [],
            request("p", whole_ask(5), required_scope=TopologyScope.LINK),
            "drop-scope",
            id="a scope no five cards share",
        ),
        pytest.param(
            ONE, [Part(0)], request("p", SMALL, card_order=(CardOrder.MUTEX,)), "drop-mutex", id="mutex"
        ),
        pytest.param(
            ONE,
            [],
            request("p", SMALL, cards=CardFilter(only_products=frozenset({"C280"}))),
            "drop-card-lists",
            id="a product that is not there",
        ),
        pytest.param(
            ONE, [Part(0)], request("p", SMALL, qos=QosPolicy.FIXED_SHARE), "other-qos", id="another policy"
        ),
        pytest.param(
            ONE, [Part(0)], request("p", SMALL, app_class=AppClass.ONLINE), "drop-app-class", id="app class"
        ),
        pytest.param(
            ONE,
            [Part(0, from_mib(1234))],
            request("p", slice_ask(memory=from_gib(63), cores=1)),
            "less-memory",
            id="an odd amount of memory is left",
        ),
        pytest.param(
            mthreads_node("n", 1),
            [Part(0, from_gib(8), 0)],
            request("p", slice_ask(memory=from_512mib_units(96), cores=0, vendor=Vendor.MTHREADS), qos=None),
            "less-memory",
            id="a smaller legal size",
        ),
        pytest.param(
            ONE,
            [Part(0, from_gib(1), 60)],
            request("p", slice_ask(memory=from_gib(1))),
            "less-compute",
            id="compute",
        ),
        pytest.param(metax_node("n", 2), [Part(0)], request("p", slice_ask(2)), "fewer-cards", id="cards"),
        pytest.param(
            metax_node("n", 2),
            [],
            changed(request("p", SMALL), placing=Placing(node_selector=(("zone", "b"),))),
            "drop-node-rules",
            id="a node that is not there",
        ),
        pytest.param(
            changed(
                metax_node("n", 1), taints=(Taint("team", "blue"), Taint("soft", "", "PreferNoSchedule"))
            ),
            [],
            request("p", SMALL),
            "tolerate",
            id="a taint",
        ),
        pytest.param(
            metax_node("n", 1, cpu_milli=1),
            [],
            changed(request("p", SMALL), host=HostAsk(cpu_milli=2)),
            "less-host",
            id="processors",
        ),
        pytest.param(ONE, [Part(0)], request("p", slice_ask()), "when-pod-ends", id="somebody in the way"),
    ],
)
def test_the_pod_is_told(node: Node, holders: list[Part], asked: Request, code: str) -> None:
    ledger = ledger_of(node)
    for at, part in enumerate(holders):
        ledger.put_tenant(tenant(f"t{at}", node, part, qos=asked.qos and QosPolicy.BEST_EFFORT))
    assert filter_nodes(ledger, asked, DEFAULTS).node is None
    assert code in codes(ledger, asked)


@pytest.mark.parametrize(
    ("node", "asked"),
    [
        pytest.param(metax_node("n", 2), request("p", whole_ask()), id="no card of the kind"),
        pytest.param(
            Node(name=NodeName("n"), cards=(card("n", 0, healthy=False),)),
            request("p", SMALL),
            id="broken cards",
        ),
        pytest.param(changed(ONE, unschedulable=True), request("p", SMALL), id="a cordoned node"),
        pytest.param(Node(name=NodeName("n")), request("p", SMALL), id="no cards at all"),
    ],
)
def test_nothing_is_said_when_nothing_would_help(node: Node, asked: Request) -> None:
    assert suggest(ledger_of(node), asked, DEFAULTS) == ()


def test_the_number_of_suggestions_is_bounded_and_waiting_is_always_among_them() -> None:
    ledger = ledger_of(ONE)
    ledger.put_tenant(tenant("t", ONE, Part(0), qos=QosPolicy.FIXED_SHARE))
    asked = request("p", slice_ask(memory=from_gib(64), cores=95), card_order=(CardOrder.MUTEX,))
    for most in (1, 2, 3):
        found = suggest(ledger, asked, DEFAULTS, most=most)
        assert len(found) <= most
        assert "when-pod-ends" in {each.code for each in found}


def test_no_number_is_too_large_to_be_advised_against() -> None:
    largest = 2**31 - 1
    found = suggest(ledger_of(metax_node("n", 2)), request("p", slice_ask(largest)), DEFAULTS)
    assert [each.sentence for each in found] == [f"ask for 2 cards instead of {largest}"]


def test_compute_is_named_in_the_units_of_the_maker_asked() -> None:
    node = mthreads_node("mt", 1)
    ledger = ledger_of(metax_node("n", 1), node)
    ledger.put_tenant(tenant("t", node, Part(0, from_gib(1), 8), qos=None))
    asked = request("p", slice_ask(memory=from_gib(1), vendor=Vendor.MTHREADS), qos=None)
    said = [each.sentence for each in suggest(ledger, asked, DEFAULTS) if each.code == "less-compute"]
    assert said == ["ask for 8 compute instead of 16"]


amounts = st.tuples(
    st.integers(0, 2), st.integers(1, 65_536), st.integers(0, 100), st.sampled_from(list(QosPolicy))
)
asks = st.builds(
    slice_ask,
    st.integers(1, 4),
    memory=st.none() | st.integers(1, 70_000).map(from_mib),
    cores=st.none() | st.integers(0, 100),
)


@given(st.lists(amounts, max_size=6), st.lists(asks, min_size=1, max_size=2), st.data())
def test_following_any_suggestion_to_the_letter_makes_the_pod_fit_where_it_says(
    holders: list[tuple[int, int, int, QosPolicy]], wanted: list[Ask], data: st.DataObject
) -> None:
    nodes = (metax_node("m", 1), metax_node("n", 2))
    ledger = ledger_of(*nodes)
    for at, (where, mib, cores, qos) in enumerate(holders):
        node, column = ((nodes[0], 0), (nodes[1], 0), (nodes[1], 1))[where]
        ledger.put_tenant(tenant(f"t{at}", node, Part(column, from_mib(mib), cores), qos=qos))
    asked = request(
        "p",
        *wanted,
        qos=data.draw(st.sampled_from(list(QosPolicy))),
        app_class=data.draw(st.sampled_from([None, None, *AppClass])),
        card_order=data.draw(st.sampled_from([(), (CardOrder.MUTEX,)])),
        required_scope=data.draw(st.sampled_from([None, TopologyScope.LINK])),
    )
    assume(filter_nodes(ledger, asked, DEFAULTS).node is None)
    codes(ledger, asked)
