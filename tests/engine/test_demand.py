"""What kinds of pods to expect, given or learned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.requests import request, slice_ask, whole_ask
from tangram.engine.demand import (
    RELEARN_EVERY,
    REMEMBERED_PODS,
    Demand,
    LearnedDemand,
    Shape,
    demand_from,
    shape_of,
)
from tangram.model.cards import Vendor
from tangram.model.requests import Ask, AskKind, CardFilter
from tangram.units.memory import from_gib

SMALL = slice_ask(memory=from_gib(4), cores=10)


@pytest.mark.parametrize(
    ("asks", "largest"),
    [
        pytest.param((SMALL, slice_ask(memory=from_gib(8), cores=5)), 1, id="more memory"),
        pytest.param((slice_ask(), slice_ask(memory=from_gib(64), cores=5)), 0, id="a whole card's memory"),
        pytest.param((whole_ask(1), slice_ask()), 0, id="a whole card"),
        pytest.param((slice_ask(2, memory=from_gib(1), cores=1), whole_ask(1)), 0, id="more cards"),
    ],
)
def test_a_pod_has_the_shape_of_its_largest_ask(asks: tuple[Ask, ...], largest: int) -> None:
    found = shape_of(request("p", *asks))
    ask = asks[largest]
    assert (found.count, found.kind, found.memory, found.cores) == (
        ask.count,
        ask.kind,
        ask.memory,
        ask.cores,
    )


def test_a_pod_without_cards_has_a_shape_too() -> None:
    assert shape_of(request("p")) == Shape()


def test_the_products_a_pod_insists_on_are_part_of_its_shape() -> None:
    only = CardFilter(only_products=frozenset({"C500"}))
    assert shape_of(request("p", SMALL, cards=only)) == Shape(
        count=1,
        vendor=Vendor.METAX,
        kind=AskKind.SLICE,
        memory=from_gib(4),
        cores=10,
        products=frozenset({"C500"}),
    )


shapes = st.sampled_from([Shape(count=count) for count in range(6)])


@given(st.lists(shapes, max_size=60), st.sampled_from([0.5, 0.95, 1.0]))
def test_the_most_frequent_shapes_are_kept_until_enough_pods_are_covered(
    seen: list[Shape], covered: float
) -> None:
    kept = demand_from(seen, covered).shapes
    counts = {shape: seen.count(shape) for shape in seen}
    weights = [weight for _, weight in kept]
    assert sum(weights) == pytest.approx(1 if seen else 0)
    assert weights == sorted(weights, reverse=True)
    reached = sum(counts[shape] for shape, _ in kept)
    assert reached >= covered * len(seen)
    if kept:
        # Without the last one it would not be enough, and nothing left out came more often than it.
        last = counts[kept[-1][0]]
        assert reached - last < covered * len(seen)
        left_out = set(counts) - {shape for shape, _ in kept}
        assert all(counts[shape] <= last for shape in left_out)


def test_nothing_seen_means_nothing_expected() -> None:
    assert demand_from([]) == Demand()


def test_demand_is_learned_from_the_first_pod_on_and_renewed_now_and_then() -> None:
    learned = LearnedDemand()
    one, other = request("p", SMALL), request("q", whole_ask(8))
    learned.see(one)
    assert [shape for shape, _ in learned.current.shapes] == [shape_of(one)]
    # The first pod does not stand for all that follow: while there are few, each of them says much.
    learned.see(other)
    assert {shape for shape, _ in learned.current.shapes} == {shape_of(one), shape_of(other)}
    for _ in range(4 * RELEARN_EVERY):
        learned.see(other)
    known, changes = learned.current, 0
    for _ in range(2 * RELEARN_EVERY):
        learned.see(one)
        changes += learned.current is not known
        known = learned.current
    assert changes == 2


def test_pods_of_the_distant_past_are_forgotten() -> None:
    learned = LearnedDemand()
    for _ in range(REMEMBERED_PODS):
        learned.see(request("p", SMALL))
    for _ in range(REMEMBERED_PODS + RELEARN_EVERY):
        learned.see(request("q", whole_ask(8)))
    assert learned.current.shapes == ((shape_of(request("q", whole_ask(8))), 1.0),)
