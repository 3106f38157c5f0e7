"""Nodes on which a pod fails, grouped: the same verdicts as one by one, and whether evicting could help."""

from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import card, metax_node, mthreads_node
from builders.explained import explained
from builders.requests import DEFAULTS, request, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.failing import Failing, failing_nodes
from tangram.engine.filter import Candidates, filter_nodes
from tangram.engine.ledger import Ledger
from tangram.model.cards import CardMode, QosPolicy, Vendor
from tangram.model.nodes import Node, Taint
from tangram.model.requests import AskKind, CardFilter, CardOrder, HostAsk, Request
from tangram.model.topology import TopologyScope
from tangram.model.verdicts import CardRule, NodeRule
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import Bytes, from_gib

changed = msgspec.structs.replace

NODES = (
    metax_node("a", 2, cpu_milli=8000),
    metax_node("b", 8),
    metax_node("c", 4, mode=CardMode.WHOLE),
    mthreads_node("d", 2),
    Node(name=NodeName("e"), cards=(card("e", 0), card("e", 1, healthy=False), card("e", 2, cordoned=True))),
    Node(name=NodeName("f"), cards=()),
    changed(metax_node("g", 2), taints=(Taint("dedicated", "ai", "NoSchedule"),)),
    metax_node("h", 1, mode=CardMode.VIRTUAL, slots=4),
)

parts = st.builds(
    Part,
    st.integers(0, 1),
    st.integers(1, 64).map(from_gib),
    st.integers(0, 100),
    kind=st.just(AskKind.SLICE),
)
asks = st.one_of(
    st.builds(
        slice_ask, st.integers(1, 9), memory=st.integers(1, 70).map(from_gib), cores=st.integers(0, 100)
    ),
    st.builds(whole_ask, st.integers(1, 5)),
    st.just(slice_ask(memory=from_gib(8), cores=4, vendor=Vendor.MTHREADS)),
)
FILTERS = (
    CardFilter(),
    CardFilter(only_uuids=frozenset({CardUuid("GPU-a-0")})),
    CardFilter(not_products=frozenset({"MXC500"})),
)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    made = request(
        "p",
        *draw(st.lists(asks, min_size=1, max_size=2)),
        card_order=draw(st.sampled_from([(), (CardOrder.MUTEX,)])),
        cards=draw(st.sampled_from(FILTERS)),
        required_scope=draw(st.sampled_from([None, None, TopologyScope.LINK])),
    )
    return changed(made, host=HostAsk(cpu_milli=draw(st.sampled_from([0, 4000, 9000]))))


held = st.lists(st.tuples(st.sampled_from(["a", "b", "e", "g"]), parts), max_size=6)


def ledger_with(pods: list[tuple[str, Part]]) -> Ledger:
    ledger = ledger_of(*NODES)
    by_name = {node.name: node for node in NODES}
    for number, (name, part) in enumerate(pods):
        ledger.put_tenant(tenant(f"t{number}", by_name[NodeName(name)], part, qos=QosPolicy.FIXED_SHARE))
    return ledger


def group_of(ledger: Ledger, asked: Request, node: str) -> Failing:
    view, groups = failing_nodes(ledger, asked, DEFAULTS)
    return next(group for group in groups if ledger.row_of(NodeName(node)) in view.rows[group.at])


@given(held, requests())
def test_groups_say_of_every_node_what_an_explanation_says_of_it(
    pods: list[tuple[str, Part]], asked: Request
) -> None:
    ledger = ledger_with(pods)
    view, groups = failing_nodes(ledger, asked, DEFAULTS)
    found = {ledger.node_at(int(view.rows[at])).name: group for group in groups for at in group.at}
    failing = {
        verdict.node: verdict for verdict in explained(ledger, asked, DEFAULTS).nodes if not verdict.fits
    }
    assert found.keys() == failing.keys()
    assert sum(group.at.size for group in groups) == len(found)
    for node, verdict in failing.items():
        group = found[node]
        assert group.rule is verdict.rule
        if verdict.rule in (NodeRule.CARDS, NodeRule.SCOPE):
            assert group.cards == tuple(sorted({each.rule for each in verdict.cards}))
            times = Counter(each.rule for each in verdict.cards)
            assert group.most is None or times[group.most] == max(
                count
                for rule, count in times.items()
                if rule not in (CardRule.FITS, CardRule.VENDOR, CardRule.OTHER_CARD)
            )
        else:
            assert group.cards == ()


@given(held, requests())
def test_a_node_is_hopeless_exactly_if_it_would_not_do_without_its_pods(
    pods: list[tuple[str, Part]], asked: Request
) -> None:
    without_host = changed(asked, host=HostAsk())
    ledger, idle = ledger_with(pods), ledger_of(*NODES)
    view, groups = failing_nodes(ledger, without_host, DEFAULTS)
    for group in groups:
        for at in group.at:
            name = ledger.node_at(int(view.rows[at])).name
            fits_idle = filter_nodes(idle, without_host, DEFAULTS, Candidates(names=(name,))).node is not None
            assert group.hopeless is not fits_idle


@pytest.mark.parametrize(
    ("asked", "node", "hopeless"),
    [
        pytest.param(request("p", slice_ask(memory=from_gib(60), cores=10)), "a", False, id="memory in use"),
        pytest.param(
            request("p", slice_ask(memory=from_gib(65), cores=10)), "a", True, id="no card so large"
        ),
        pytest.param(request("p", slice_ask(3, memory=from_gib(1), cores=1)), "a", True, id="too few cards"),
        pytest.param(request("p", whole_ask()), "a", True, id="offered in another way"),
        pytest.param(
            request("p", slice_ask(2, memory=from_gib(1), cores=1)), "e", True, id="sick and cordoned"
        ),
        pytest.param(request("p", slice_ask(memory=from_gib(1), cores=1)), "g", True, id="taint"),
        pytest.param(
            request(
                "p",
                slice_ask(memory=from_gib(1), cores=1),
                cards=CardFilter(only_uuids=frozenset({CardUuid("GPU-z")})),
            ),
            "a",
            True,
            id="uuid lists",
        ),
        pytest.param(
            changed(request("p", slice_ask(memory=from_gib(1), cores=1)), host=HostAsk(cpu_milli=9000)),
            "a",
            False,
            id="processors of the host",
        ),
    ],
)
def test_what_evicting_could_help(asked: Request, node: str, hopeless: bool) -> None:  # noqa: FBT001 - a table's column
    ledger = ledger_of(*NODES)
    ledger.put_tenant(tenant("t", NODES[0], Part(0, from_gib(8), 10), Part(1, from_gib(8), 10)))
    assert group_of(ledger, asked, node).hopeless is hopeless


def test_of_two_reasons_with_as_many_cards_the_one_that_came_closer_is_told() -> None:
    node = metax_node("n", 2)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("t", node, Part(0, from_gib(60), 10), Part(1, Bytes(from_gib(1)), 95)))
    group = group_of(ledger, request("p", slice_ask(memory=from_gib(32), cores=50)), "n")
    assert group.cards == (CardRule.MEMORY, CardRule.CORES)
    assert group.most is CardRule.CORES


def test_a_pod_that_fits_everywhere_fails_nowhere() -> None:
    ledger = ledger_of(metax_node("n", 2))
    assert failing_nodes(ledger, request("p", slice_ask(memory=from_gib(1), cores=1)), DEFAULTS)[1] == []
    none = failing_nodes(ledger, request("p", slice_ask()), DEFAULTS, Candidates(names=()))
    assert none[1] == []
    assert none[0].rows.size == 0


def test_groups_come_in_the_order_of_their_first_nodes() -> None:
    nodes = [metax_node("z", 2), metax_node("m", 1, mode=CardMode.WHOLE), metax_node("a", 1)]
    ledger = ledger_of(*nodes)
    view, groups = failing_nodes(ledger, request("p", slice_ask(3, memory=from_gib(65), cores=1)), DEFAULTS)
    firsts = [min(ledger.node_at(int(row)).name for row in view.rows[group.at]) for group in groups]
    assert firsts == sorted(firsts)
    assert np.concatenate([group.at for group in groups]).size == len(nodes)


def test_a_node_with_very_many_cards_is_looked_at_like_any_other() -> None:
    node = metax_node("n", 70)
    ledger = ledger_of(node, metax_node("m", 70))
    ledger.put_tenant(tenant("t", node, *(Part(at, from_gib(60), 10) for at in range(70))))
    ask = request("p", slice_ask(70, memory=from_gib(8), cores=10))
    assert not group_of(ledger, ask, "n").hopeless
    assert group_of(ledger, request("p", slice_ask(71, memory=from_gib(8), cores=10)), "n").hopeless


def test_nodes_of_the_same_make_are_told_from_those_with_a_sick_card() -> None:
    ledger = ledger_of(*(metax_node(f"n{number}", 2) for number in range(4)))
    sick = msgspec.structs.replace(
        metax_node("sick", 2), cards=(card("sick", 0), card("sick", 1, healthy=False))
    )
    ledger.put_node(sick)
    for node in list(ledger.nodes()):
        ledger.put_tenant(tenant(f"t-{node.name}", node, Part(0, from_gib(60), 10)))
    ask = request("p", slice_ask(2, memory=from_gib(8), cores=10))
    assert [group_of(ledger, ask, node).hopeless for node in ("n0", "n3", "sick")] == [False, False, True]
