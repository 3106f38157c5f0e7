import pytest

from tangram.model.nodes import HostCapacity, Taint
from tangram.model.topology import PublishedTopology
from tangram.units.memory import from_gib
from tangram.wire.inventory import INVENTORY, Inventory, encode_inventory
from tangram.wire.nodes import read_node
from wire.manifests import listed_card, listing, node

LISTING = "metax-tech.com/node-gpu-devices"
CORDON = "hami.io/device-cordon"
SCORES = "metax-tech.com/gpu.topology.scores"
LOSSES = "metax-tech.com/gpu.topology.losses"

CORE, MEMORY = "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory"


def test_the_host_is_what_is_allocatable() -> None:
    read = read_node(
        node(capacity={"cpu": "64", "memory": "512Gi"}, allocatable={"cpu": "63500m", "memory": "500Gi"})
    )
    assert read.node.host == HostCapacity(63_500, from_gib(500))


def test_an_unknown_host_is_not_a_full_one() -> None:
    assert read_node(node()).node.host == HostCapacity(None, None)


@pytest.mark.parametrize("amount", ["many", "-1", "1e60", [], "9" * 600])
def test_an_unreadable_host_is_unknown_and_a_problem(amount: object) -> None:
    reading = read_node(node(allocatable={"cpu": amount}))
    assert reading.node.host.cpu_milli is None
    assert [problem.code for problem in reading.problems] == ["node-quantity"]


def test_taints_labels_and_cordons_of_the_node_are_read() -> None:
    read = read_node(
        node(
            labels={"zone": "a"},
            unschedulable=True,
            taints=[{"key": "gpu", "value": "metax", "effect": "NoExecute"}],
        )
    ).node
    assert read.taints == (Taint("gpu", "metax", "NoExecute"),)
    assert read.unschedulable
    assert read.labels == {"zone": "a"}
    assert not read.managed


def test_a_cordoned_card_is_cordoned_whoever_made_it() -> None:
    capacity = {"mthreads.com/sgpu-core": "16", "mthreads.com/sgpu-memory": "96"}
    annotations = {LISTING: listing(listed_card(0), listed_card(1)), CORDON: " GPU-1 , n1-mthreads-0,"}
    reading = read_node(node(capacity=capacity, annotations=annotations))
    assert {card.uuid: card.cordoned for card in reading.node.cards} == {
        "GPU-0": False,
        "GPU-1": True,
        "n1-mthreads-0": True,
    }
    assert reading.problems == ()


def test_a_cordon_of_a_card_that_is_not_there_is_a_problem() -> None:
    reading = read_node(node(annotations={CORDON: "GPU-9"}))
    assert [problem.code for problem in reading.problems] == ["cordon-unknown"]


def test_published_figures_are_read() -> None:
    read = read_node(node(annotations={SCORES: '{"2":110,"1":0}', LOSSES: '{"1":150}'})).node
    assert read.published == PublishedTopology(scores=((1, 0), (2, 110)), losses=((1, 150),))


@pytest.mark.parametrize("text", ["{", "[]", '{"1":"x"}', '{"a":1}', '{"0":1}', '{"1":99999999999}'])
def test_unreadable_figures_are_no_figures_and_never_a_perfect_zero(text: str) -> None:
    reading = read_node(node(annotations={LOSSES: text}))
    assert reading.node.published is None
    assert [problem.code for problem in reading.problems] in (["figures-malformed"], ["json-malformed"])


def test_our_own_inventory_beats_everything_else_and_marks_the_node_as_managed() -> None:
    cards = read_node(node("other", annotations={LISTING: listing(listed_card(7))})).node.cards
    annotations = {
        INVENTORY: encode_inventory(Inventory(cards)),
        LISTING: listing(listed_card(0)),
        CORDON: "GPU-7",
    }
    read = read_node(node(capacity={"metax-tech.com/gpu": "8"}, annotations=annotations)).node
    assert [card.uuid for card in read.cards] == ["GPU-7"]
    assert read.cards[0].cordoned
    assert read.managed


@pytest.mark.parametrize("text", ["", "{", '{"v":2,"cards":[]}', '{"v":1}'])
def test_an_unreadable_inventory_offers_nothing_until_it_can_be_read(text: str) -> None:
    """The agent serves only ids it published, so cards known from elsewhere would be sold and then refused."""
    reading = read_node(node(capacity={"metax-tech.com/gpu": "8"}, annotations={INVENTORY: text}))
    assert reading.node.cards == ()
    assert reading.node.managed
    assert len(reading.problems) == 1


def test_a_nameless_node_comes_back_with_a_problem() -> None:
    reading = read_node({})
    assert reading.node.name == ""
    assert [problem.code for problem in reading.problems] == ["node-unnamed"]


def test_both_vendors_on_one_node_keep_their_links_apart() -> None:
    capacity = {"mthreads.com/sgpu-core": "16", "mthreads.com/sgpu-memory": "96"}
    read = read_node(
        node(capacity=capacity, annotations={LISTING: listing(listed_card(0), listed_card(1))})
    ).node
    assert read.topology is not None
    assert read.topology.size == len(read.cards) == 3
    assert [(link.a, link.b) for link in read.topology.links] == [(0, 1)]


@pytest.mark.parametrize(
    ("allocatable", "capacity", "expected"),
    [
        pytest.param({"cpu": "1"}, {CORE: "100"}, (), id="only capacity, which kubelets do not look at"),
        pytest.param(
            {CORE: "200", MEMORY: "128Gi"}, None, (None, None, 200, 128 * 2**30, None), id="some of the names"
        ),
        pytest.param({CORE: "0"}, {CORE: "100"}, (None, None, 0, None, None), id="a name left at 0"),
        pytest.param(None, {CORE: "100"}, (None, None, 100, None, None), id="no allocatable at all"),
        pytest.param({CORE: "much"}, None, (None, None, None, None, None), id="nonsense"),
    ],
)
def test_koordinators_amounts_are_what_the_nodes_kubelet_finds(
    allocatable: object, capacity: object, expected: tuple[int | None, ...]
) -> None:
    assert read_node(node(allocatable=allocatable, capacity=capacity)).node.host.counted == expected
