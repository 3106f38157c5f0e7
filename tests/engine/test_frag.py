"""The policy `frag`: its fragments against the study's definition taken word by word, and where it puts pods."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import card, metax_node, mthreads_node
from builders.requests import DEFAULTS, indexes, request, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.allocate import tenant_for
from tangram.engine.decide import Memo, decide
from tangram.engine.demand import Demand, Shape, demand_from, shape_of
from tangram.engine.filter import filter_nodes
from tangram.engine.frag import Batch, FragScores
from tangram.engine.place import Defaults
from tangram.engine.shapes import Shapes
from tangram.engine.stranding import PATIENCE, STEPS, stranded
from tangram.model.cards import AppClass, Card, CardMode, Vendor
from tangram.model.nodes import HostCapacity, Node
from tangram.model.requests import AskKind, CardFilter, CardOrder, HostAsk, NodePolicy, Request
from tangram.units.ids import NodeName
from tangram.units.memory import Bytes, from_gib

changed = msgspec.structs.replace
HALF = slice_ask(memory=from_gib(32), cores=50)
SMALL = slice_ask(memory=from_gib(4), cores=10)

cards = st.builds(
    card,
    st.just("n"),
    st.just(0),
    vendor=st.sampled_from([Vendor.METAX, Vendor.METAX, Vendor.MTHREADS]),
    mode=st.sampled_from([CardMode.SLICED, CardMode.SLICED, CardMode.WHOLE, CardMode.UNDECIDED]),
    memory=st.sampled_from([from_gib(64), from_gib(48)]),
    slots=st.sampled_from([1, 16]),
    healthy=st.sampled_from([True, True, True, False]),
    cordoned=st.sampled_from([False, False, False, True]),
    product=st.sampled_from(["MXC500", "MXC280"]),
)
holdings = st.none() | st.tuples(st.integers(0, 64), st.integers(0, 16))
nodes = st.lists(st.tuples(cards, holdings), max_size=6)
shapes = st.builds(
    Shape,
    count=st.integers(0, 3),
    vendor=st.sampled_from([Vendor.METAX, Vendor.METAX, Vendor.MTHREADS]),
    kind=st.sampled_from([AskKind.SLICE, AskKind.SLICE, AskKind.WHOLE]),
    memory=st.none() | st.integers(1, 64).map(from_gib),
    memory_percent=st.sampled_from([100, 50]),
    cores=st.none() | st.integers(0, 16),
    products=st.sampled_from([frozenset[str](), frozenset({"c500"}), frozenset({"C280", "C500"})]),
    cpu_milli=st.sampled_from([0, 4_000]),
)


def fits(held: Card, hold: tuple[int, int] | None, shape: Shape) -> bool:
    gib, cores = hold or (0, 0)
    memory = shape.memory if shape.memory is not None else held.memory * shape.memory_percent // 100
    return (
        held.vendor is shape.vendor
        and (held.offered_whole if shape.kind is AskKind.WHOLE else held.offered_sliced)
        and (not shape.products or any(word.lower() in held.product.lower() for word in shape.products))
        and held.healthy
        and not held.cordoned
        and held.slots > (hold is not None)
        and held.memory - from_gib(gib) >= memory
        and held.cores - cores >= (held.cores if shape.cores is None else shape.cores)
    )


def idle(held: Card, hold: tuple[int, int] | None) -> float:
    gib, cores = hold or (0, 0)
    if not held.healthy or held.cordoned:
        return 0.0
    return ((held.memory - from_gib(gib)) / held.memory + (held.cores - cores) / held.cores) / 2


def fragments(cards: list[tuple[Card, tuple[int, int] | None]], cpu: int, demand: Demand) -> float:
    total = 0.0
    for shape, weight in demand.shapes:
        fitting = sum(fits(held, hold, shape) for held, hold in cards)
        served = shape.count > 0 and cpu >= shape.cpu_milli and fitting >= shape.count
        total += weight * sum(
            idle(held, hold) for held, hold in cards if not (served and fits(held, hold, shape))
        )
    return total


@given(st.lists(nodes, min_size=1, max_size=3), st.lists(shapes, min_size=1, max_size=4))
def test_fragments_are_what_the_definition_says(
    drawn: list[list[tuple[Card, tuple[int, int] | None]]], expected_shapes: list[Shape]
) -> None:
    demand = demand_from(expected_shapes, 1.0)
    cluster = [
        Node(
            name=NodeName(f"n{number}"),
            cards=tuple(
                changed(held, uuid=f"GPU-{number}-{at}", index=at) for at, (held, _) in enumerate(each)
            ),
            host=HostCapacity(2_000 * (number + 1)),
        )
        for number, each in enumerate(drawn)
    ]
    ledger = ledger_of(*cluster)
    for node, each in zip(cluster, drawn, strict=True):
        for at, (_, hold) in enumerate(each):
            if hold is not None:
                ledger.put_tenant(tenant(f"{node.name}-{at}", node, Part(at, from_gib(hold[0]), hold[1])))
    naive = [fragments(each, 2_000 * (at + 1), demand) for at, each in enumerate(drawn)]
    view = ledger.view()
    if view.models.values:
        every = np.arange(view.height, dtype=np.intp)
        batch = Batch(view, every, Shapes(demand, tuple(view.models.values)), 0)
        assert batch.before.amount.tolist() == pytest.approx(naive)
    else:
        assert naive == [0] * len(cluster)


def test_a_slice_goes_where_it_leaves_room_for_the_pods_to_come() -> None:
    # Cards with 32 and 40 GiB left; pods of 32 GiB are expected, so the 8 GiB belong on the second.
    node = metax_node("n", 2)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("a", node, Part(0, from_gib(24), 0)))
    ledger.put_tenant(tenant("b", node, Part(1, from_gib(32), 0)))
    frag = FragScores(demand_from([shape_of(request("x", slice_ask(memory=from_gib(32), cores=0)))]))
    small = slice_ask(memory=from_gib(8), cores=0)
    placed = filter_nodes(ledger, request("p", small, node_policy=NodePolicy.FRAG), DEFAULTS, frag=frag)
    assert indexes(placed.allocation) == [0]


@pytest.mark.parametrize(
    ("asked", "given_card"),
    [
        pytest.param(request("p", SMALL), 0, id="nothing said: the fuller card"),
        pytest.param(request("p", SMALL, card_order=(CardOrder.SPREAD,)), 1, id="spread"),
        pytest.param(request("p", SMALL, app_class=AppClass.ONLINE), 1, id="an online slice suspends nobody"),
    ],
)
def test_a_slice_is_only_moved_where_nobody_said_which_card(asked: Request, given_card: int) -> None:
    node = metax_node("n", 2)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("t", node, Part(0), app_class=asked.app_class and AppClass.OFFLINE))
    frag = FragScores(demand_from([shape_of(request("x", slice_ask()))]))
    placed = filter_nodes(ledger, changed(asked, node_policy=NodePolicy.FRAG), DEFAULTS, frag=frag)
    assert indexes(placed.allocation) == [given_card]


def test_whole_nodes_are_kept_for_pods_that_need_whole_nodes() -> None:
    started, empty = metax_node("b-started", 8), metax_node("a-empty", 8)
    ledger = ledger_of(started, empty)
    ledger.put_tenant(tenant("t", started, Part(0, from_gib(64), 100)))
    frag = FragScores(demand_from([shape_of(request("x", slice_ask(8)))]))
    asked = request("p", slice_ask(), node_policy=NodePolicy.FRAG)
    assert filter_nodes(ledger, asked, DEFAULTS, frag=frag).node == "b-started"


sized = st.sampled_from([(4, 10), (16, 25), (32, 50), (48, 75), (64, 100)])
streams = st.lists(
    st.tuples(st.integers(1, 3), sized, st.sampled_from([frozenset[str](), frozenset({"C550"})])),
    min_size=1,
    max_size=6,
)


def placed_by_frag(stream: Sequence[Request], beside: Sequence[Request], *, moore: int) -> list[list[int]]:
    """The numbers of the cards that each pod of the stream gets, numbered through all nodes."""
    larger = metax_node("b", 4)
    larger = changed(larger, cards=tuple(changed(each, product="MXC550") for each in larger.cards))
    ledger, memo = ledger_of(metax_node("a", 4, cpu_milli=8_000), larger, metax_node("c", 2)), Memo()
    for number in range(moore):
        ledger.put_node(mthreads_node(f"t{number}", 8))
    frag = FragScores(demand_from([shape_of(each) for each in (*stream, *beside)], 1.0))
    found: list[list[int]] = []
    for each in stream:
        allocation = decide(
            ledger, each, Defaults(node_policy=NodePolicy.FRAG), memo=memo, frag=frag
        ).allocation
        if allocation is not None:
            ledger.put_tenant(tenant_for(each, allocation))
        nodes = 0 if allocation is None else 10 * ord(allocation.node[0])
        found.append([nodes + index for index in indexes(allocation)])
    return found


@given(streams, st.integers(1, 40))
def test_pods_of_one_vendor_are_placed_as_if_the_other_vendor_were_not_there(
    drawn: list[tuple[int, tuple[int, int], frozenset[str]]], others: int
) -> None:
    stream = [
        changed(
            request(
                f"p{number}",
                slice_ask(count, memory=from_gib(gib), cores=cores),
                cards=CardFilter(only_products=products),
            ),
            host=HostAsk(cpu_milli=1_000),
        )
        for number, (count, (gib, cores), products) in enumerate(drawn)
    ]
    moore = slice_ask(memory=from_gib(24), cores=8, vendor=Vendor.MTHREADS)
    beside = [request(f"m{number}", moore) for number in range(others)]
    assert placed_by_frag(stream, beside, moore=3) == placed_by_frag(stream, (), moore=0)


def test_demand_of_the_only_vendor_is_the_demand() -> None:
    demand = demand_from([shape_of(request("x", HALF)), shape_of(request("y", SMALL)), Shape(cpu_milli=1)])
    assert demand.of_vendor(Vendor.METAX) is demand
    (kept,) = demand.of_vendor(Vendor.MTHREADS).shapes
    assert kept == (Shape(cpu_milli=1), 1.0)


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(Node(name=NodeName("n")), id="no cards at all"),
        pytest.param(
            Node(name=NodeName("n"), cards=(changed(card("n", 0), memory=Bytes(0)),)), id="no memory said"
        ),
        pytest.param(Node(name=NodeName("n"), cards=(changed(card("n", 0), cores=0),)), id="no compute said"),
    ],
)
def test_a_node_that_says_too_little_stops_nobody_else(node: Node) -> None:
    frag = FragScores(demand_from([shape_of(request("x", HALF))]))
    for ask in ((), (HALF,), (slice_ask(),)):
        asked = changed(request("p", *ask, node_policy=NodePolicy.FRAG), host=HostAsk(cpu_milli=1))
        assert filter_nodes(ledger_of(node, metax_node("m", 1)), asked, DEFAULTS, frag=frag).node is not None
        alone = filter_nodes(ledger_of(node), asked, DEFAULTS, frag=FragScores(frag.demand))
        assert alone.node is None or ask != (HALF,)


def test_another_demand_is_weighed_from_the_next_decision_on() -> None:
    started, empty = metax_node("b-started", 8), metax_node("a-empty", 8)
    ledger = ledger_of(started, empty)
    ledger.put_tenant(tenant("t", started, Part(0, from_gib(64), 100)))
    frag = FragScores(demand_from([shape_of(request("x", slice_ask(8)))]))
    asked = request("p", slice_ask(7), node_policy=NodePolicy.FRAG)
    before = filter_nodes(ledger, asked, DEFAULTS, frag=frag).score.tolist()
    frag.expect(demand_from([shape_of(request("x", whole_ask(2)))]))
    after = filter_nodes(ledger, asked, DEFAULTS, frag=frag).score.tolist()
    fresh = filter_nodes(ledger, asked, DEFAULTS, frag=FragScores(frag.demand)).score.tolist()
    assert after == fresh != before


@given(st.lists(st.tuples(st.integers(1, STEPS), st.integers(1, 5)), max_size=4))
def test_stranding_is_bounded_by_what_is_left_and_nothing_is_stranded_where_nothing_is_left(
    slices: list[tuple[int, int]],
) -> None:
    table = stranded([(size, float(weight)) for size, weight in slices])
    assert table[0] == 0
    assert all(0 <= stuck <= left for left, stuck in enumerate(table.tolist()))
    smallest = min((size for size, _ in slices), default=STEPS + 1)
    # What no slice fits into is lost in full.
    assert table[:smallest].tolist() == list(range(smallest))[: STEPS + 1]


def test_a_remainder_of_exactly_the_usual_slice_is_hardly_stranded() -> None:
    table = stranded([(500, 1.0)])
    assert table[500] <= 500 / PATIENCE
    assert table[499] == 499
    assert table[STEPS] <= 2 * STEPS / PATIENCE
