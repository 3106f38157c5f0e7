"""Why a card cannot serve an ask: each rule by itself, for every way a card can be offered."""

import msgspec
import numpy as np
import pytest

from builders.clusters import card, metax_node
from builders.requests import request, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, rules, tenant
from tangram.engine.fit import card_rules
from tangram.model.allocations import Tenant
from tangram.model.cards import AppClass, Card, CardMode, QosPolicy, Vendor
from tangram.model.nodes import Node
from tangram.model.requests import Ask, AskKind, CardFilter, CardOrder, Request, Vocabulary
from tangram.model.verdicts import CardRule
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import Bytes, from_gib

GIB = from_gib(1)
NODE = metax_node("n", 1)
UUID = NODE.cards[0].uuid
SOME = slice_ask(memory=GIB, cores=10)
MT_SOME = slice_ask(memory=GIB, cores=4, vendor=Vendor.MTHREADS)

SLICED = card("n", 0)
WHOLE = card("n", 0, mode=CardMode.WHOLE)
VIRTUAL = card("n", 0, mode=CardMode.VIRTUAL, slots=4)
SHARED = card("n", 0, mode=CardMode.SHARED, slots=4)
UNDECIDED = card("n", 0, mode=CardMode.UNDECIDED)
S4000 = card("n", 0, vendor=Vendor.MTHREADS, memory=from_gib(48), product="MTT S4000")


def rule(held: Card, asked: Request, holder: Tenant | None = None) -> CardRule:
    ledger = ledger_of(Node(name=NodeName("n"), cards=(held,)))
    if holder is not None:
        ledger.put_tenant(holder)
    return rules(ledger, asked)[0]


def part(gib: int, cores: int, kind: AskKind = AskKind.SLICE) -> Part:
    return Part(0, from_gib(gib), cores, kind)


def held(gib: int = 1, cores: int = 10, kind: AskKind = AskKind.SLICE, times: int = 1) -> Tenant:
    return tenant("holder", NODE, *[part(gib, cores, kind)] * times)


def only(*uuids: str, products: tuple[str, ...] = ()) -> CardFilter:
    return CardFilter(only_uuids=frozenset(map(CardUuid, uuids)), only_products=frozenset(products))


def percent(share: int, vendor: Vendor) -> Ask:
    return Ask(
        vendor=vendor,
        kind=AskKind.SLICE,
        count=1,
        memory_percent=share,
        cores=1,
        vocabulary=Vocabulary.KOORDINATOR,
    )


@pytest.mark.parametrize(
    ("expected", "card", "asked"),
    [
        pytest.param(CardRule.FITS, SLICED, request("p", SOME), id="a slice of an idle card"),
        pytest.param(CardRule.VENDOR, SLICED, request("p", MT_SOME), id="another maker's card"),
        pytest.param(CardRule.MODE, WHOLE, request("p", SOME), id="a slice of a whole card"),
        pytest.param(CardRule.MODE, VIRTUAL, request("p", SOME), id="a slice of virtual functions"),
        pytest.param(CardRule.MODE, SHARED, request("p", SOME), id="a slice of a shared card"),
        pytest.param(CardRule.FITS, UNDECIDED, request("p", SOME), id="a slice of an undecided card"),
        pytest.param(CardRule.MODE, SLICED, request("p", whole_ask()), id="a sliced card as a whole"),
        pytest.param(CardRule.FITS, WHOLE, request("p", whole_ask()), id="a whole card"),
        pytest.param(CardRule.FITS, VIRTUAL, request("p", whole_ask()), id="a virtual function"),
        pytest.param(CardRule.FITS, SHARED, request("p", whole_ask()), id="a place on a shared card"),
        pytest.param(CardRule.FITS, UNDECIDED, request("p", whole_ask()), id="an undecided card as a whole"),
        pytest.param(CardRule.HEALTH, card("n", 0, healthy=False), request("p", SOME), id="unhealthy"),
        pytest.param(CardRule.CORDONED, card("n", 0, cordoned=True), request("p", SOME), id="cordoned"),
        pytest.param(CardRule.UUID, SLICED, request("p", SOME, cards=only("GPU-x")), id="not the named card"),
        pytest.param(
            CardRule.UUID,
            SLICED,
            request("p", SOME, cards=CardFilter(frozenset({UUID}), frozenset({UUID}))),
            id="named and forbidden: forbidden wins",
        ),
        pytest.param(
            CardRule.PRODUCT, SLICED, request("p", SOME, cards=only(products=("C280",))), id="another product"
        ),
        pytest.param(
            CardRule.FITS, SLICED, request("p", SOME, cards=only(products=("c500",))), id="part of the name"
        ),
        pytest.param(
            CardRule.PRODUCT,
            SLICED,
            request("p", SOME, cards=CardFilter(not_products=frozenset({"mxc500"}))),
            id="a forbidden product",
        ),
        pytest.param(
            CardRule.MEMORY_TIER,
            S4000,
            request("p", slice_ask(memory=from_gib(3), cores=0, vendor=Vendor.MTHREADS)),
            id="a size the kernel would round up, on a cluster of one kind of card",
        ),
        pytest.param(
            CardRule.MEMORY_TIER, S4000, request("p", percent(50, Vendor.MTHREADS)), id="half of 48 GiB"
        ),
        pytest.param(CardRule.FITS, S4000, request("p", percent(100, Vendor.MTHREADS)), id="all of 48 GiB"),
        pytest.param(CardRule.FITS, SLICED, request("p", percent(37, Vendor.METAX)), id="any part of a C500"),
        pytest.param(
            CardRule.CORES, SLICED, request("p", slice_ask(memory=GIB, cores=101)), id="101 percent of a card"
        ),
    ],
)
def test_of_an_idle_card(expected: CardRule, card: Card, asked: Request) -> None:
    assert rule(card, asked) is expected


@pytest.mark.parametrize(
    ("expected", "card", "holder", "asked"),
    [
        pytest.param(
            CardRule.APP_CLASS,
            SLICED,
            held(),
            request("p", SOME, app_class=AppClass.ONLINE),
            id="online beside unclassed",
        ),
        pytest.param(
            CardRule.QOS, SLICED, held(), request("p", SOME, qos=QosPolicy.FIXED_SHARE), id="another policy"
        ),
        pytest.param(CardRule.SLOTS, card("n", 0, slots=1), held(), request("p", SOME), id="no slot left"),
        pytest.param(
            CardRule.MUTEX, SLICED, held(), request("p", SOME, card_order=(CardOrder.MUTEX,)), id="mutex"
        ),
        pytest.param(
            CardRule.MUTEX,
            SLICED,
            held(),
            request("p", SOME, card_order=(CardOrder.BINPACK, CardOrder.MUTEX)),
            id="mutex anywhere in the list",
        ),
        pytest.param(
            CardRule.MEMORY,
            SLICED,
            tenant("holder", NODE, Part(0, Bytes(1), 0)),
            request("p", slice_ask(memory=from_gib(64), cores=1)),
            id="one byte short",
        ),
        pytest.param(
            CardRule.FITS,
            SLICED,
            held(cores=0),
            request("p", slice_ask(memory=from_gib(63), cores=1)),
            id="to the last byte",
        ),
        pytest.param(
            CardRule.CORES,
            SLICED,
            held(),
            request("p", slice_ask(memory=GIB, cores=91)),
            id="a percent short",
        ),
        pytest.param(
            CardRule.EXCLUSIVE,
            SLICED,
            held(cores=0),
            request("p", slice_ask(memory=GIB, cores=100)),
            id="all compute beside somebody without any",
        ),
        pytest.param(
            CardRule.EXCLUSIVE,
            S4000,
            held(cores=0),
            request("p", slice_ask(memory=GIB, cores=16, vendor=Vendor.MTHREADS), qos=None),
            id="sixteen sixteenths beside somebody without any",
        ),
        pytest.param(
            CardRule.COMPUTE_TAKEN,
            SLICED,
            held(cores=100),
            request("p", slice_ask(memory=GIB, cores=0)),
            id="no compute asked and none left",
        ),
        pytest.param(
            CardRule.SLOTS, WHOLE, held(64, 100), request("p", whole_ask()), id="a whole card taken"
        ),
        pytest.param(
            CardRule.FITS, VIRTUAL, held(16, 25, times=3), request("p", whole_ask()), id="the last function"
        ),
        pytest.param(
            CardRule.SLOTS, VIRTUAL, held(16, 25, times=4), request("p", whole_ask()), id="no function left"
        ),
        pytest.param(
            CardRule.SLOTS, SHARED, held(0, 0, times=4), request("p", whole_ask()), id="shared often enough"
        ),
        pytest.param(
            CardRule.MEMORY,
            UNDECIDED,
            held(),
            request("p", whole_ask()),
            id="undecided, somebody has a slice",
        ),
        pytest.param(
            CardRule.MEMORY,
            UNDECIDED,
            held(64, 100, AskKind.WHOLE),
            request("p", SOME),
            id="undecided, somebody has all of it",
        ),
        pytest.param(
            CardRule.EXCLUSIVE,
            UNDECIDED,
            held(0, 0),
            request("p", whole_ask()),
            id="undecided, somebody is there with nothing",
        ),
    ],
)
def test_of_a_card_in_use(expected: CardRule, card: Card, holder: Tenant, asked: Request) -> None:
    assert rule(card, asked, holder) is expected


def test_tiers_of_one_model_say_nothing_about_another() -> None:
    s5000 = msgspec.structs.replace(
        card("n", 1, vendor=Vendor.MTHREADS, memory=from_gib(80)), memory_tiers=(GIB, from_gib(64))
    )
    ledger = ledger_of(Node(name=NodeName("n"), cards=(S4000, s5000)))
    asked = request("p", slice_ask(memory=from_gib(64), cores=0, vendor=Vendor.MTHREADS))
    assert rules(ledger, asked) == [CardRule.MEMORY_TIER, CardRule.FITS]


def test_positions_beyond_a_nodes_cards_are_absent_whatever_is_asked() -> None:
    ledger = ledger_of(metax_node("n", 1), metax_node("wide", 12))
    view = ledger.view((NodeName("n"),))
    for ask in (SOME, MT_SOME, whole_ask()):
        found, _ = card_rules(view, view.use, ask, request("p", ask), mutex=False)
        assert np.unique(found[0, 1:]).tolist() == [CardRule.ABSENT]
