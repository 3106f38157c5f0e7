"""The scripted koord-scheduler reads requests and chooses cards as the real one does, in its own worked examples."""

import pytest

from testbed.api import Object
from testbed.koord_choice import choose
from testbed.koord_devices import PARTITIONS, POLICY, Given, NodeCards
from testbed.koord_requests import (
    CORE,
    GPU,
    HINT,
    MEMORY,
    PARTITION_SPEC,
    RATIO,
    SHARED,
    Unschedulable,
    Wish,
    wish_of,
)
from testbed.manifests import container, pod

GIB = 1 << 30
CARD = {CORE: "100", MEMORY: "64Gi", RATIO: "100"}


def wish(limits: dict[str, str]) -> Wish | None:
    return wish_of(pod("p", container(limits=limits)))


@pytest.mark.parametrize(
    ("limits", "cards", "per_card", "shared"),
    [
        ({GPU: "50"}, 1, {CORE: 50, RATIO: 50}, True),
        ({GPU: "200"}, 2, {CORE: 100, RATIO: 100}, False),
        ({RATIO: "30"}, 1, {RATIO: 30}, True),
        ({CORE: "200", RATIO: "200"}, 2, {CORE: 100, RATIO: 100}, False),
        ({CORE: "10", MEMORY: "1Gi"}, 1, {CORE: 10, MEMORY: GIB}, True),
        ({CORE: "100", MEMORY: "64Gi"}, 1, {CORE: 100, MEMORY: 64 * GIB}, True),
        ({SHARED: "1", CORE: "10", MEMORY: "1Gi"}, 1, {CORE: 10, MEMORY: GIB}, True),
        ({SHARED: "2", CORE: "100", RATIO: "60"}, 2, {CORE: 50, RATIO: 30}, True),
        ({SHARED: "2", CORE: "200", RATIO: "200"}, 2, {CORE: 100, RATIO: 100}, False),
        # Legal, and can never fit: all of the compute is asked of one card.
        ({CORE: "200", MEMORY: "64Gi"}, 1, {CORE: 200, MEMORY: 64 * GIB}, True),
    ],
)
def test_a_legal_request_is_divided_by_the_cards_it_names(
    limits: dict[str, str], cards: int, per_card: dict[str, int], *, shared: bool
) -> None:
    found = wish(limits)
    assert found is not None
    assert (found.cards, dict(found.per_card), found.shared) == (cards, per_card, shared)


@pytest.mark.parametrize(
    "limits",
    [
        {CORE: "10"},
        {SHARED: "1"},
        {SHARED: "1", CORE: "10"},
        {MEMORY: "1Gi", RATIO: "10"},
        {GPU: "50", CORE: "50"},
        {GPU: "150"},
        {CORE: "150", RATIO: "100"},
        {SHARED: "2", CORE: "25", RATIO: "50"},
        {SHARED: "1", CORE: "200", RATIO: "100"},
    ],
)
def test_what_it_refuses_is_refused(limits: dict[str, str]) -> None:
    with pytest.raises(Unschedulable, match="invalid resource"):
        wish(limits)


def test_a_pod_without_its_words_is_none_of_its_business() -> None:
    assert wish({"metax-tech.com/sgpu": "1"}) is None


def test_containers_are_added_and_init_containers_are_not() -> None:
    two = pod("p", container(limits={RATIO: "30"}), container("b", limits={RATIO: "20"}))
    two["spec"]["initContainers"] = [container("i", limits={RATIO: "40"})]
    found = wish_of(two)
    assert found is not None
    assert found.per_card == {RATIO: 50}


# ---- cards


def card(minor: int, *, numa: int = 0, pcie: str = "a", health: bool = True) -> Object:
    return {
        "type": "gpu",
        "id": f"GPU-{minor}",
        "minor": minor,
        "health": health,
        "resources": dict(CARD),
        "topology": {"socketID": -1, "nodeID": numa, "pcieID": pcie},
    }


def device(*cards: Object, **metadata: dict[str, str]) -> Object:
    return {"metadata": {"name": "n1", **metadata}, "spec": {"devices": list(cards)}}


def eight() -> NodeCards:
    """Two cards to a PCIe root, four to a NUMA node."""
    cards = NodeCards()
    cards.describe(device(*(card(minor, numa=minor // 4, pcie=str(minor // 2)) for minor in range(8))))
    return cards


def busy(cards: NodeCards, *minors: int, percent: int = 100) -> NodeCards:
    for minor in minors:
        held = {CORE: percent, RATIO: percent, MEMORY: 64 * GIB * percent // 100}
        cards.hold(("ns", f"busy-{minor}-{len(cards.holders)}"), [Given(minor, held)])
    return cards


def whole_cards(count: int, scope: int = 0) -> Wish:
    return Wish(count, {CORE: 100, RATIO: 100}, shared=False, scope=scope)


@pytest.mark.parametrize(
    ("used", "count", "scope", "chosen"),
    [
        pytest.param([5], 1, 0, [4], id="beside the card in use"),
        pytest.param([5], 2, 0, [6, 7], id="a whole root, near the card in use"),
        pytest.param([5], 4, 2, [0, 1, 2, 3], id="four of one NUMA node"),
        pytest.param([0], 2, 0, [2, 3], id="the other root of its NUMA node"),
        pytest.param([0], 3, 0, [1, 2, 3], id="what is left of its NUMA node"),
        pytest.param([], 8, 0, list(range(8)), id="all"),
    ],
)
def test_whole_cards_are_packed_by_root_and_numa_node(
    used: list[int], count: int, scope: int, chosen: list[int]
) -> None:
    assert choose(whole_cards(count, scope), busy(eight(), *used)) == chosen


def test_a_scope_that_is_required_and_full_is_refused() -> None:
    with pytest.raises(Unschedulable, match="Insufficient Topology Scoped GPU Devices"):
        choose(whole_cards(4, scope=2), busy(eight(), 0, 5))


def test_slices_of_an_idle_root_land_on_cards_as_its_swapped_score_has_it() -> None:
    cards, landed = NodeCards(), list[int]()
    cards.describe(device(card(0), card(1)))
    part = Wish(1, {CORE: 10, MEMORY: GIB}, shared=True)
    for number in range(5):
        (minor,) = choose(part, cards)
        landed.append(minor)
        cards.hold(("ns", f"p{number}"), [cards.filled(Given(minor, part.per_card))])
    assert landed == [0, 1, 0, 0, 0]


def test_a_sick_card_has_nothing_to_give_and_keeps_what_is_used() -> None:
    cards = NodeCards()
    cards.describe(device(card(0), card(1)))
    busy(cards, 0, percent=40)
    cards.describe(device(card(0, health=False), card(1)))
    assert choose(Wish(1, {RATIO: 10}, shared=True), cards) == [1]
    cards.describe(device(card(0), card(1)))
    assert cards.free(0)[RATIO] == 60


def test_a_device_that_is_deleted_and_made_again_is_not_sold_twice() -> None:
    cards = busy(eight(), *range(8))
    cards.invalidate()
    with pytest.raises(Unschedulable):
        choose(whole_cards(1), cards)
    cards.describe(device(*(card(minor) for minor in range(8))))
    with pytest.raises(Unschedulable):
        choose(whole_cards(1), cards)


def test_a_name_the_card_lacks_is_not_compared() -> None:
    cards = NodeCards()
    bare = card(0) | {"resources": {MEMORY: "64Gi"}}
    cards.describe(device(bare))
    assert choose(Wish(1, {CORE: 10, MEMORY: GIB}, shared=True), cards) == [0]


TABLE = '{"2":[{"minors":[0,1]},{"minors":[2,3]}],"4":[{"minors":[0,1,2,3]}]}'


def test_a_group_of_the_partition_table_is_taken_before_anything_else() -> None:
    cards = NodeCards()
    cards.describe(
        device(*(card(minor, pcie=str(minor)) for minor in range(4)), annotations={PARTITIONS: TABLE})
    )
    assert choose(whole_cards(2), busy(cards, 0)) == [2, 3]


def test_without_a_group_only_a_node_or_pod_that_insists_is_refused() -> None:
    cards = NodeCards()
    four = [card(minor) for minor in range(4)]
    cards.describe(device(*four, annotations={PARTITIONS: TABLE}))
    busy(cards, 0, 2)
    assert choose(whole_cards(2), cards) == [1, 3]
    with pytest.raises(Unschedulable, match="Partitioned"):
        choose(Wish(2, {CORE: 100, RATIO: 100}, shared=False, partitioned=True), cards)
    cards.describe(device(*four, annotations={PARTITIONS: TABLE}, labels={POLICY: "Honor"}))
    with pytest.raises(Unschedulable, match="Partitioned"):
        choose(whole_cards(2), cards)


def test_hints_on_the_pod_reach_the_choice() -> None:
    hints = {HINT: '{"gpu":{"requiredTopologyScope":"NUMANode"}}', PARTITION_SPEC: "{}"}
    found = wish_of(pod("p", container(limits={GPU: "100"}), annotations=hints))
    assert found is not None
    assert (found.scope, found.partitioned) == (2, True)


def test_the_unit_of_memory_that_was_not_asked_for_is_worked_out() -> None:
    cards = NodeCards()
    cards.describe(device(card(0)))
    assert cards.filled(Given(0, {CORE: 10, MEMORY: GIB})).amounts[RATIO] == 1
    assert cards.filled(Given(0, {CORE: 10, MEMORY: GIB // 2})).amounts[RATIO] == 0
    assert cards.filled(Given(0, {CORE: 30, RATIO: 30})).amounts[MEMORY] == 30 * 64 * GIB // 100
