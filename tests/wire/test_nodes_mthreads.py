import pytest

from tangram.model.cards import CardMode
from tangram.units.memory import SGPU_MEMORY_UNIT, from_gib
from tangram.wire.koordinator.device import read_device
from tangram.wire.nodes import read_node
from wire.manifests import GIB, Json, device, device_entry, node

CORE, MEMORY, WHOLE = "mthreads.com/sgpu-core", "mthreads.com/sgpu-memory", "mthreads.com/gpu"


def pool(cards: int, units: int = 96) -> Json:
    return {CORE: str(cards * 16), MEMORY: str(cards * units)}


def test_sliced_cards_take_their_shape_from_the_node() -> None:
    cards = read_node(node("n1", capacity=pool(2, units=160))).node.cards
    assert [card.uuid for card in cards] == ["n1-mthreads-0", "n1-mthreads-1"]
    assert {(card.cores, card.slots, card.memory, card.mode) for card in cards} == {
        (16, 16, from_gib(80), CardMode.SLICED)
    }


@pytest.mark.parametrize(
    ("units", "tiers"), [(96, [2, 4, 8, 16, 32, 64, 96]), (160, [2, 4, 8, 16, 32, 64, 128, 160])]
)
def test_slice_sizes_follow_the_cards_own_memory(units: int, tiers: list[int]) -> None:
    (card,) = read_node(node(capacity=pool(1, units))).node.cards
    assert [size // SGPU_MEMORY_UNIT for size in card.memory_tiers] == tiers


def test_the_label_gives_the_physical_numbers() -> None:
    cards = read_node(node("n1", capacity=pool(3), labels={"mthreads.com/sgpu.cores": "0-2-3"})).node.cards
    assert [card.index for card in cards] == [0, 2, 3]
    assert cards[1].uuid == "n1-mthreads-2"


@pytest.mark.parametrize("label", ["0-2", "0-1-2-3", "0-1-x", "0-0-1", "", "0-1--1-2-3"])
def test_a_label_that_disagrees_with_the_pool_leaves_no_card_to_get_wrong(label: str) -> None:
    reading = read_node(node(capacity=pool(3), labels={"mthreads.com/sgpu.cores": label}))
    assert reading.node.cards == ()
    assert [problem.code for problem in reading.problems] == ["cards-disagree"]


def test_whole_cards_take_the_numbers_the_sliced_ones_leave() -> None:
    labels = {"mthreads.com/sgpu.cores": "1", "mthreads.com/gpu0.memory": str(48 * GIB)}
    cards = read_node(node(capacity={**pool(1), WHOLE: "2"}, labels=labels)).node.cards
    assert [(card.index, card.mode, card.slots) for card in cards] == [
        (0, CardMode.WHOLE, 1),
        (1, CardMode.SLICED, 16),
        (2, CardMode.WHOLE, 1),
    ]
    assert cards[0].memory == from_gib(48)
    assert cards[0].memory_tiers == ()


def test_a_card_nobody_gives_a_size_for_is_a_problem() -> None:
    reading = read_node(node(capacity={WHOLE: "1"}))
    assert reading.node.cards[0].memory == 0
    assert [problem.code for problem in reading.problems] == ["card-memory-unknown"]


def test_more_cards_in_both_pools_than_on_the_node_are_not_sold_twice() -> None:
    labels = {"mthreads.com/gpu.count": "2"}
    reading = read_node(node(capacity={**pool(2), WHOLE: "2"}, labels=labels))
    assert [card.mode for card in reading.node.cards] == [CardMode.SLICED, CardMode.SLICED]
    assert [problem.code for problem in reading.problems] == ["cards-announced-twice"]


def test_memory_labels_refine_an_uneven_pool_only_if_they_add_up_to_it() -> None:
    labels = {"mthreads.com/gpu0.memory": str(48 * GIB), "mthreads.com/gpu1.memory": str(80 * GIB)}
    capacity = {CORE: "32", MEMORY: str(96 + 160)}
    assert [card.memory for card in read_node(node(capacity=capacity, labels=labels)).node.cards] == [
        from_gib(48),
        from_gib(80),
    ]
    labels["mthreads.com/gpu1.memory"] = str(64 * GIB)
    assert {card.memory for card in read_node(node(capacity=capacity, labels=labels)).node.cards} == {
        from_gib(64)
    }


def test_fewer_allocatable_than_announced_means_failed_cards() -> None:
    reading = read_node(node(capacity=pool(3), allocatable={CORE: "32", MEMORY: "192"}))
    assert [card.healthy for card in reading.node.cards] == [True, True, False]
    assert {card.memory for card in reading.node.cards} == {from_gib(48)}
    assert [problem.code for problem in reading.problems] == ["cards-failed"]


@pytest.mark.parametrize("capacity", [None, {}, {CORE: "0", MEMORY: "0"}, {MEMORY: "96"}])
def test_a_pool_that_is_gone_has_no_cards(capacity: object) -> None:
    assert read_node(node(capacity=capacity)).node.cards == ()


def test_a_flood_of_cores_is_a_problem() -> None:
    reading = read_node(node(capacity={CORE: "16000", MEMORY: "96"}))
    assert reading.node.cards == ()
    assert reading.problems[0].code == "node-quantity"


def test_a_device_gives_counted_cards_their_real_ids_by_number() -> None:
    devices = read_device(device(device_entry(0), device_entry(1, health=False), vendor="mthreads"))[0]
    cards = read_node(node("n1", capacity=pool(2)), devices).node.cards
    assert [(card.uuid, card.healthy, card.memory) for card in cards] == [
        ("GPU-0", True, from_gib(48)),
        ("GPU-1", False, from_gib(48)),
    ]
    assert cards[0].memory_tiers[-1] == from_gib(48)


@pytest.mark.parametrize(
    ("announced", "usable", "healthy"),
    [
        pytest.param(20, 20, [True, True], id="nothing is missing of a pool that is no multiple of a card"),
        pytest.param(17, 17, [True, True], id="nor of one that is a unit above"),
        pytest.param(32, 32, [True, True], id="nor of one that is"),
        pytest.param(20, 16, [True, False], id="part of a card is missing"),
        pytest.param(32, 31, [True, False], id="a unit is missing"),
        pytest.param(32, 16, [True, False], id="a card is missing"),
        pytest.param(20, 0, [False, False], id="all is missing"),
    ],
)
def test_a_card_is_unhealthy_only_if_part_of_the_pool_is_not_allocatable(
    announced: int, usable: int, healthy: list[bool]
) -> None:
    # HAMi counts a begun card as one, and every card as healthy.
    capacity = {CORE: str(announced), MEMORY: "192"}
    reading = read_node(node(capacity=capacity, allocatable={**capacity, CORE: str(usable)}))
    assert [card.healthy for card in reading.node.cards] == healthy
    assert [problem.code for problem in reading.problems] == ["cards-failed"] * (not all(healthy))


def test_ids_that_hami_makes_up_mean_the_cards_of_their_numbers_when_a_device_tells_the_real_ones() -> None:
    capacity, labels = pool(2), {"mthreads.com/sgpu.cores": "0-2"}
    told = device(device_entry(0, id="MT-real-a"), device_entry(2, id="MT-real-b"), vendor="mthreads")
    plain = read_node(node("n1", capacity=capacity, labels=labels)).node
    assert plain.stand_ins == {}
    assert [card.counted for card in plain.cards] == [True, True]
    cordon = {"hami.io/device-cordon": "n1-mthreads-2"}
    described = read_node(
        node("n1", capacity=capacity, labels=labels, annotations=cordon), read_device(told)[0]
    )
    assert described.node.stand_ins == {"n1-mthreads-0": "MT-real-a", "n1-mthreads-2": "MT-real-b"}
    assert [(card.cordoned, card.counted) for card in described.node.cards] == [(False, False), (True, False)]
    assert described.problems == ()
