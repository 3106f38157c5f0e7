"""Remembered decisions are the filter's decisions, to the last bit, whatever happened in between."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import card, metax_node, mthreads_node
from builders.requests import DEFAULTS, pod, request, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.decide import Memo, decide
from tangram.engine.demand import demand_from, shape_of
from tangram.engine.filter import Candidates, filter_nodes, only_reservations_in_the_way, ranked
from tangram.engine.frag import FragScores
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.engine.score import idle_cards, leftover
from tangram.model.cards import CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.requests import HostAsk, NodePolicy, Request
from tangram.model.topology import TopologyScope
from tangram.units.ids import NodeName
from tangram.units.memory import Bytes, from_512mib_units, from_gib

changed = msgspec.structs.replace
TINY = slice_ask(memory=Bytes(1), cores=1)
odd_amounts = st.lists(st.tuples(st.integers(0, 7), st.integers(1, 2**33), st.integers(0, 40)), max_size=8)


def same(
    ledger: Ledger, asked: Request, memo: Memo, candidates: Candidates, frag: FragScores | None = None
) -> None:
    decided = decide(ledger, asked, DEFAULTS, candidates, memo=memo, frag=frag)
    outcome = filter_nodes(ledger, asked, DEFAULTS, candidates, frag=frag)
    assert (decided.node, decided.allocation) == (outcome.node, outcome.allocation)
    assert (decided.fitting, decided.best) == (outcome.fitting, outcome.best)


@given(st.lists(st.tuples(st.booleans(), *[st.integers(0, 3)] * 3), max_size=30), st.integers(1, 12))
def test_the_best_rows_are_those_of_a_full_sort(drawn: list[tuple[bool, int, int, int]], most: int) -> None:
    columns = np.array([each[1:] for each in drawn], np.float64).reshape(-1, 3).T
    keys = [*columns, -np.arange(len(drawn), dtype=np.float64)]
    fits = np.array([each[0] for each in drawn], np.bool_)
    expected = sorted(np.flatnonzero(fits).tolist(), key=lambda row: (*(-key[row] for key in keys),))
    assert ranked(fits, keys, most).tolist() == expected[:most]


@given(
    odd_amounts,
    st.lists(st.integers(0, 3), max_size=4),
    st.sampled_from([NodePolicy.BINPACK, NodePolicy.FRAG]),
)
def test_equal_nodes_tie_whenever_they_were_last_looked_at(
    parts: list[tuple[int, int, int]], touched: list[int], policy: NodePolicy
) -> None:
    nodes = [metax_node(name, 8) for name in "abcd"]
    ledger, memo = ledger_of(*nodes), Memo()
    frag = FragScores(demand_from([shape_of(request("x", slice_ask(memory=from_gib(30), cores=40)))]))
    held = [Part(at, Bytes(memory), cores) for at, memory, cores in parts]
    for node in nodes:
        ledger.put_tenant(tenant(f"t-{node.name}", node, *held))
    asked = request("p", TINY, node_policy=policy)
    for at in touched:
        same(ledger, asked, memo, Candidates(), frag)
        ledger.remove(pod(f"t-{nodes[at].name}").uid)
        ledger.put_tenant(tenant(f"t-{nodes[at].name}", nodes[at], *held))
    same(ledger, asked, memo, Candidates(), frag)
    assert decide(ledger, asked, DEFAULTS, memo=memo, frag=frag).node == "a"
    assert (
        decide(ledger, asked, DEFAULTS, Candidates(names=[NodeName("d"), NodeName("b")]), memo=memo).node
        == "b"
    )


@given(odd_amounts)
def test_room_is_the_same_number_however_many_nodes_are_looked_at(parts: list[tuple[int, int, int]]) -> None:
    nodes = [metax_node(name, 8) for name in "abcde"]
    ledger = ledger_of(*nodes)
    for node in nodes:
        ledger.put_tenant(
            tenant(node.name, node, *(Part(at, Bytes(size), cores) for at, size, cores in parts))
        )
    for measure in (leftover, idle_cards):
        everyone = measure(ledger.view()).tolist()
        assert len(set(everyone)) == 1
        for names in ("c", "ace", "ecb"):
            assert set(measure(ledger.view(tuple(map(NodeName, names)))).tolist()) == set(everyone)


MIXED = Node(
    name=NodeName("mixed"), cards=(card("mixed", 0), card("mixed", 1, mode=CardMode.SHARED, slots=4))
)
CLUSTER: list[Node] = [
    metax_node("big", 20, mode=CardMode.WHOLE),
    metax_node("sliced", 4, cpu_milli=8_000),
    metax_node("virtual", 2, mode=CardMode.VIRTUAL, slots=4),
    metax_node("whole", 8, mode=CardMode.WHOLE),
    MIXED,
    mthreads_node("mt", 2),
]
MT_HALF = slice_ask(memory=from_512mib_units(32), cores=8, vendor=Vendor.MTHREADS)
KINDS: list[Request] = [
    request("a", whole_ask(4)),
    request("b", whole_ask(3), required_scope=TopologyScope.LINK),
    request("c", slice_ask(2)),
    request("d", TINY, TINY),
    request("e", MT_HALF, MT_HALF, qos=None, one_card=True),
    request("f", slice_ask(cores=16, vendor=Vendor.MTHREADS), qos=None, one_card=True),
    changed(request("g", TINY), host=HostAsk(cpu_milli=3_000)),
    request("h"),
]
steps = st.tuples(
    st.sampled_from(["bind", "end", "leave", "return", "break"]),
    st.integers(0, len(CLUSTER) - 1),
    st.integers(0, len(KINDS) - 1),
)


@given(st.lists(steps, min_size=1, max_size=6), st.sampled_from(list(NodePolicy)), st.booleans())
def test_what_is_remembered_is_what_a_fresh_look_would_find(
    drawn: list[tuple[str, int, int]],
    policy: NodePolicy,
    host_checked: bool,  # noqa: FBT001 - hypothesis passes it by name
) -> None:
    ledger, memo = ledger_of(*CLUSTER[:3]), Memo()
    frag = FragScores(demand_from(map(shape_of, KINDS)))
    candidates = Candidates(host_checked=host_checked, demoted=(NodeName("sliced"),))
    for number, (what, where, kind) in enumerate(drawn):
        node = CLUSTER[where]
        asked = changed(KINDS[kind], pod=pod(f"p{number}"), node_policy=policy)
        match what:
            case "bind":
                decided = decide(ledger, asked, DEFAULTS, candidates, memo=memo, frag=frag)
                if decided.allocation is not None:
                    ledger.put_tenant(
                        changed(tenant("x", node), pod=asked.pod, allocation=decided.allocation)
                    )
            case "end":
                ledger.remove(pod(f"p{number - 1}").uid)
            case "leave":
                ledger.remove_node(node.name)
            case "return":
                ledger.put_node(node)
            case _:
                broken = [changed(each, healthy=False) for each in node.cards[:1]]
                ledger.put_node(changed(node, cards=(*broken, *node.cards[1:])))
        for each in KINDS:
            same(ledger, changed(each, node_policy=policy), memo, candidates, frag)


def test_the_first_legal_size_of_a_new_maker_changes_nothing_for_the_others() -> None:
    # Rows are remembered, so nothing about one row may hang on what other rows there are.
    ledger, memo = ledger_of(mthreads_node("mt", 1)), Memo()
    odd = request(
        "p", slice_ask(memory=from_gib(3), cores=0, vendor=Vendor.MTHREADS), qos=None, one_card=True
    )
    same(ledger, odd, memo, Candidates())
    ledger.put_node(metax_node("n", 1))
    same(ledger, odd, memo, Candidates())
    assert decide(ledger, odd, DEFAULTS, memo=memo).node is None


def test_a_pod_that_holds_a_promise_is_decided_without_it() -> None:
    node = metax_node("n", 1)
    ledger, memo = ledger_of(node), Memo()
    asked = request("p", slice_ask())
    assert decide(ledger, asked, DEFAULTS, memo=memo).node == "n"
    promised = tenant("p", node, Part(0, from_gib(64), 100))
    assert ledger.reserve(promised, expires_at=60, attempt=ledger.begin_attempt())
    assert decide(ledger, asked, DEFAULTS, memo=memo).node == "n"
    assert decide(ledger, changed(asked, pod=pod("q")), DEFAULTS, memo=memo).node is None
    assert only_reservations_in_the_way(ledger, changed(asked, pod=pod("q")), DEFAULTS)
    ledger.put_tenant(promised)
    assert not only_reservations_in_the_way(ledger, changed(asked, pod=pod("q")), DEFAULTS)


@pytest.mark.parametrize("other", [Defaults(node_policy=NodePolicy.SPREAD), Defaults(zone_aware=True)])
def test_other_defaults_are_other_decisions(other: Defaults) -> None:
    full = metax_node("full", 8)
    ledger, memo = ledger_of(full, metax_node("empty", 8)), Memo()
    ledger.put_tenant(tenant("t", full, Part(0), Part(1)))
    for defaults in (DEFAULTS, other, DEFAULTS):
        asked = request("p", slice_ask(4))
        assert decide(ledger, asked, defaults, memo=memo).node == filter_nodes(ledger, asked, defaults).node


def test_a_model_of_card_never_seen_before_makes_every_node_be_weighed_again() -> None:
    wanted = changed(request("w", slice_ask(memory=from_gib(16), cores=25)), host=HostAsk(cpu_milli=16_000))
    frag = FragScores(demand_from([shape_of(wanted)]))
    memo = Memo()
    ledger = ledger_of(
        *(metax_node(f"n{at}", 2, cpu_milli=cpu) for at, cpu in enumerate((20_000, 48_000, 90_000)))
    )
    asked = changed(wanted, node_policy=NodePolicy.FRAG)
    same(ledger, asked, memo, Candidates(), frag)
    small = card("late", 0, memory=from_gib(16), product="MXN260")
    ledger.put_node(Node(name=NodeName("late"), cards=(small,)))
    for number in range(3):
        same(ledger, changed(asked, pod=pod(f"p{number}")), memo, Candidates(), frag)
