"""Containers that do not all run at once: what the pod holds, and which cards each of them gets."""

import msgspec
import pytest

from builders.clusters import card, metax_node, mthreads_node
from builders.explained import explained
from builders.requests import DEFAULTS, pod, request, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, share, tenant
from tangram.engine.allocate import tenant_for
from tangram.engine.filter import filter_nodes
from tangram.engine.usage import Hold, holds_of
from tangram.model.allocations import Allocation, ContainerShares, Tenant
from tangram.model.cards import CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import Role
from tangram.model.requests import Ask, ContainerAsk, NodePolicy, Request
from tangram.model.verdicts import CardRule
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import GIB, from_512mib_units, from_gib

INIT, SIDECAR, APP = Role.INIT, Role.SIDECAR, Role.APP
ONE_CARD = metax_node("n", 1)
changed = msgspec.structs.replace


def allocation(*containers: tuple[Role, tuple[Part, ...]], node: Node = ONE_CARD) -> Allocation:
    return Allocation(
        node.name,
        tuple(
            ContainerShares(f"c{at}", role, tuple(share(node, part) for part in parts))
            for at, (role, parts) in enumerate(containers)
        ),
    )


def one(role: Role, gib: int, cores: int) -> tuple[Role, tuple[Part, ...]]:
    return role, (Part(0, from_gib(gib), cores),)


@pytest.mark.parametrize(
    ("containers", "during", "after"),
    [
        pytest.param([one(APP, 4, 10), one(APP, 2, 5)], (6, 15, 2), (6, 15, 2), id="apps add up"),
        pytest.param(
            [one(INIT, 9, 5), one(APP, 4, 10)], (9, 10, 1), (4, 10, 1), id="each quantity by itself"
        ),
        pytest.param(
            [one(INIT, 9, 50), one(INIT, 12, 20), one(APP, 4, 10)],
            (12, 50, 1),
            (4, 10, 1),
            id="init containers run one after another",
        ),
        pytest.param(
            [one(SIDECAR, 3, 10), one(APP, 4, 10)],
            (7, 20, 2),
            (7, 20, 2),
            id="a sidecar stays beside the apps",
        ),
        pytest.param(
            [one(SIDECAR, 3, 10), one(INIT, 9, 5), one(APP, 4, 10)],
            (12, 20, 2),
            (7, 20, 2),
            id="a sidecar runs beside the init containers after it",
        ),
        pytest.param(
            [one(INIT, 9, 5), one(SIDECAR, 3, 10), one(APP, 4, 10)],
            (9, 20, 2),
            (7, 20, 2),
            id="and not beside those before it",
        ),
        pytest.param(
            [one(SIDECAR, 3, 1), one(INIT, 1, 1), one(SIDECAR, 5, 1), one(INIT, 2, 1), one(APP, 1, 1)],
            (10, 3, 3),
            (9, 3, 3),
            id="two of each",
        ),
        pytest.param([one(INIT, 9, 5)], (9, 5, 1), None, id="only an init container"),
        pytest.param(
            [(APP, (Part(0, from_gib(16), 25), Part(0, from_gib(16), 25)))],
            (32, 50, 2),
            (32, 50, 2),
            id="two units of one card",
        ),
    ],
)
def test_a_pod_holds(
    containers: list[tuple[Role, tuple[Part, ...]]],
    during: tuple[int, int, int],
    after: tuple[int, int, int] | None,
) -> None:
    given = allocation(*containers)
    uuid = ONE_CARD.cards[0].uuid

    def in_gib(holds: dict[CardUuid, Hold]) -> tuple[int, int, int] | None:
        hold = holds.get(uuid)
        return None if hold is None else (hold.memory // GIB, hold.cores, hold.slots)

    assert in_gib(holds_of(given)) == during
    assert in_gib(holds_of(given, init_done=True)) == after


def asks(*containers: tuple[Role, Ask]) -> Request:
    return request("p", *(ContainerAsk(f"c{at}", role, (ask,)) for at, (role, ask) in enumerate(containers)))


def cards_of(ledger_nodes: tuple[Node, ...], asked: Request) -> list[list[int]]:
    outcome = filter_nodes(ledger_of(*ledger_nodes), asked, DEFAULTS)
    assert outcome.allocation is not None
    return [[each.index for each in container.shares] for container in outcome.allocation.containers]


BIG, SMALL = slice_ask(memory=from_gib(60), cores=90), slice_ask(memory=from_gib(20), cores=30)


def test_init_containers_get_the_cards_of_the_containers_after_them() -> None:
    assert cards_of((metax_node("n", 4),), asks((INIT, BIG), (APP, SMALL))) == [[3], [3]]
    two = slice_ask(2, memory=from_gib(20), cores=30)
    assert cards_of((metax_node("n", 4),), asks((INIT, SMALL), (INIT, two), (APP, two))) == [
        [3],
        [3, 2],
        [3, 2],
    ]
    whole = metax_node("n", 8, mode=CardMode.WHOLE)
    assert cards_of((whole,), asks((INIT, whole_ask(1)), (APP, whole_ask(4)))) == [[7], [7, 6, 5, 4]]


def test_an_init_container_that_needs_more_than_the_pods_cards_gets_others() -> None:
    three = slice_ask(3, memory=from_gib(1), cores=1)
    assert [len(cards) for cards in cards_of((metax_node("n", 4),), asks((INIT, three), (APP, SMALL)))] == [
        3,
        1,
    ]


def test_units_of_one_virtual_card_suffice_for_an_init_container() -> None:
    node = metax_node("n", 2, mode=CardMode.VIRTUAL, slots=4)
    assert cards_of((node,), asks((INIT, whole_ask(3)), (APP, whole_ask(2)))) == [[1, 1, 1], [1, 1]]


def test_an_init_container_leaves_room_for_the_sidecars_that_run_beside_it() -> None:
    # B17: counted as one more init container, the sidecar would be given the same memory.
    node = metax_node("n", 1)
    before = asks((SIDECAR, SMALL), (INIT, BIG), (APP, SMALL))
    assert filter_nodes(ledger_of(node), before, DEFAULTS).node is None
    after = asks((INIT, BIG), (SIDECAR, SMALL), (APP, SMALL))
    assert filter_nodes(ledger_of(node), after, DEFAULTS).node == "n"


def test_two_pods_with_sidecars_are_never_sold_the_same_memory() -> None:
    ledger = ledger_of(metax_node("n", 1))
    half = slice_ask(memory=from_gib(20), cores=10)
    for name, node in (("p1", "n"), ("p2", None)):
        asked = changed(asks((SIDECAR, half), (APP, half)), pod=pod(name))
        outcome = filter_nodes(ledger, asked, DEFAULTS)
        assert outcome.node == node
        if outcome.allocation is not None:
            ledger.put_tenant(tenant_for(asked, outcome.allocation))


def test_memory_of_init_containers_is_free_again_when_they_are_done() -> None:
    ledger = ledger_of(metax_node("n", 1))
    starting = Tenant(pod=pod("t"), allocation=allocation(one(INIT, 50, 90), one(APP, 10, 10)))
    ledger.put_tenant(starting)
    assert filter_nodes(ledger, request("p", SMALL), DEFAULTS).node is None
    ledger.put_tenant(changed(starting, init_done=True))
    assert filter_nodes(ledger, request("p", SMALL), DEFAULTS).node == "n"
    # An event from before arrives late and counts again, until the next one: never less than is in use.
    ledger.put_tenant(starting)
    assert filter_nodes(ledger, request("p", SMALL), DEFAULTS).node is None


def test_cards_that_init_and_app_containers_share_count_once_in_the_topology_score() -> None:
    # B29.
    node = metax_node("n", 8, mode=CardMode.WHOLE)
    for policy in (NodePolicy.BINPACK, NodePolicy.SPREAD):
        alone = changed(asks((APP, whole_ask(4))), node_policy=policy)
        with_init = changed(asks((INIT, whole_ask(4)), (APP, whole_ask(4))), node_policy=policy)
        one_score, other = (
            filter_nodes(ledger_of(node), each, DEFAULTS).score for each in (alone, with_init)
        )
        assert one_score.tolist() == other.tolist()
    sliced = [
        changed(each, zone_aware=True)
        for each in (asks((APP, slice_ask(2))), asks((INIT, slice_ask(2)), (APP, slice_ask(2))))
    ]
    one_score, other = (filter_nodes(ledger_of(metax_node("n", 8)), each, DEFAULTS).score for each in sliced)
    assert one_score.tolist() == other.tolist()


def test_all_containers_of_a_moore_threads_pod_are_told_one_card() -> None:
    # B32: one gpu-index per pod, and the init container's card must be it.
    node = mthreads_node("n", 4)
    quarter = slice_ask(memory=from_512mib_units(16), cores=4, vendor=Vendor.MTHREADS)
    most = slice_ask(memory=from_512mib_units(64), cores=12, vendor=Vendor.MTHREADS)
    asked = changed(
        asks((INIT, most), (SIDECAR, quarter), (APP, quarter), (APP, quarter)), one_card=Vendor.MTHREADS
    )
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("t", node, Part(3, from_gib(32), 4), qos=None))
    outcome = filter_nodes(ledger, asked, DEFAULTS)
    assert outcome.allocation is not None
    assert {each.index for c in outcome.allocation.containers for each in c.shares} == {2}


def test_the_highest_moment_of_a_one_card_pod_must_fit_the_card() -> None:
    node = Node(name=NodeName("n"), cards=(card("n", 0, slots=2),))
    sidecar, init, app = (slice_ask(memory=from_gib(gib), cores=1) for gib in (10, 50, 20))
    fits = changed(asks((SIDECAR, sidecar), (INIT, init), (APP, app)), one_card=Vendor.METAX)
    assert filter_nodes(ledger_of(node), fits, DEFAULTS).node == "n"
    larger = slice_ask(memory=from_gib(55), cores=1)
    too_much = changed(asks((SIDECAR, sidecar), (INIT, larger), (APP, app)), one_card=Vendor.METAX)
    (verdict,) = explained(ledger_of(node), too_much, DEFAULTS).nodes
    (why,) = verdict.cards
    assert (why.rule, why.need, why.have) == (CardRule.MEMORY, from_gib(65), from_gib(64))
    crowded = changed(asks((SIDECAR, sidecar), (APP, app), (APP, app)), one_card=Vendor.METAX)
    (verdict,) = explained(ledger_of(node), crowded, DEFAULTS).nodes
    assert (verdict.cards[0].rule, verdict.cards[0].need, verdict.cards[0].have) == (CardRule.SLOTS, 3, 2)


def test_containers_without_asks_keep_their_place_among_the_others() -> None:
    asked = request("p", ContainerAsk("i", INIT), ContainerAsk("a", APP, (SMALL,)), ContainerAsk("b", APP))
    outcome = filter_nodes(ledger_of(metax_node("n", 1)), asked, DEFAULTS)
    assert outcome.allocation is not None
    assert [(each.name, len(each.shares)) for each in outcome.allocation.containers] == [
        ("i", 0),
        ("a", 1),
        ("b", 0),
    ]
