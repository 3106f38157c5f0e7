import pytest
from msgspec.structs import replace

from tangram.model.cards import Card, CardMode, QosPolicy, Vendor
from tangram.model.topology import Link, LinkKind, PcieLevel
from tangram.units.ids import CardUuid
from tangram.units.memory import from_gib, from_mib
from tangram.wire.inventory import INVENTORY, Inventory, encode_inventory
from tangram.wire.koordinator.device import Device, read_device
from tangram.wire.koordinator.names import LABEL_MODEL
from tangram.wire.nodes import NodeReading, read_node
from wire.manifests import Json, device, device_entry, listed_card, listing, node

LISTING = "metax-tech.com/node-gpu-devices"
WHOLE = "metax-tech.com/gpu"


def listed_node(*cards: Json, capacity: object = None, allocatable: object = None) -> NodeReading:
    annotations = {LISTING: listing(*cards)}
    return read_node(node(capacity=capacity, allocatable=allocatable, annotations=annotations))


def read_devices(*entries: Json, annotations: object = None) -> Device:
    return read_device(device(*entries, annotations=annotations))[0]


def modes(reading: NodeReading) -> list[CardMode]:
    return [card.mode for card in reading.node.cards]


def test_a_listed_card_is_read_with_everything_it_says() -> None:
    (card,) = listed_node(listed_card(0, qosPolicy="fixed-share", model="MXC500")).node.cards
    assert card == Card(
        uuid=card.uuid,
        index=0,
        vendor=card.vendor,
        memory=from_gib(63),
        product="MXC500",
        cores=100,
        slots=16,
        mode=CardMode.SLICED,
        numa=0,
        healthy=True,
        announced_qos=QosPolicy.FIXED_SHARE,
        bdf="0000:0a:00.0",
    )
    assert card.uuid == "GPU-0"


def test_a_card_that_does_not_call_itself_healthy_is_not() -> None:
    card = listed_card(0)
    del card["healthy"]
    (read,) = listed_node(card).node.cards
    assert not read.healthy
    assert read.health_reason


def test_what_is_left_out_is_zero_and_an_unknown_numa_node_stays_unknown() -> None:
    bare, elsewhere = listed_node({"uuid": "GPU-0"}, listed_card(1, numa=-1)).node.cards
    assert (bare.memory, bare.cores, bare.slots, bare.numa) == (0, 0, 0, 0)
    assert elsewhere.numa == -1


def test_numbers_written_as_text_are_numbers() -> None:
    (card,) = listed_node(listed_card(0, totalVRam="65536", totalCompute=100.0, healthy="true")).node.cards
    assert (card.memory, card.cores, card.healthy) == (from_gib(64), 100, True)


def test_cards_of_one_zone_are_linked_and_nothing_is_known_of_pcie() -> None:
    cards = [listed_card(0), listed_card(1), listed_card(2, linkZone=2), listed_card(3, linkZone=0)]
    topology = listed_node(*cards).node.topology
    assert topology is not None
    assert topology.size == 4
    assert topology.links == (Link(0, 1, LinkKind.METAXLINK, PcieLevel.UNKNOWN),)


def test_without_any_zone_the_links_are_unknown_not_absent() -> None:
    assert listed_node(listed_card(0, linkZone=0), listed_card(1, linkZone=0)).node.topology is None


def test_a_left_out_entry_still_takes_up_its_number() -> None:
    reading = listed_node({"bdf": "0000:0a:00.0"}, listed_card(1), listed_card(1), listed_card(3))
    assert [card.index for card in reading.node.cards] == [1, 3]
    assert [problem.code for problem in reading.problems] == ["listing-entry", "listing-entry"]


@pytest.mark.parametrize("text", ["", "  ", "[]"])
def test_an_empty_listing_is_no_cards(text: str) -> None:
    reading = read_node(node(annotations={LISTING: text}))
    assert (reading.node.cards, reading.problems) == ((), ())


@pytest.mark.parametrize("text", ["{", "{}", "null", '"x"', "[" * 50_000, "\ud800"])
def test_an_unreadable_listing_is_a_problem_and_the_node_comes_back(text: str) -> None:
    reading = read_node(node(annotations={LISTING: text}, labels={"zone": "a"}))
    assert reading.node.cards == ()
    assert reading.node.labels == {"zone": "a"}
    assert len(reading.problems) == 1


def test_impossible_numbers_leave_the_card_out() -> None:
    reading = listed_node(listed_card(0, totalVRam=2**30), listed_card(1))
    assert [card.uuid for card in reading.node.cards] == ["GPU-1"]
    assert len(reading.problems) == 1


# --- counted cards ------------------------------------------------------------------------------------------------


def test_counted_cards_get_stand_in_ids_and_allocatable_says_how_many_work() -> None:
    cards = read_node(node("n1", capacity={WHOLE: "4"}, allocatable={WHOLE: "3"})).node.cards
    assert [card.uuid for card in cards] == [f"n1-metax-{index}" for index in range(4)]
    assert [card.healthy for card in cards] == [True, True, True, False]
    assert {(card.mode, card.slots, card.cores, card.memory, card.numa) for card in cards} == {
        (CardMode.WHOLE, 1, 100, from_gib(64), -1)
    }


@pytest.mark.parametrize(
    ("capacity", "allocatable", "working"),
    [
        ("4", None, 4),
        ("4", {"cpu": "1"}, 0),
        ("4", {WHOLE: "0"}, 0),
        ("4", {WHOLE: "5"}, 5),
        (4, {WHOLE: 2}, 2),
    ],
)
def test_allocatable_counts_unless_nobody_wrote_it_at_all(
    capacity: object, allocatable: object, working: int
) -> None:
    cards = read_node(node(capacity={WHOLE: capacity}, allocatable=allocatable)).node.cards
    assert sum(card.healthy for card in cards) == working


@pytest.mark.parametrize(
    ("label", "memory"),
    [("64GB", from_gib(64)), ("32GB", from_gib(32)), ("80 GiB", from_gib(80)), ("73728MiB", from_mib(73728))],
)
def test_the_memory_label_beats_the_usual_size(label: str, memory: int) -> None:
    (card,) = read_node(node(capacity={WHOLE: "1"}, labels={"metax-tech.com/gpu.memory": label})).node.cards
    assert card.memory == memory


def test_an_unreadable_memory_label_is_a_problem_and_the_usual_size_stands() -> None:
    reading = read_node(node(capacity={WHOLE: "1"}, labels={"metax-tech.com/gpu.memory": "lots"}))
    assert reading.node.cards[0].memory == from_gib(64)
    assert [problem.code for problem in reading.problems] == ["node-label"]


def test_a_virtual_function_has_its_part_of_the_cards_memory() -> None:
    cards = read_node(node(capacity={WHOLE: "8"}, labels={"metax-tech.com/gpu.vfnum": "4"})).node.cards
    assert len(cards) == 8
    assert {card.memory for card in cards} == {from_gib(16)}


@pytest.mark.parametrize("count", ["-1", "1.5", "many", "1e99", "4000000000", [1], "129"])
def test_a_count_that_cannot_be_is_a_problem_and_never_a_flood_of_cards(count: object) -> None:
    reading = read_node(node(capacity={WHOLE: count}))
    assert reading.node.cards == ()
    assert reading.problems[0].code == "node-quantity"


# --- both at once -------------------------------------------------------------------------------------------------


def test_cards_marked_native_are_the_whole_ones() -> None:
    reading = listed_node(
        listed_card(0, model="native"),
        listed_card(1, model="sgpu"),
        capacity={WHOLE: "1", "metax-tech.com/sgpu": "16"},
    )
    assert modes(reading) == [CardMode.WHOLE, CardMode.SLICED]
    assert [card.slots for card in reading.node.cards] == [1, 16]
    assert reading.problems == ()


@pytest.mark.parametrize(
    ("announced", "expected"),
    [
        pytest.param({"metax-tech.com/sgpu": "32"}, [CardMode.SLICED] * 2, id="slices alone"),
        pytest.param({}, [CardMode.SLICED] * 2, id="neither"),
        pytest.param({WHOLE: "2"}, [CardMode.WHOLE] * 2, id="whole cards alone"),
        pytest.param(
            {WHOLE: "1", "metax-tech.com/sgpu": "16"},
            [CardMode.UNDECIDED, CardMode.SLICED],
            id="fewer whole cards than are marked",
        ),
        pytest.param({WHOLE: "2", "metax-tech.com/sgpu": "16"}, [CardMode.WHOLE] * 2, id="as many"),
    ],
)
def test_the_mark_native_counts_only_where_the_node_announces_as_many_whole_cards(
    announced: Json, expected: list[CardMode]
) -> None:
    """HAMi does not read the mark, so on a node that announces slices alone such cards are sold in slices."""
    cards = [listed_card(0, model="native"), listed_card(1, model="native")]
    reading = listed_node(*cards, capacity=announced)
    assert modes(reading) == expected
    assert [card.slots for card in reading.node.cards] == [
        1 if mode is CardMode.WHOLE else 16 for mode in expected
    ]
    assert [card.product for card in reading.node.cards] == ["", ""], "the mark is no product"


def test_without_a_mark_the_count_maps_onto_the_listed_cards_so_that_none_is_sold_twice() -> None:
    reading = listed_node(listed_card(0), listed_card(1), listed_card(2), capacity={WHOLE: "2"})
    assert modes(reading) == [CardMode.UNDECIDED, CardMode.UNDECIDED, CardMode.SLICED]
    assert len({card.uuid for card in reading.node.cards}) == 3


def test_more_counted_than_listed_makes_no_cards_up() -> None:
    reading = listed_node(listed_card(0), capacity={WHOLE: "4"})
    assert modes(reading) == [CardMode.UNDECIDED]
    assert [problem.code for problem in reading.problems] == ["cards-announced-twice"]


def test_a_pool_without_a_usable_card_offers_nothing_whole() -> None:
    assert modes(listed_node(listed_card(0), capacity={WHOLE: "4"}, allocatable={WHOLE: "0"})) == [
        CardMode.SLICED
    ]


# --- Koordinator's Device -----------------------------------------------------------------------------------------


def test_a_card_in_listing_and_device_is_one_card_and_healthy_only_if_both_say_so() -> None:
    manifest = node(annotations={LISTING: listing(listed_card(0, numa=-1), listed_card(1))})
    devices = read_devices(
        device_entry(0, topology={"socketID": -1, "nodeID": 1, "pcieID": "pci0000:0a"}),
        device_entry(
            1, health=False, conditions=[{"type": "Healthy", "status": "False", "message": "too hot"}]
        ),
        device_entry(2),
    )
    cards = read_node(manifest, devices).node.cards
    assert [card.uuid for card in cards] == ["GPU-0", "GPU-1", "GPU-2"]
    assert [card.healthy for card in cards] == [True, False, True]
    assert cards[0].numa == 1
    assert cards[1].health_reason == "too hot"
    assert cards[2].memory == from_gib(63)


def test_a_device_makes_counted_cards_real_ones() -> None:
    manifest = node(capacity={WHOLE: "2"})
    reading = read_node(manifest, read_devices(device_entry(0), device_entry(1)))
    assert [card.uuid for card in reading.node.cards] == ["GPU-0", "GPU-1"]
    assert modes(reading) == [CardMode.WHOLE, CardMode.WHOLE]


def test_a_device_alone_offers_slices() -> None:
    assert modes(read_node(node(), read_devices(device_entry(0)))) == [CardMode.SLICED]


def test_a_device_says_who_shares_a_pcie_root_and_its_partitions_who_is_linked() -> None:
    places = [
        {"socketID": -1, "nodeID": numa, "pcieID": root}
        for numa, root in ((0, "a"), (0, "a"), (0, "b"), (1, "c"))
    ]
    entries = [device_entry(at, topology=place) for at, place in enumerate(places)]
    table = '{"2":[{"minors":[0,3],"gpuLinkType":"MetaXLink","allocationScore":1}]}'
    annotations = {"scheduling.koordinator.sh/gpu-partitions": table}
    topology = read_node(node(), read_devices(*entries, annotations=annotations)).node.topology
    assert topology is not None
    found = {(link.a, link.b): (link.kind, link.pcie) for link in topology.links}
    assert found[0, 1] == (LinkKind.NONE, PcieLevel.HOST_BRIDGE)
    assert found[0, 2] == (LinkKind.NONE, PcieLevel.NUMA_NODE)
    assert found[0, 3] == (LinkKind.METAXLINK, PcieLevel.SYSTEM)


def test_a_device_of_another_vendor_adds_no_cards() -> None:
    read = read_device(device(device_entry(0), vendor="nvidia"))[0]
    reading = read_node(node(), read)
    assert reading.node.cards == ()
    assert [problem.code for problem in reading.problems] == ["device-vendor"]


def test_an_empty_device_says_nothing() -> None:
    reading = read_node(node(capacity={WHOLE: "1"}), read_device({"metadata": {"name": "n1"}})[0])
    assert [card.uuid for card in reading.node.cards] == ["n1-metax-0"]
    assert reading.problems == ()


# --- what slices can have -----------------------------------------------------------------------------------------

LABEL = "metax-tech.com/gpu.product"


@pytest.mark.parametrize(
    ("listed", "label", "memory"),
    [
        pytest.param({"model": "MXC500"}, "", from_gib(63), id="the listing names the model"),
        pytest.param({"model": "sgpu"}, "MXC500", from_gib(63), id="the label names it"),
        pytest.param({"model": "sgpu"}, "C500", from_gib(63), id="without the brand"),
        pytest.param({"model": "sgpu"}, "", from_gib(64), id="nobody names it"),
        pytest.param({"model": "MXC550"}, "MXC500", from_gib(64), id="the listing names another"),
        pytest.param({"model": "native"}, "MXC500", from_gib(64), id="a whole card has all of it"),
        pytest.param({"model": "vgpu"}, "MXC500", from_gib(64), id="and so has one that is split"),
        pytest.param({"model": "sgpu", "totalVRam": 65000}, "MXC500", from_mib(65000), id="its own figure"),
        pytest.param({"model": "sgpu", "totalVRam": 32768}, "MXC500", from_gib(32), id="another size of it"),
    ],
)
def test_of_a_c500_slices_have_less_than_its_memory_which_no_plugin_announces(
    listed: Json, label: str, memory: int
) -> None:
    manifest = node(
        annotations={LISTING: listing(listed_card(0, **listed))},
        labels={LABEL: label} if label else {},
        capacity=None if listed.get("model") not in ("native", "vgpu") else {WHOLE: "1"},
    )
    assert [card.memory for card in read_node(manifest).node.cards] == [memory]


@pytest.mark.parametrize(
    ("label", "product"),
    [("C500", "MXC500"), ("MXC500", "MXC500"), ("c550-pl", "MXC550-PL"), ("X900", "X900"), ("", "")],
)
def test_a_label_of_either_spelling_names_one_model(label: str, product: str) -> None:
    labels = {LABEL: label} if label else {}
    counted = read_node(node(capacity={WHOLE: "1"}, labels=labels))
    listed = read_node(node(annotations={LISTING: listing(listed_card(0, model="sgpu"))}, labels=labels))
    assert [card.product for reading in (counted, listed) for card in reading.node.cards] == [product] * 2


@pytest.mark.parametrize(
    ("model", "label", "memory"),
    [
        pytest.param("C500", "", from_gib(63), id="koordlet names the model"),
        pytest.param("MetaX", "MXC500", from_gib(63), id="koord-device-daemon names none and the label does"),
        pytest.param("MetaX", "", from_gib(64), id="nobody names it"),
        pytest.param("C550", "MXC500", from_gib(64), id="koordlet names another"),
    ],
)
def test_a_device_that_our_agent_did_not_write_is_corrected_alike(
    model: str, label: str, memory: int
) -> None:
    devices = read_devices(device_entry(0))
    devices = replace(devices, labels={**devices.labels, LABEL_MODEL: model})
    reading = read_node(node(labels={LABEL: label} if label else {}), devices)
    assert [card.memory for card in reading.node.cards] == [memory]


def test_a_card_that_may_be_sliced_next_counts_as_sliced() -> None:
    reading = listed_node(
        listed_card(0, model="MXC500"), listed_card(1, model="MXC500"), capacity={WHOLE: "1"}
    )
    assert modes(reading) == [CardMode.UNDECIDED, CardMode.SLICED]
    assert {card.memory for card in reading.node.cards} == {from_gib(63)}


def test_what_our_agent_says_of_a_card_stands() -> None:
    asked = Card(uuid=CardUuid("GPU-0"), index=0, vendor=Vendor.METAX, memory=from_gib(64), product="MXC500")
    inventory = encode_inventory(Inventory((asked,)))
    manifest = node(annotations={INVENTORY: inventory, LISTING: listing(listed_card(0, model="MXC500"))})
    assert read_node(manifest, read_devices(device_entry(0))).node.cards == (asked,)
