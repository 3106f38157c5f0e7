import pytest

from tangram.model.cards import Card, CardMode, QosPolicy, Vendor
from tangram.model.topology import Link, LinkKind, PcieLevel, Topology
from tangram.units.ids import CardUuid
from tangram.units.memory import from_gib
from tangram.wire.errors import WireError
from tangram.wire.inventory import Inventory, decode_inventory, encode_inventory

PLAIN = Card(uuid=CardUuid("GPU-0"), index=0, vendor=Vendor.METAX, memory=from_gib(64))
FULL = Card(
    uuid=CardUuid("GPU-1"),
    index=1,
    vendor=Vendor.MTHREADS,
    memory=from_gib(48),
    product="MTT S4000",
    cores=16,
    slots=1,
    mode=CardMode.WHOLE,
    numa=1,
    healthy=False,
    health_reason="too hot",
    cordoned=True,
    announced_qos=QosPolicy.BURST_SHARE,
    memory_tiers=(from_gib(1), from_gib(48)),
    bdf="0000:0b:00.0",
)
LINKED = Topology(2, (Link(0, 1, LinkKind.METAXLINK, PcieLevel.SINGLE_SWITCH, 2),))


def test_what_has_its_usual_value_is_left_out() -> None:
    assert encode_inventory(Inventory((PLAIN,))) == (
        '{"v":1,"cards":[{"uuid":"GPU-0","index":0,"vendor":"metax","memory":68719476736}]}'
    )


def test_a_card_with_everything_is_written_and_read() -> None:
    inventory = Inventory((PLAIN, FULL), LINKED)
    text = encode_inventory(inventory)
    assert '"links":[[0,1,"MX",1,2]]' in text
    assert decode_inventory(text) == inventory


def test_unknown_links_and_no_links_are_different() -> None:
    assert decode_inventory(encode_inventory(Inventory((PLAIN,), None))).topology is None
    assert decode_inventory(encode_inventory(Inventory((PLAIN,), Topology(1)))).topology == Topology(1)


def test_sixteen_fully_linked_cards_stay_small() -> None:
    cards = tuple(
        Card(
            uuid=CardUuid(f"GPU-{'0' * 32}-{at}"), index=at, vendor=Vendor.METAX, memory=from_gib(64), numa=0
        )
        for at in range(16)
    )
    links = tuple(
        Link(a, b, LinkKind.METAXLINK, PcieLevel.SINGLE_SWITCH) for a in range(16) for b in range(a + 1, 16)
    )
    assert len(encode_inventory(Inventory(cards, Topology(16, links)))) < 5000


def test_members_of_a_newer_writer_are_ignored() -> None:
    text = (
        '{"v":1,"new":1,"cards":[{"uuid":"GPU-0","index":0,"vendor":"metax","memory":68719476736,"new":[]}]}'
    )
    assert decode_inventory(text) == Inventory((PLAIN,))


CARD = '{"uuid":"a","index":0,"vendor":"metax","memory":1}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"v":2,"cards":[]}',
        '{"v":true,"cards":[]}',
        '{"v":"1","cards":[]}',
        '{"v":1}',
        '{"v":1,"cards":{}}',
        f'{{"v":1,"cards":[{CARD},{CARD}]}}',
        f'{{"v":1,"cards":[{CARD}],"links":[[0,1]]}}',
        f'{{"v":1,"cards":[{CARD}],"links":[[0,0]]}}',
        f'{{"v":1,"cards":[{CARD.replace("metax", "other")}]}}',
        f'{{"v":1,"cards":[{CARD.replace(":1}", ":-1}")}]}}',
        f'{{"v":1,"cards":[{CARD.replace(":1}", ":1e30}")}]}}',
        f'{{"v":1,"cards":[{CARD.replace("0", "99999")}]}}',
        f'{{"v":1,"cards":[{CARD.replace(chr(34) + "a" + chr(34), chr(34) * 2)}]}}',
    ],
)
def test_what_cannot_be_trusted_whole_is_refused_whole(text: str) -> None:
    with pytest.raises(WireError):
        decode_inventory(text)


@pytest.mark.parametrize(
    "inventory",
    [
        Inventory((PLAIN, PLAIN)),
        Inventory((PLAIN,), Topology(2)),
        Inventory((PLAIN, FULL), Topology(2, (Link(1, 0),))),
        Inventory((Card(uuid=CardUuid("\ud800"), index=0, vendor=Vendor.METAX, memory=from_gib(1)),)),
    ],
)
def test_what_no_reader_would_accept_is_not_written(inventory: Inventory) -> None:
    with pytest.raises(WireError):
        encode_inventory(inventory)
