"""Which cards of a node a slice gets, against HAMi's own rules written down a second time.

HAMi sorts the cards so that the best is last and walks from the end. The reference here does exactly that with lists
and fractions. Amounts are binary fractions of a card, so that no answer hangs on rounding.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import card, metax_node
from builders.requests import DEFAULTS, indexes, request, run, slice_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.filter import filter_nodes
from tangram.engine.place import Defaults
from tangram.model.nodes import Node
from tangram.model.requests import CardOrder, CardWeights, Request
from tangram.units.ids import NodeName
from tangram.units.memory import Bytes, from_gib

SLOTS, CORES, MEMORY = 16, 100, from_gib(64)
LARGEST = 2**31 - 1
BINPACK, SPREAD, NUMA = CardOrder.BINPACK, CardOrder.SPREAD, CardOrder.NUMA
MUTEX, TOPOLOGY = CardOrder.MUTEX, CardOrder.TOPOLOGY


class Used(NamedTuple):
    """A card as HAMi's scheduler sees it."""

    at: int
    numa: int
    slots: int
    cores: int
    memory: int


def score(used: Used, weights: CardWeights, cores: int, memory: int) -> Fraction:
    return 10 * (
        weights.slot * Fraction(1 + used.slots, SLOTS)
        + weights.core * Fraction(cores + used.cores, CORES)
        + weights.memory * Fraction(memory + used.memory, MEMORY)
    )


def worst_first(
    order: tuple[CardOrder, ...], weight_of: Callable[[Used], Fraction], *, numa_bind: bool
) -> Callable[[Used], tuple[Fraction, ...]]:
    """Section 10.1 of the reference as a sort key: what sorts first is worse."""
    keys: dict[CardOrder, Callable[[Used], Fraction]] = {
        BINPACK: weight_of,
        SPREAD: lambda used: -weight_of(used),
        NUMA: lambda used: Fraction(used.numa),
    }
    if len(order) > 1 or order == (NUMA,):
        words = [word for word in order if word in keys] or [SPREAD]
        if numa_bind:
            words = [NUMA, *(word for word in words if word is not NUMA)]
        return lambda used: tuple(keys[word](used) for word in words)
    if order == (MUTEX,):
        return lambda used: (Fraction(-used.slots), Fraction(used.numa))
    if order == (BINPACK,):
        if numa_bind:
            return lambda used: (Fraction(-used.numa), weight_of(used))
        return lambda used: (weight_of(used), Fraction(used.numa))
    if numa_bind:
        return lambda used: (Fraction(used.numa), -weight_of(used))
    return lambda used: (-weight_of(used), Fraction(used.numa))


def hami_takes(cards: list[Used], asked: Request) -> list[int]:
    """The cards HAMi would give, in the order it would give them."""
    (ask,) = asked.containers[0].asks
    assert ask.memory is not None
    assert ask.cores is not None
    memory, cores = ask.memory, ask.cores
    fitting = [
        used
        for used in cards
        if used.slots < SLOTS
        and not (MUTEX in asked.card_order and used.slots)
        and used.memory + memory <= MEMORY
        and used.cores + cores <= CORES
        and not (cores == 0 and used.cores >= CORES)
    ]
    weigh = worst_first(
        asked.card_order,
        lambda used: score(used, asked.weights, cores, memory),
        numa_bind=asked.numa_first,
    )
    walked = sorted(fitting, key=weigh)[::-1]
    return [used.at for used in walked[: ask.count]] if len(walked) >= ask.count else []


quarters = st.integers(0, 3)
tenants = st.lists(st.tuples(quarters, st.integers(0, 16)), max_size=3)
"""Quarters of the compute and sixteenths of the memory of a card."""
used_cards = st.lists(st.tuples(st.integers(-1, 1), tenants), min_size=1, max_size=10)
"""NUMA node and tenants of each card."""
orders = st.one_of(
    st.sampled_from([(word,) for word in CardOrder]),
    st.permutations(list(CardOrder)).flatmap(lambda words: st.integers(2, 4).map(lambda n: tuple(words[:n]))),
)


@st.composite
def asked_for(draw: st.DrawFn) -> Request:
    order = draw(orders)
    # Several cards chosen for their links follow no order.
    count = 1 if TOPOLOGY in order else draw(st.integers(1, 3))
    ask = slice_ask(count, memory=Bytes(draw(st.integers(1, 16)) * from_gib(4)), cores=draw(quarters) * 25)
    weights = CardWeights(*(draw(st.integers(0, 3)) for _ in range(3)))
    return msgspec.structs.replace(
        request("p", ask, card_order=order), weights=weights, numa_first=draw(st.booleans())
    )


@given(used_cards, asked_for())
def test_slices_go_to_the_cards_hami_would_give_in_the_same_order(
    used: list[tuple[int, list[tuple[int, int]]]], asked: Request
) -> None:
    node = Node(
        name=NodeName("n"), cards=tuple(card("n", at, numa=numa) for at, (numa, _) in enumerate(used))
    )
    ledger = ledger_of(node)
    seen: list[Used] = []
    for at, (numa, holders) in enumerate(used):
        slots = cores = memory = 0
        for quarter, sixteenths in holders:
            part = Part(at, Bytes(sixteenths * from_gib(4)), quarter * 25)
            if cores + part.cores <= CORES and memory + part.memory <= MEMORY:
                ledger.put_tenant(tenant(f"t{at}-{slots}", node, part))
                slots, cores, memory = slots + 1, cores + part.cores, memory + part.memory
        seen.append(Used(at, numa, slots, cores, memory))
    assert indexes(filter_nodes(ledger, asked, DEFAULTS).allocation) == hami_takes(seen, asked)


SMALL = slice_ask(memory=from_gib(4), cores=10)


@pytest.mark.parametrize(
    ("order", "given_cards"),
    [
        pytest.param((BINPACK,), [3, 3, 3], id="binpack fills one card"),
        pytest.param((SPREAD,), [3, 2, 1], id="spread takes a new card every time"),
        pytest.param((MUTEX,), [3, 2, 1], id="mutex takes unused cards"),
        pytest.param((), [3, 2, 1], id="nothing said: the cluster's default, spread"),
    ],
)
def test_three_pods_one_after_another(order: tuple[CardOrder, ...], given_cards: list[int]) -> None:
    ledger = ledger_of(metax_node("n", 4))
    placed = [run(ledger, request(f"p{each}", SMALL, card_order=order)) for each in range(3)]
    assert [index for allocation in placed for index in indexes(allocation)] == given_cards


def test_the_clusters_default_order_serves_pods_that_say_nothing() -> None:
    ledger = ledger_of(metax_node("n", 4))
    packed = Defaults(card_order=(BINPACK,))
    assert [indexes(run(ledger, request(f"p{each}", SMALL), packed)) for each in range(2)] == [[3], [3]]


@pytest.mark.parametrize(
    ("weights", "fullest"),
    [
        pytest.param(CardWeights(LARGEST, 1, 1), 2, id="slots"),
        pytest.param(CardWeights(1, LARGEST, 1), 1, id="compute"),
        pytest.param(CardWeights(1, 1, LARGEST), 0, id="memory"),
    ],
)
def test_the_largest_legal_weight_outweighs_everything_else(weights: CardWeights, fullest: int) -> None:
    node = metax_node("n", 3)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("memory", node, Part(0, from_gib(59), 0)))
    ledger.put_tenant(tenant("compute", node, Part(1, from_gib(1), 85)))
    for at in range(5):
        ledger.put_tenant(tenant(f"slot{at}", node, Part(2, from_gib(1), 1)))
    asked = msgspec.structs.replace(request("p", SMALL, card_order=(BINPACK,)), weights=weights)
    assert indexes(filter_nodes(ledger, asked, DEFAULTS).allocation) == [fullest]


def test_several_linked_cards_are_given_to_those_who_ask_for_links() -> None:
    ledger = ledger_of(metax_node("n", 8))
    # Card 7's group has one card too full to serve, so only the other group has four linked ones.
    ledger.put_tenant(tenant("t", metax_node("n", 8), Part(5, from_gib(64), 10)))
    four = slice_ask(4, memory=from_gib(4), cores=10)
    linked = filter_nodes(ledger, request("p", four, card_order=(TOPOLOGY,)), DEFAULTS)
    plain = filter_nodes(ledger, request("p", four), DEFAULTS)
    assert indexes(linked.allocation) == [3, 2, 1, 0]
    assert indexes(plain.allocation) == [7, 6, 4, 3]
