"""What people read: for every node and card the first failing rule, and by how much."""

import msgspec
import pytest

from builders.clusters import card, metax_node, mthreads_node
from builders.explained import explained
from builders.requests import DEFAULTS, request, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.ledger import Ledger
from tangram.engine.wording import card_sentence, node_sentence
from tangram.model.allocations import Tenant
from tangram.model.cards import AppClass, CardMode, QosPolicy, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import Role
from tangram.model.requests import CardOrder, ContainerAsk, HostAsk, Request
from tangram.model.topology import TopologyScope
from tangram.model.verdicts import CardRule, CardVerdict, NodeRule, NodeVerdict
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import Bytes, from_512mib_units, from_gib

NODE = metax_node("n", 1)
HALF = slice_ask(memory=from_gib(32), cores=50)
changed = msgspec.structs.replace


def why(ledger: Ledger, asked: Request) -> NodeVerdict:
    (verdict,) = explained(ledger, asked, DEFAULTS).nodes
    return verdict


def numbers(verdict: CardVerdict) -> tuple[CardRule, int, int]:
    return verdict.rule, verdict.need, verdict.have


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(
            request("p", slice_ask(memory=from_gib(60), cores=1)),
            (CardRule.MEMORY, from_gib(60), from_gib(54)),
            id="memory",
        ),
        pytest.param(
            request("p", slice_ask(memory=from_gib(1), cores=71)), (CardRule.CORES, 71, 70), id="compute"
        ),
        pytest.param(
            request("p", slice_ask(memory=from_gib(1))), (CardRule.CORES, 100, 70), id="all compute"
        ),
        pytest.param(
            request("p", slice_ask()), (CardRule.MEMORY, from_gib(64), from_gib(54)), id="all of the card"
        ),
        pytest.param(request("p", HALF, card_order=(CardOrder.MUTEX,)), (CardRule.MUTEX, 0, 2), id="mutex"),
    ],
)
def test_numbers_of_a_card_in_use(asked: Request, expected: tuple[CardRule, int, int]) -> None:
    ledger = ledger_of(NODE)
    ledger.put_tenant(tenant("a", NODE, Part(0, from_gib(5), 15)))
    ledger.put_tenant(tenant("b", NODE, Part(0, from_gib(5), 15)))
    assert numbers(why(ledger, asked).cards[0]) == expected


def test_a_pod_with_two_containers_on_the_card_is_one_pod() -> None:
    ledger = ledger_of(NODE)
    ledger.put_tenant(tenant("a", NODE, Part(0, from_gib(1), 0), Part(0, from_gib(1), 0)))
    verdict = why(ledger, request("p", slice_ask(memory=from_gib(1), cores=100)))
    assert card_sentence(verdict.cards[0]) == "in use by 1 pod, the whole card is asked"


def test_what_earlier_containers_took_is_counted_and_the_failing_one_named() -> None:
    verdict = why(ledger_of(NODE), request("p", HALF, slice_ask(memory=from_gib(40), cores=50)))
    assert verdict.container == "c1"
    assert numbers(verdict.cards[0]) == (CardRule.MEMORY, from_gib(40), from_gib(32))
    third = why(ledger_of(NODE), request("p", HALF, slice_ask(memory=from_gib(8), cores=30), HALF))
    assert (third.container, *numbers(third.cards[0])) == ("c2", CardRule.MEMORY, from_gib(32), from_gib(24))
    one_slot = Node(name=NodeName("n"), cards=(card("n", 0, slots=1),))
    slots = why(ledger_of(one_slot), request("p", HALF, HALF))
    assert numbers(slots.cards[0]) == (CardRule.SLOTS, 1, 0)


def test_an_init_container_is_told_of_the_sidecars_before_it_only() -> None:
    containers = [
        ContainerAsk("side", Role.SIDECAR, (HALF,)),
        ContainerAsk("init", Role.INIT, (slice_ask(memory=from_gib(40), cores=10),)),
        ContainerAsk("app", Role.APP, (slice_ask(memory=from_gib(20), cores=10),)),
    ]
    verdict = why(ledger_of(NODE), request("p", *containers))
    assert verdict.container == "init"
    assert numbers(verdict.cards[0]) == (CardRule.MEMORY, from_gib(40), from_gib(32))


def test_a_pod_that_goes_as_one_is_told_what_all_of_it_needs() -> None:
    big = slice_ask(memory=from_512mib_units(64), cores=0, vendor=Vendor.MTHREADS)
    verdict = why(ledger_of(mthreads_node("n", 1)), request("p", big, big, qos=None, one_card=True))
    assert verdict.container == ""
    assert numbers(verdict.cards[0]) == (CardRule.MEMORY, from_gib(64), from_gib(48))
    odd = slice_ask(memory=from_gib(3), cores=0, vendor=Vendor.MTHREADS)
    verdict = why(ledger_of(mthreads_node("n", 1)), request("p", big, odd, qos=None, one_card=True))
    assert numbers(verdict.cards[0]) == (CardRule.MEMORY_TIER, from_gib(3), from_gib(2))


def test_virtual_functions_are_counted_in_functions() -> None:
    node = metax_node("n", 2, mode=CardMode.VIRTUAL, slots=4)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("t", node, *[Part(1, from_gib(16), 25)] * 4, Part(0, from_gib(16), 25)))
    verdict = why(ledger, request("p", whole_ask(5)))
    assert (verdict.rule, verdict.need, verdict.have) == (NodeRule.CARDS, 5, 3)
    assert node_sentence(verdict) == "3 of 5 needed: no slot left (1 card)"
    verdict = why(ledger, request("p", whole_ask(9)))
    assert (verdict.rule, verdict.need, verdict.have) == (NodeRule.NO_SUCH_CARDS, 9, 8)
    ledger.put_tenant(tenant("t", node, Part(1, from_gib(16), 25)))
    assert node_sentence(why(ledger, request("p", whole_ask(8)))) == "7 of 8 needed"


@pytest.mark.parametrize(
    ("node", "asked", "sentence"),
    [
        pytest.param(
            metax_node("n", 2),
            request("p", whole_ask(1)),
            "has 0 cards of the kind asked, 1 needed",
            id="no card of the kind",
        ),
        pytest.param(
            metax_node("n", 2),
            request("p", slice_ask(3)),
            "has 2 cards of the kind asked, 3 needed",
            id="fewer cards than asked",
        ),
        pytest.param(
            metax_node("n", 8, mode=CardMode.WHOLE),
            request("p", whole_ask(5), required_scope=TopologyScope.LINK),
            "8 cards fit, but no 5 within one link",
            id="not within the scope",
        ),
        pytest.param(
            metax_node("n", 20, mode=CardMode.WHOLE),
            request("p", whole_ask(2), required_scope=TopologyScope.NUMA),
            "20 cards fit, but no 2 within one numa",
            id="a scope nobody can vouch for",
        ),
        pytest.param(
            metax_node("n", 2),
            request("p", slice_ask(memory=from_gib(80), cores=1)),
            "0 of 1 needed: 64 GiB can be sliced on this card, 80 GiB needed (2 cards)",
            id="equal reasons are counted",
        ),
        pytest.param(
            metax_node("n", 2, cpu_milli=1_500),
            changed(request("p", HALF), host=HostAsk(cpu_milli=2_000)),
            "1.5 CPU free of 2 needed",
            id="processors",
        ),
        pytest.param(
            metax_node("n", 2, host_memory=from_gib(1)),
            changed(request("p", HALF), host=HostAsk(memory=from_gib(2))),
            "1 GiB host memory free of 2 GiB needed",
            id="host memory",
        ),
        pytest.param(metax_node("n", 2), request("p", HALF), "fits", id="fits"),
    ],
)
def test_a_node_says(node: Node, asked: Request, sentence: str) -> None:
    assert node_sentence(why(ledger_of(node), asked)) == sentence


@pytest.mark.parametrize("rule", CardRule)
def test_every_rule_has_words_of_its_own(rule: CardRule) -> None:
    verdict = CardVerdict(
        CardUuid("GPU-0"), 0, rule, need=int(from_gib(2)), have=int(from_gib(1)), detail="why"
    )
    others = [card_sentence(changed(verdict, rule=other)) for other in CardRule if other is not rule]
    assert card_sentence(verdict) not in others


@pytest.mark.parametrize(
    ("holder", "asked", "sentence"),
    [
        pytest.param(
            tenant("t", NODE, Part(0), qos=QosPolicy.FIXED_SHARE),
            request("p", HALF),
            "runs policy fixed-share",
            id="policy",
        ),
        pytest.param(
            tenant("t", NODE, Part(0), app_class=AppClass.OFFLINE),
            request("p", HALF),
            "runs offline pods",
            id="app class",
        ),
        pytest.param(
            tenant("t", NODE, Part(0)),
            request("p", HALF, app_class=AppClass.ONLINE),
            "runs unclassed pods",
            id="no app class",
        ),
        pytest.param(
            tenant("t", NODE, Part(0, Bytes(1), 10)),
            request("p", slice_ask(memory=from_gib(64), cores=1)),
            "about 64 GiB free of the 64 GiB that can be sliced, 64 GiB needed, 1 bytes short",
            id="a byte",
        ),
        pytest.param(
            tenant("t", NODE, Part(0, from_gib(60), 10)),
            request("p", slice_ask(memory=from_gib(65), cores=1)),
            "64 GiB can be sliced on this card, 65 GiB needed",
            id="more than the idle card has, whatever is free",
        ),
    ],
)
def test_a_card_says_who_is_in_the_way(holder: Tenant, asked: Request, sentence: str) -> None:
    ledger = ledger_of(NODE)
    ledger.put_tenant(holder)
    assert card_sentence(why(ledger, asked).cards[0]) == sentence


def test_nodes_come_in_the_order_of_their_names_whatever_their_rows() -> None:
    ledger = ledger_of(*(metax_node(name, 1) for name in ("c", "a", "b")))
    ledger.remove_node(NodeName("a"))
    ledger.put_node(metax_node("z", 1))
    ledger.put_node(metax_node("a", 1))
    assert [verdict.node for verdict in explained(ledger, request("p", HALF), DEFAULTS).nodes] == [
        "a",
        "b",
        "c",
        "z",
    ]
