"""Fragmentation as people read it, against the definition taken word by word."""

from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import C500_MEMORY, S4000_MEMORY, card, metax_node, mthreads_node
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.demand import Demand, Shape, demand_from
from tangram.engine.frag import Batch
from tangram.engine.fragmentation import Fragmentation
from tangram.engine.ledger import Ledger
from tangram.engine.room import Room, room_of
from tangram.engine.shapes import Shapes
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.nodes import HostCapacity, Node
from tangram.model.requests import AskKind
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import Bytes, from_gib

changed = msgspec.structs.replace
METAX_WHOLE = Shape(count=1, vendor=Vendor.METAX, kind=AskKind.WHOLE)
MOORE_WHOLE = Shape(count=1, vendor=Vendor.MTHREADS, kind=AskKind.WHOLE)
WHOLE = CardMode.WHOLE


class Used(NamedTuple):
    """A card with what tenants hold of it."""

    card: Card
    gib: int | None = None
    cores: int = 0


cards = st.builds(
    card,
    st.just("n"),
    st.just(0),
    vendor=st.sampled_from([Vendor.METAX, Vendor.METAX, Vendor.MTHREADS]),
    mode=st.sampled_from([CardMode.SLICED, CardMode.SLICED, CardMode.WHOLE, CardMode.UNDECIDED]),
    memory=st.sampled_from([from_gib(64), from_gib(48), Bytes(0)]),
    slots=st.sampled_from([1, 16]),
    healthy=st.sampled_from([True, True, True, False]),
    cordoned=st.sampled_from([False, False, False, True]),
    product=st.sampled_from(["MXC500", "MXC280"]),
)
used = st.builds(Used, cards, st.none() | st.integers(0, 64), st.integers(0, 16))
clusters = st.lists(st.lists(used, max_size=5), min_size=1, max_size=3)
shapes = st.builds(
    Shape,
    count=st.integers(0, 3),
    vendor=st.sampled_from([Vendor.METAX, Vendor.METAX, Vendor.MTHREADS]),
    kind=st.sampled_from([AskKind.SLICE, AskKind.SLICE, AskKind.WHOLE]),
    memory=st.none() | st.integers(1, 80).map(from_gib),
    memory_percent=st.sampled_from([100, 50]),
    cores=st.none() | st.integers(0, 20),
    products=st.sampled_from([frozenset[str](), frozenset({"c500"}), frozenset({"C280", "C500"})]),
    cpu_milli=st.sampled_from([0, 4_000]),
)
demands = st.lists(shapes, max_size=4).map(lambda drawn: demand_from(drawn, 1.0))


# --- the definition, word by word ----------------------------------------------------------------------------------


def takes_pods(each: Used) -> bool:
    return each.card.healthy and not each.card.cordoned


def room_on(each: Used) -> tuple[int, int, int]:
    """Memory, compute and slots that are left."""
    return (
        each.card.memory - from_gib(each.gib or 0),
        each.card.cores - (each.cores if each.gib is not None else 0),
        each.card.slots - (each.gib is not None),
    )


def idle_of(each: Used) -> float:
    memory, cores, slots = room_on(each)
    if not takes_pods(each) or slots <= 0:
        return 0.0
    memory_share = memory / each.card.memory if each.card.memory else 1 - (from_gib(each.gib or 0))
    return min(max((memory_share + cores / each.card.cores) / 2, 0.0), 1.0)


def serves(each: Used, shape: Shape, *, empty: bool) -> bool:
    memory, cores, slots = (each.card.memory, each.card.cores, each.card.slots) if empty else room_on(each)
    needed = shape.memory if shape.memory is not None else each.card.memory * shape.memory_percent // 100
    offered = each.card.offered_whole if shape.kind is AskKind.WHOLE else each.card.offered_sliced
    return (
        takes_pods(each)
        and each.card.memory > 0
        and each.card.vendor is shape.vendor
        and offered
        and (not shape.products or any(word.lower() in each.card.product.lower() for word in shape.products))
        and slots > 0
        and memory >= needed
        and cores >= (each.card.cores if shape.cores is None else shape.cores)
    )


def could_use(node: list[Used], each: Used, shape: Shape) -> bool:
    enough = sum(serves(other, shape, empty=True) for other in node) >= shape.count > 0
    return enough and serves(each, shape, empty=True)


def can_use(node: list[Used], each: Used, shape: Shape, cpu: int) -> bool:
    enough = sum(serves(other, shape, empty=False) for other in node) >= shape.count > 0
    return enough and cpu >= shape.cpu_milli and serves(each, shape, empty=False)


def measured(node: list[Used], cpu: int, demand: Demand) -> tuple[float, float]:
    """Fragmented, and without demand."""
    fragmented = without = 0.0
    for each in node:
        own = [(shape, weight) for shape, weight in demand.shapes if could_use(node, each, shape)]
        if own:
            served = sum(weight for shape, weight in own if can_use(node, each, shape, cpu))
            fragmented += idle_of(each) * (1 - served / sum(weight for _, weight in own))
        else:
            without += idle_of(each)
    return fragmented, without


# --- what always holds ---------------------------------------------------------------------------------------------


def ledger_with(cluster: list[list[Used]]) -> Ledger:
    ledger = Ledger()
    for number, drawn in enumerate(cluster):
        node = Node(
            name=NodeName(f"n{number}"),
            cards=tuple(
                changed(each.card, uuid=CardUuid(f"GPU-{number}-{at}"), index=at)
                for at, each in enumerate(drawn)
            ),
            host=HostCapacity(2_000 * (number + 1)),
        )
        ledger.put_node(node)
        for at, each in enumerate(drawn):
            if each.gib is not None:
                ledger.put_tenant(tenant(f"{number}-{at}", node, Part(at, from_gib(each.gib), each.cores)))
    return ledger


def room(ledger: Ledger, demand: Demand) -> Room:
    *_, found = room_of(ledger, demand)
    return found


@given(clusters, demands)
def test_fragmentation_is_what_the_definition_says(cluster: list[list[Used]], demand: Demand) -> None:
    found = Fragmentation(demand).measure(ledger_with(cluster).view())
    naive = [measured(node, 2_000 * (at + 1), demand) for at, node in enumerate(cluster)]
    assert found.fragmented.sum(axis=1).tolist() == pytest.approx([lost for lost, _ in naive])
    assert found.without_demand.sum(axis=1).tolist() == pytest.approx([without for _, without in naive])
    assert found.idle.sum(axis=1).tolist() == pytest.approx([sum(map(idle_of, node)) for node in cluster])


@given(clusters, demands)
def test_what_is_fragmented_and_what_is_without_demand_are_parts_of_what_is_idle(
    cluster: list[list[Used]], demand: Demand
) -> None:
    found = Fragmentation(demand).measure(ledger_with(cluster).view())
    assert (found.fragmented >= 0).all()
    assert (found.without_demand >= 0).all()
    assert (found.fragmented + found.without_demand <= found.idle).all()
    total = room(ledger_with(cluster), demand)
    assert total.fragmented == pytest.approx(float(found.fragmented.sum()))
    assert total.without_demand == pytest.approx(float(found.without_demand.sum()))


@given(clusters, demands)
def test_an_empty_cluster_is_not_fragmented(cluster: list[list[Used]], demand: Demand) -> None:
    empty = [[Used(each.card) for each in node] for node in cluster]
    without_processors = demand_from([changed(shape, cpu_milli=0) for shape, _ in demand.shapes], 1.0)
    assert room(ledger_with(empty), without_processors).fragmented == 0


@given(clusters, demands, st.sampled_from([metax_node("new", 3), mthreads_node("new", 3)]))
def test_an_empty_node_never_raises_what_is_fragmented(
    cluster: list[list[Used]], demand: Demand, node: Node
) -> None:
    ledger = ledger_with(cluster)
    before = room(ledger, demand)
    ledger.put_node(node)
    after = room(ledger, demand)
    assert after.fragmented == pytest.approx(before.fragmented)
    assert after.idle == pytest.approx(before.idle + 3)


@given(clusters, demands, st.integers(1, 9), st.sampled_from(list(AskKind)))
def test_demand_for_one_vendor_does_not_change_what_is_fragmented_of_another(
    cluster: list[list[Used]], demand: Demand, pods: int, kind: AskKind
) -> None:
    ledger = ledger_with(cluster)
    metax = [(shape, weight) for shape, weight in demand.shapes if shape.vendor is Vendor.METAX]
    others = Shape(count=1, vendor=Vendor.MTHREADS, kind=kind, memory_percent=100)
    mixed = Demand((*((shape, weight / (pods + 1)) for shape, weight in metax), (others, pods / (pods + 1))))
    alone, beside = room(ledger, Demand(tuple(metax))), room(ledger, mixed)
    for part in ("fragmented", "without_demand"):
        expected = getattr(alone.by_vendor[Vendor.METAX], part)
        assert getattr(beside.by_vendor[Vendor.METAX], part) == pytest.approx(expected)


slices = st.builds(
    Shape,
    count=st.integers(1, 4),
    vendor=st.just(Vendor.METAX),
    memory=st.integers(1, 64).map(from_gib),
    cores=st.integers(0, 100),
)


@given(
    st.lists(st.lists(st.tuples(st.integers(1, 64), st.integers(0, 99)), max_size=4), min_size=1, max_size=3),
    st.lists(slices, min_size=1, max_size=4),
)
def test_with_one_kind_of_card_it_is_the_measure_that_the_policy_keeps_low(
    cluster: list[list[tuple[int, int]]], expected: list[Shape]
) -> None:
    ledger, demand = Ledger(), demand_from(expected, 1.0)
    for number, held in enumerate(cluster):
        node = metax_node(f"n{number}", 4)
        ledger.put_node(node)
        for at, (gib, cores) in enumerate(held):
            ledger.put_tenant(tenant(f"{number}-{at}", node, Part(at, from_gib(gib), cores)))
    view = ledger.view()
    every = np.arange(view.height, dtype=np.intp)
    policy = Batch(view, every, Shapes(demand, tuple(view.models.values)), 0).before.amount
    shown = Fragmentation(demand).measure(view).fragmented.sum(axis=1)
    assert shown.tolist() == pytest.approx(policy.tolist())


# --- cases ---------------------------------------------------------------------------------------------------------


def test_free_cards_of_one_vendor_are_not_waste_to_pods_of_the_other() -> None:
    """Two vendors, 30 of 40 cards free, pods of both: only what is left of the shared card is too small for some."""
    metax, sliced = metax_node("metax", 8, mode=WHOLE), metax_node("sliced", 8)
    moore, parts = mthreads_node("moore", 16, mode=WHOLE), mthreads_node("parts", 8)
    ledger = ledger_of(metax, sliced, moore, parts)
    ledger.put_tenant(tenant("train", metax, *(Part(at, C500_MEMORY, 100, AskKind.WHOLE) for at in range(4))))
    ledger.put_tenant(tenant("see", moore, *(Part(at, S4000_MEMORY, 16, AskKind.WHOLE) for at in range(4))))
    ledger.put_tenant(tenant("chat", sliced, Part(0, from_gib(48), 75)))
    ledger.put_tenant(tenant("small", parts, Part(0, from_gib(24), 8)))
    slice_of_metax = Shape(count=1, vendor=Vendor.METAX, memory=from_gib(48), cores=75)
    slice_of_moore = Shape(count=1, vendor=Vendor.MTHREADS, memory=from_gib(24), cores=8)
    found = room(ledger, demand_from([METAX_WHOLE, MOORE_WHOLE, slice_of_metax, slice_of_moore], 1.0))
    assert found.idle == 30.75
    assert found.fragmented == 0.25
    assert found.without_demand == 0


def test_the_example_of_the_page_is_what_is_measured() -> None:
    """Two cards with half of each free; every fourth pod asks for three quarters of a card, the others for one."""
    node = metax_node("n", 2)
    ledger = ledger_of(node)
    for at in range(2):
        ledger.put_tenant(tenant(f"half-{at}", node, Part(at, from_gib(32), 50)))
    quarter = Shape(count=1, vendor=Vendor.METAX, memory=from_gib(16), cores=25)
    most = Shape(count=1, vendor=Vendor.METAX, memory=from_gib(48), cores=75)
    demand = demand_from([quarter, quarter, quarter, most], 1.0)
    found = room(ledger, demand)
    assert (found.idle, found.fragmented / found.idle) == (1.0, 0.25)
    ledger.put_node(mthreads_node("other", 4))
    found = room(ledger, demand)
    assert (found.idle, found.fragmented / found.idle, found.without_demand) == (5.0, 0.05, 4.0)


@pytest.mark.parametrize(
    ("shape", "without_demand"),
    [
        pytest.param(changed(METAX_WHOLE, count=4), 0.0, id="as many as there are"),
        pytest.param(changed(METAX_WHOLE, count=5), 4.0, id="more than a node has"),
        pytest.param(Shape(count=1, vendor=Vendor.METAX, memory=from_gib(1), cores=1), 4.0, id="slices"),
        pytest.param(changed(METAX_WHOLE, products=frozenset({"C550"})), 4.0, id="another product"),
        pytest.param(MOORE_WHOLE, 4.0, id="another vendor"),
        pytest.param(Shape(cpu_milli=1_000), 4.0, id="no card at all"),
    ],
)
def test_cards_that_no_pod_asks_for_are_without_demand_and_not_fragmented(
    shape: Shape, without_demand: float
) -> None:
    found = room(ledger_of(metax_node("n", 4, mode=WHOLE)), demand_from([shape]))
    assert (found.idle, found.fragmented, found.without_demand) == (4.0, 0.0, without_demand)


def test_a_slice_larger_than_the_card_says_nothing_about_the_card() -> None:
    large = Shape(count=1, vendor=Vendor.METAX, memory=from_gib(65), cores=1)
    small = Shape(count=1, vendor=Vendor.METAX, memory=from_gib(1), cores=1)
    assert room(ledger_of(metax_node("n", 1)), demand_from([large])).without_demand == 1
    assert room(ledger_of(metax_node("n", 1)), demand_from([large, small])).fragmented == 0


def test_too_few_free_cards_on_one_node_are_fragmented() -> None:
    node = metax_node("n", 4, mode=WHOLE)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("t", node, Part(0, C500_MEMORY, 100, AskKind.WHOLE)))
    four = changed(METAX_WHOLE, count=4)
    assert room(ledger, demand_from([four])).fragmented == 3
    assert room(ledger, demand_from([four, METAX_WHOLE])).fragmented == 1.5


def test_cards_without_processors_left_are_fragmented() -> None:
    shape = changed(METAX_WHOLE, cpu_milli=8_000)
    ledger = ledger_of(metax_node("n", 2, mode=WHOLE, cpu_milli=4_000))
    assert room(ledger, demand_from([shape])).fragmented == 2


@pytest.mark.parametrize(
    ("count", "fragmented"),
    [
        pytest.param(1, 0.0, id="one function"),
        pytest.param(3, 0.0, id="all that are left"),
        pytest.param(4, 0.75, id="more than are left"),
        pytest.param(5, 0.0, id="more than the card has: without demand"),
    ],
)
def test_functions_of_a_card_that_is_taken_in_part_are_of_use(count: int, fragmented: float) -> None:
    node = metax_node("n", 1, mode=CardMode.VIRTUAL, slots=4)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("t", node, Part(0, from_gib(16), 25, AskKind.WHOLE)))
    found = room(ledger, demand_from([changed(METAX_WHOLE, count=count)]))
    assert found.fragmented == fragmented
    assert found.without_demand == (0.75 if count > 4 else 0)


def test_places_of_a_shared_card_are_of_use_until_they_are_gone() -> None:
    node = metax_node("n", 1, mode=CardMode.SHARED, slots=2)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("a", node, Part(0, Bytes(0), 0, AskKind.WHOLE)))
    found = room(ledger, demand_from([METAX_WHOLE]))
    assert (found.idle, found.fragmented) == (1.0, 0.0)
    ledger.put_tenant(tenant("b", node, Part(0, Bytes(0), 0, AskKind.WHOLE)))
    assert room(ledger, demand_from([METAX_WHOLE])).idle == 0


def test_without_pods_to_expect_nothing_is_fragmented() -> None:
    found = room(ledger_of(metax_node("n", 2), Node(name=NodeName("plain"))), Demand())
    assert (found.idle, found.fragmented, found.without_demand) == (2.0, 0.0, 2.0)
    bare = Fragmentation(Demand()).measure(ledger_of(Node(name=NodeName("plain"))).view())
    assert not np.concatenate([bare.idle, bare.fragmented, bare.without_demand]).any()


def test_models_that_come_later_are_measured_too() -> None:
    measure, ledger = Fragmentation(demand_from([MOORE_WHOLE])), ledger_of(metax_node("n", 1))
    assert measure.measure(ledger.view()).without_demand.sum() == 1
    ledger.put_node(mthreads_node("later", 1, mode=WHOLE))
    assert measure.measure(ledger.view()).without_demand.sum() == 1
