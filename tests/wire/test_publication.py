"""Everything a node says about its cards, byte for byte as the references show it, and nothing left over."""

import json
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders.clusters import S4000_MEMORY, TWO_GROUPS_OF_FOUR, card, grouped
from tangram.engine.usage import Hold
from tangram.model.cards import Card, CardMode, QosPolicy, Vendor
from tangram.model.topology import Link, LinkKind, PcieLevel, Topology
from tangram.units.ids import CardUuid
from tangram.wire.errors import WireError
from tangram.wire.inventory import INVENTORY
from tangram.wire.limits import MOST_ANNOTATION_BYTES
from tangram.wire.metax_listing import NODE_DEVICES
from tangram.wire.metax_topology import LOSSES, SCORES, ZONES
from tangram.wire.nodes import read_node
from tangram.wire.publication import Publication, publication
from wire.manifests import node

WHOLE = tuple(card("n", index, mode=CardMode.WHOLE) for index in range(8))
ALL_OF_IT = Hold(64 * 2**30, 100, 1)
FIRST_TWO_HELD = {WHOLE[0].uuid: ALL_OF_IT, WHOLE[1].uuid: ALL_OF_IT}
METAX_KEYS = (NODE_DEVICES, SCORES, LOSSES, ZONES)


def moore(index: int, mode: CardMode = CardMode.SLICED) -> Card:
    return card("m", index, vendor=Vendor.MTHREADS, mode=mode, memory=S4000_MEMORY)


def zone(number: int, capacity: int, allocatable: int, available: int) -> str:
    return (
        f'{{"name":"gpu-group-{number}","type":"DirectLink",'
        '"attributes":[{"name":"topologyLinkWeight","value":"60"}],'
        f'"resources":[{{"name":"metax-tech.com/gpu","capacity":"{capacity}",'
        f'"allocatable":"{allocatable}","available":"{available}"}}]}}'
    )


def zones(*each: str) -> str:
    return f'{{"zones":[{",".join(each)}]}}'


def as_metadata(made: Publication) -> tuple[dict[str, str], dict[str, str]]:
    """What the node carries once the merge patch was applied to nothing."""
    annotations = {key: value for key, value in made.annotations.items() if value is not None}
    return annotations, {key: value for key, value in made.labels.items() if value is not None}


def test_figures_and_zones_of_the_node_seen_in_the_field_come_out_to_the_byte() -> None:
    made = publication(WHOLE, TWO_GROUPS_OF_FOUR, FIRST_TWO_HELD).annotations
    assert made[SCORES] == '{"1":0,"2":110,"3":330,"4":660,"5":700,"6":850}'
    assert made[LOSSES] == '{"1":150,"2":80,"3":390,"4":80,"5":150,"6":0}'
    assert made[ZONES] == zones(zone(0, 4, 4, 2), zone(1, 4, 4, 4))


def test_the_published_scores_of_switch_pairs_come_out_to_the_byte() -> None:
    paired = grouped(8, [(0, 1, 2, 3), (4, 5, 6, 7)], near=[(0, 1), (2, 3), (4, 5), (6, 7)])
    made = publication(WHOLE, paired, {}).annotations
    assert made[SCORES] == '{"1":0,"2":110,"3":270,"4":540,"5":580,"6":730,"7":930,"8":1240}'


def test_the_listing_is_the_vendors_to_the_byte() -> None:
    """A card that is all taken has nothing available, and what is zero is left out, as in the reference."""
    cards = [
        replace(
            card("n", index),
            uuid=CardUuid(uuid),
            bdf=bdf,
            announced_qos=QosPolicy.BEST_EFFORT,
        )
        for index, (uuid, bdf) in enumerate((("GPU-aaaa", "0000:0a:00.0"), ("GPU-bbbb", "0000:0b:00.0")))
    ]
    held = {cards[0].uuid: Hold(64 * 2**30, 100, 16), cards[1].uuid: Hold(2**30, 40, 1)}
    assert publication(cards, grouped(2, [(0, 1)]), held).annotations[NODE_DEVICES] == (
        '[{"uuid":"GPU-aaaa","bdf":"0000:0a:00.0","model":"sgpu","totalDevCount":16,"totalCompute":100,'
        '"totalVRam":65536,"numa":0,"healthy":true,"qosPolicy":"best-effort","linkZone":1},'
        '{"uuid":"GPU-bbbb","bdf":"0000:0b:00.0","model":"sgpu","totalDevCount":16,"totalCompute":100,'
        '"totalVRam":65536,"availableDevCount":15,"availableCompute":60,"availableVRam":64512,'
        '"numa":0,"healthy":true,"qosPolicy":"best-effort","linkZone":1}]'
    )


def test_cards_that_are_ill_cordoned_or_sliced_have_no_part_in_figures() -> None:
    cards = list(WHOLE)
    cards[0] = replace(cards[0], healthy=False)
    cards[1] = replace(cards[1], cordoned=True)
    cards[4:] = [card("n", index) for index in range(4, 8)]
    made = publication(cards, TWO_GROUPS_OF_FOUR, {}).annotations
    assert made[SCORES] == '{"1":0,"2":110}'
    assert made[LOSSES] == '{"1":110,"2":0}'
    assert made[ZONES] == zones(zone(0, 4, 2, 2)), "the second group has no whole card"


def test_a_zone_keeps_its_name_when_the_one_before_it_is_sliced() -> None:
    cards = [*(card("n", index) for index in range(4)), *WHOLE[4:]]
    assert publication(cards, TWO_GROUPS_OF_FOUR, {}).annotations[ZONES] == zones(zone(1, 4, 4, 4))


def test_cards_that_are_all_taken_have_figures_for_no_number_of_cards() -> None:
    held = {each.uuid: ALL_OF_IT for each in WHOLE}
    made = publication(WHOLE, TWO_GROUPS_OF_FOUR, held).annotations
    assert (made[SCORES], made[LOSSES]) == ("{}", "{}")


@pytest.mark.parametrize(
    ("cards", "topology"),
    [
        pytest.param([card("n", index) for index in range(8)], TWO_GROUPS_OF_FOUR, id="no-whole-card"),
        pytest.param(WHOLE, None, id="links-unknown"),
        pytest.param(
            [card("n", index, mode=CardMode.WHOLE) for index in range(17)],
            Topology(17),
            id="more-than-can-be-weighed",
        ),
    ],
)
def test_where_nothing_can_be_said_nothing_stays_published(
    cards: list[Card], topology: Topology | None
) -> None:
    made = publication(cards, topology, {}).annotations
    assert (made[SCORES], made[LOSSES], made[ZONES]) == (None, None, None)
    sliced = any(each.mode is CardMode.SLICED for each in cards)
    assert (made[NODE_DEVICES] is not None) is sliced


@pytest.mark.parametrize("mode", [CardMode.WHOLE, CardMode.VIRTUAL, CardMode.SHARED])
def test_the_vendors_list_has_no_card_that_is_not_sliced(mode: CardMode) -> None:
    """HAMi sells slices of whatever is listed; a kubelet that offers no slices starts the pod without a card."""
    cards = [card("n", 0, mode=mode), card("n", 1), card("n", 2, mode=mode)]
    listed = publication(cards, grouped(3, [(0, 1, 2)]), {}).annotations[NODE_DEVICES]
    assert [each["uuid"] for each in json.loads(listed or "[]")] == [cards[1].uuid]
    assert publication([cards[0], cards[2]], None, {}).annotations[NODE_DEVICES] is None


def test_an_agent_that_leaves_calls_its_cards_unhealthy_for_peers_and_for_us_as_they_are() -> None:
    cards = [card("n", 0), card("n", 1)]
    made = publication(cards, None, {}, leaving=True).annotations
    assert ["healthy" in each for each in json.loads(made[NODE_DEVICES] or "[]")] == [False, False]
    assert made[INVENTORY] == publication(cards, None, {}).annotations[INVENTORY]


def test_a_moore_threads_node_has_its_labels_and_nothing_of_metax() -> None:
    cards = (moore(0), moore(1, CardMode.WHOLE), moore(2), moore(3))
    made = publication(cards, None, {}, annotations=dict.fromkeys(METAX_KEYS, "{}"))
    assert made.labels == {
        "mthreads.com/gpu.count": "4",
        "mthreads.com/sgpu.cores": "0-2-3",
        **{f"mthreads.com/gpu{index}.memory": "51539607552" for index in range(4)},
    }
    assert [made.annotations[key] for key in METAX_KEYS] == [None] * 4


def test_labels_of_cards_that_are_gone_go_and_those_of_others_stay() -> None:
    present = {
        "mthreads.com/gpu.count": "2",
        "mthreads.com/sgpu.cores": "0-1",
        "mthreads.com/gpu0.memory": "51539607552",
        "mthreads.com/gpu1.memory": "51539607552",
        "mthreads.com/gpu-node": "true",
        "mthreads.com/gpux.memory": "1",
        "kubernetes.io/hostname": "n",
    }
    assert publication([moore(0, CardMode.WHOLE)], None, {}, labels=present).labels == {
        "mthreads.com/gpu.count": "1",
        "mthreads.com/sgpu.cores": None,
        "mthreads.com/gpu0.memory": "51539607552",
        "mthreads.com/gpu1.memory": None,
    }
    assert publication([], None, {}, labels=present).labels == {}
    before = publication([moore(0, CardMode.WHOLE)], None, {}).annotations
    announced = {key: value for key, value in before.items() if value is not None}
    assert publication([], None, {}, annotations=announced, labels=present).labels == {
        "mthreads.com/gpu.count": None,
        "mthreads.com/sgpu.cores": None,
        "mthreads.com/gpu0.memory": None,
        "mthreads.com/gpu1.memory": None,
    }


def test_a_card_of_unknown_memory_has_no_memory_label() -> None:
    unknown = replace(moore(0), memory=0, memory_tiers=())
    assert "mthreads.com/gpu0.memory" not in publication([unknown], None, {}).labels


def test_nothing_is_written_where_everything_is_already_there() -> None:
    made = publication((*WHOLE, moore(0)), None, {})
    annotations, labels = as_metadata(made)
    others = {"somebody.example/else": "x"}
    assert not made.differing_from({**annotations, **others}, {**labels, **others})
    missing = made.differing_from(
        {**annotations, SCORES: '{"1":0}'}, {**labels, "mthreads.com/gpu.count": "7"}
    )
    assert missing == Publication({SCORES: None}, {"mthreads.com/gpu.count": "1"})


def test_annotations_of_others_leave_less_room() -> None:
    other = {"somebody.example/else": "x" * (MOST_ANNOTATION_BYTES - 500)}
    with pytest.raises(WireError, match="remove annotations of others") as refused:
        publication(WHOLE, TWO_GROUPS_OF_FOUR, {}, annotations=other)
    assert refused.value.code == "annotations-too-large"
    old = {INVENTORY: "x" * (MOST_ANNOTATION_BYTES - 500)}
    assert publication(WHOLE, TWO_GROUPS_OF_FOUR, {}, annotations=old), "what is replaced takes no room"


def test_the_largest_node_fits_into_what_the_api_server_takes() -> None:
    cards = [
        replace(
            card("a-node-with-a-long-name", index, mode=CardMode.WHOLE), health_reason="r" * 60, healthy=False
        )
        for index in range(128)
    ]
    links = tuple(
        Link(a, b, LinkKind.METAXLINK, PcieLevel.SYSTEM, lanes=2) for a, b in combinations(range(128), 2)
    )
    annotations, _ = as_metadata(publication(cards, Topology(128, links), {}))
    assert sum(len(key) + len(value) for key, value in annotations.items()) < MOST_ANNOTATION_BYTES


@st.composite
def nodes(draw: st.DrawFn) -> tuple[tuple[Card, ...], Topology | None]:
    cards: list[Card] = []
    for index in range(draw(st.integers(0, 6))):
        mode = draw(st.sampled_from([CardMode.WHOLE, CardMode.SLICED, CardMode.VIRTUAL, CardMode.SHARED]))
        cards.append(card("n", index, mode=mode, numa=draw(st.integers(-1, 1)), healthy=draw(st.booleans())))
    cards.extend(
        moore(index, draw(st.sampled_from([CardMode.WHOLE, CardMode.SLICED])))
        for index in range(draw(st.integers(0, 3)))
    )
    pairs = [
        Link(
            a, b, draw(st.sampled_from([LinkKind.METAXLINK, LinkKind.NONE])), draw(st.sampled_from(PcieLevel))
        )
        for a, b in combinations(range(len(cards)), 2)
    ]
    topology = draw(st.sampled_from([None, Topology(len(cards), tuple(pairs))]))
    return tuple(cards), topology


@given(nodes(), st.data())
def test_a_scheduler_reads_back_the_cards_that_were_published(
    given_node: tuple[tuple[Card, ...], Topology | None], data: st.DataObject
) -> None:
    cards, topology = given_node
    held = {each.uuid: ALL_OF_IT for each in cards if data.draw(st.booleans())}
    made = publication(cards, topology, held)
    annotations, labels = as_metadata(made)
    read = read_node(node(annotations=annotations, labels=labels))
    assert read.problems == ()
    assert (read.node.cards, read.node.topology, read.node.managed) == (cards, topology, True)
    free = sum(
        each.vendor is Vendor.METAX and each.mode is CardMode.WHOLE and each.healthy and each.uuid not in held
        for each in cards
    )
    if read.node.published is not None:
        assert [count for count, _ in read.node.published.scores] == list(range(1, free + 1))
        assert read.node.published.losses[-1] == (free, 0)
    assert not made.differing_from(annotations, labels)
