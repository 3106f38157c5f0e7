"""Where many rules fail at once, the first of the documented order is named.

Each chain starts with a card on which everything is wrong and repairs one thing at a time.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

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
from tangram.model.requests import AskKind, CardFilter, CardOrder, Request
from tangram.model.verdicts import CardRule
from tangram.units.ids import NodeName
from tangram.units.memory import Bytes, from_gib

NODE = metax_node("n", 1)
changed = msgspec.structs.replace


class Scene(NamedTuple):
    card: Card
    asked: Request
    holder: Tenant

    def rule(self) -> CardRule:
        ledger = ledger_of(Node(name=NodeName("n"), cards=(self.card,)))
        ledger.put_tenant(self.holder)
        return rules(ledger, self.asked)[0]


Repair = Callable[[Scene], Scene]


def card_gets(**facts: object) -> Repair:
    return lambda scene: scene._replace(card=changed(scene.card, **facts))


def pod_gets(**wishes: object) -> Repair:
    return lambda scene: scene._replace(asked=changed(scene.asked, **wishes))


def holder_is(holder: Tenant) -> Repair:
    return lambda scene: scene._replace(holder=holder)


def held(memory: Bytes, cores: int, kind: AskKind = AskKind.SLICE) -> Tenant:
    return tenant("holder", NODE, Part(0, memory, cores, kind))


LISTS = CardFilter(not_uuids=frozenset({NODE.cards[0].uuid}), not_products=frozenset({"MX", "MTT"}))
PRODUCTS = changed(LISTS, not_uuids=frozenset())
BROKEN = changed(card("n", 0, slots=1, healthy=False, cordoned=True), vendor=Vendor.GENERIC)
LARGE = held(from_gib(40), 50)
OFFLINE = changed(LARGE, qos=QosPolicy.FIXED_SHARE, app_class=AppClass.OFFLINE)

METAX_SLICE: list[tuple[CardRule, Repair]] = [
    (CardRule.VENDOR, card_gets(vendor=Vendor.METAX)),
    (CardRule.MODE, card_gets(mode=CardMode.SLICED)),
    (CardRule.HEALTH, card_gets(healthy=True)),
    (CardRule.CORDONED, card_gets(cordoned=False)),
    (CardRule.APP_CLASS, holder_is(changed(OFFLINE, app_class=None))),
    (CardRule.QOS, holder_is(LARGE)),
    (CardRule.UUID, pod_gets(cards=PRODUCTS)),
    (CardRule.PRODUCT, pod_gets(cards=CardFilter())),
    (CardRule.SLOTS, card_gets(slots=16)),
    (CardRule.MUTEX, pod_gets(card_order=())),
    (CardRule.MEMORY, holder_is(held(from_gib(1), 50))),
    (CardRule.CORES, holder_is(held(from_gib(1), 0))),
]
MTHREADS_SLICE: list[tuple[CardRule, Repair]] = [
    (CardRule.VENDOR, card_gets(vendor=Vendor.MTHREADS)),
    *METAX_SLICE[1:4],
    *METAX_SLICE[6:10],
    (CardRule.MEMORY_TIER, card_gets(memory_tiers=(from_gib(30),))),
    *METAX_SLICE[10:],
]
WHOLE: list[tuple[CardRule, Repair]] = [
    METAX_SLICE[0],
    (CardRule.MODE, card_gets(mode=CardMode.UNDECIDED)),
    *METAX_SLICE[2:4],
    *METAX_SLICE[6:10],
    (CardRule.MEMORY, holder_is(held(Bytes(0), 50))),
    (CardRule.CORES, holder_is(held(Bytes(0), 0))),
    (CardRule.EXCLUSIVE, card_gets(mode=CardMode.SHARED)),
]
MUTEX = (CardOrder.MUTEX,)
SLICE = request("p", slice_ask(memory=from_gib(30), cores=60), cards=LISTS, card_order=MUTEX)
MT_ASK = slice_ask(memory=from_gib(30), cores=60, vendor=Vendor.MTHREADS)


@pytest.mark.parametrize(
    ("scene", "chain"),
    [
        pytest.param(
            Scene(changed(BROKEN, mode=CardMode.WHOLE), SLICE, OFFLINE), METAX_SLICE, id="MetaX slices"
        ),
        pytest.param(
            Scene(
                changed(BROKEN, mode=CardMode.WHOLE, memory_tiers=(from_gib(1),)),
                request("p", MT_ASK, cards=LISTS, card_order=MUTEX),
                LARGE,
            ),
            MTHREADS_SLICE,
            id="Moore Threads slices",
        ),
        pytest.param(
            Scene(BROKEN, request("p", whole_ask(), cards=LISTS, card_order=MUTEX), LARGE),
            WHOLE,
            id="whole cards",
        ),
    ],
)
def test_repairing_what_is_named_brings_up_the_next_rule(
    scene: Scene, chain: list[tuple[CardRule, Repair]]
) -> None:
    named: list[CardRule] = []
    for expected, repair in chain:
        named.append(scene.rule())
        assert named[-1] is expected
        scene = repair(scene)
    assert scene.rule() is CardRule.FITS
    assert all(earlier < later for earlier, later in pairwise(named))


@pytest.mark.parametrize(
    ("holder", "cores", "expected"),
    [
        pytest.param(held(from_gib(64), 0), 100, CardRule.MEMORY, id="memory before exclusive"),
        pytest.param(held(from_gib(1), 1), 100, CardRule.CORES, id="compute before exclusive"),
        pytest.param(held(from_gib(64), 100), 0, CardRule.MEMORY, id="memory before no compute left"),
        pytest.param(held(from_gib(1), 0), 100, CardRule.EXCLUSIVE, id="exclusive"),
        pytest.param(held(from_gib(1), 100), 0, CardRule.COMPUTE_TAKEN, id="no compute left"),
    ],
)
def test_the_last_rules_of_a_slice_are_about_exclusive_use(
    holder: Tenant, cores: int, expected: CardRule
) -> None:
    asked = request("p", slice_ask(memory=from_gib(1), cores=cores))
    assert Scene(card("n", 0), asked, holder).rule() is expected


def test_a_one_card_pod_is_kept_off_other_cards_only_where_nothing_else_is_wrong() -> None:
    node = Node(name=NodeName("n"), cards=(card("n", 0), card("n", 1), card("n", 2, healthy=False)))
    view = ledger_of(node).view((node.name,))
    only = np.zeros_like(view.facts.present)
    only[0, 1] = True
    ask = slice_ask(memory=from_gib(1), cores=10)
    found, _ = card_rules(view, view.use, ask, request("p", ask), mutex=False, only=only)
    assert found[0, :3].tolist() == [CardRule.OTHER_CARD, CardRule.FITS, CardRule.HEALTH]
