"""Who has to go for a more important pod: nobody too many, nobody as important, the protected last."""

from itertools import chain, combinations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import metax_node
from builders.explained import kindest_preemption
from builders.requests import DEFAULTS, request, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.filter import filter_nodes
from tangram.engine.ledger import Ledger
from tangram.engine.preempt import adjusted
from tangram.model.allocations import Tenant
from tangram.model.cards import QosPolicy
from tangram.model.nodes import Node
from tangram.model.requests import HostAsk, Request
from tangram.units.ids import PodUid
from tangram.units.memory import from_gib

ONE = metax_node("n", 1)
changed = msgspec.structs.replace


def holder(
    name: str, gib: int, *, priority: int = 0, protected: bool = False, node: Node = ONE, at: int = 0
) -> Tenant:
    budgets = ("default/budget",) if protected else ()
    return tenant(name, node, Part(at, from_gib(gib), 10), priority=priority, protected_by=budgets)


def wanting(gib: int, priority: int = 10) -> Request:
    return request("p", slice_ask(memory=from_gib(gib), cores=10), priority=priority)


def victims(ledger: Ledger, asked: Request) -> list[str] | None:
    found = kindest_preemption(ledger, asked, DEFAULTS)
    if found is None:
        return None
    outcome = filter_nodes(ledger, asked, DEFAULTS, without=[each.pod.uid for each in found.victims])
    assert (outcome.node, outcome.allocation) == (found.node, found.allocation)
    return sorted(each.pod.name for each in found.victims)


@pytest.mark.parametrize(
    ("holders", "gib", "gone"),
    [
        pytest.param([holder("a", 20), holder("b", 40)], 30, ["b"], id="one large rather than all"),
        pytest.param([holder("a", 20), holder("b", 20), holder("c", 20)], 40, ["a", "b"], id="two of three"),
        pytest.param(
            [holder("a", 20, priority=5), holder("b", 20, priority=1), holder("c", 20, priority=3)],
            20,
            ["b"],
            id="the least important",
        ),
        pytest.param(
            [holder("a", 30, priority=9), holder("b", 15), holder("c", 15)],
            30,
            ["a"],
            id="fewest before least",
        ),
        pytest.param(
            [holder("a", 40, protected=True), holder("b", 10), holder("c", 10)],
            20,
            ["b", "c"],
            id="two unprotected rather than one protected",
        ),
        pytest.param(
            [holder("a", 40, protected=True), holder("b", 10)],
            30,
            ["a"],
            id="a protected one where it must be",
        ),
        pytest.param(
            [
                *(holder(f"guarded{at}", 20, protected=True) for at in range(2)),
                *(holder(f"plain{at}", 5) for at in range(4)),
            ],
            40,
            ["guarded0", "plain0", "plain1", "plain2", "plain3"],
            id="as few broken budgets as possible, though more pods go",
        ),
        pytest.param([holder("a", 40, priority=10)], 30, None, id="not the equally important"),
        pytest.param([holder("a", 40, priority=11)], 30, None, id="not the more important"),
        pytest.param(
            [holder("a", 30), holder("b", 30, priority=10)], 40, None, id="not when it would not be enough"
        ),
        pytest.param([holder("a", 10)], 30, None, id="not when the pod fits anyway"),
        pytest.param([holder("a", 10)], 65, None, id="not when no card is large enough"),
    ],
)
def test_of_pods_on_one_card(holders: list[Tenant], gib: int, gone: list[str] | None) -> None:
    ledger = ledger_of(ONE)
    for each in holders:
        ledger.put_tenant(each)
    assert victims(ledger, wanting(gib)) == gone


def test_the_node_with_the_kindest_answer_is_taken() -> None:
    nodes = [metax_node(name, 1) for name in "abc"]
    ledger = ledger_of(*nodes)
    for node, priority, protected in zip(nodes, (3, 2, 1), (False, False, True), strict=True):
        ledger.put_tenant(holder(f"on-{node.name}", 60, priority=priority, protected=protected, node=node))
    assert victims(ledger, wanting(30)) == ["on-b"]


def test_reservations_are_promises_and_not_victims() -> None:
    ledger = ledger_of(ONE)
    assert ledger.reserve(holder("a", 60), expires_at=60, attempt=ledger.begin_attempt())
    assert victims(ledger, wanting(30)) is None


def test_pods_of_another_policy_make_way_too() -> None:
    ledger = ledger_of(ONE)
    for name in ("a", "b"):
        ledger.put_tenant(changed(holder(name, 1), qos=QosPolicy.FIXED_SHARE))
    assert victims(ledger, wanting(1)) == ["a", "b"]


def test_processors_count_as_much_as_cards() -> None:
    node = metax_node("n", 2, cpu_milli=4_000)
    ledger = ledger_of(node)
    for name, cpu in (("a-small", 500), ("b-large", 3_500)):
        ledger.put_tenant(tenant(name, node, Part(0), host=HostAsk(cpu_milli=cpu)))
    assert victims(ledger, changed(wanting(1), host=HostAsk(cpu_milli=3_000))) == ["b-large"]


def test_a_pod_of_several_cards_is_one_victim() -> None:
    node = metax_node("n", 4)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("both", node, Part(0), Part(1)))
    for at in (2, 3):
        ledger.put_tenant(holder(f"single{at}", 1, node=node, at=at))
    asked = request("p", slice_ask(2), priority=10)
    assert victims(ledger, asked) == ["both"]


@pytest.mark.parametrize(
    ("holders", "gib", "given_names", "spared", "gone"),
    [
        pytest.param([holder("a", 20), holder("b", 40)], 30, ["b"], [], ["b"], id="as it was"),
        pytest.param([holder("a", 10), holder("b", 50)], 40, ["a"], [], ["b"], id="another in its place"),
        pytest.param([holder("a", 30), holder("b", 30)], 50, ["a"], [], ["a", "b"], id="one more"),
        pytest.param(
            [holder("a", 10), holder("b", 50), holder("c", 4)], 20, ["a", "b"], [], ["b"], id="one too many"
        ),
        pytest.param([holder("a", 10), holder("b", 50, priority=10)], 40, ["a"], [], None, id="no help"),
        pytest.param(
            [holder("a", 10), holder("b", 50)], 40, ["a"], ["b"], None, id="the helpful one is spared"
        ),
        pytest.param([holder("a", 30), holder("b", 30)], 30, ["a"], ["a"], ["a"], id="already named"),
        pytest.param([holder("a", 10)], 20, ["a"], [], ["a"], id="named for what is not seen here"),
        pytest.param(
            [holder("b", 50)], 40, ["port", "b"], [], ["b", "port"], id="one without cards stays named"
        ),
    ],
)
def test_victims_that_somebody_named_who_sees_no_cards(
    holders: list[Tenant], gib: int, given_names: list[str], spared: list[str], gone: list[str] | None
) -> None:
    ledger = ledger_of(ONE)
    ledger.put_tenant(tenant("port", ONE))
    for each in holders:
        ledger.put_tenant(each)
    uids = {str(each.tenant.pod.name): each.tenant.pod.uid for each in ledger.holdings()}
    found = adjusted(
        ledger,
        wanting(gib),
        DEFAULTS,
        ONE.name,
        [uids[name] for name in given_names],
        spared=[uids[name] for name in spared],
    )
    names: dict[PodUid, str] = {uid: name for name, uid in uids.items()}
    assert (None if found is None else sorted(names[uid] for uid in found)) == gone


def test_a_request_without_a_card_of_its_kind_costs_nobody_anything() -> None:
    ledger = ledger_of(ONE)
    ledger.put_tenant(holder("a", 60))
    assert victims(ledger, request("p", whole_ask(), priority=10)) is None


def cost(gone: tuple[Tenant, ...], node: str) -> tuple[int, int, int, int, str]:
    priorities = [each.priority for each in gone]
    broken = sum(1 for each in gone if each.protected_by)
    return broken, len(gone), max(priorities), sum(priorities), node


def kindest_by_trying_everything(ledger: Ledger, asked: Request) -> tuple[int, int, int, int, str] | None:
    best: tuple[int, int, int, int, str] | None = None
    for node in ledger.nodes():
        weaker = [
            each.tenant for each in ledger.holdings_on(node.name) if each.tenant.priority < asked.priority
        ]
        for gone in chain.from_iterable(combinations(weaker, size) for size in range(1, len(weaker) + 1)):
            outcome = filter_nodes(ledger, asked, DEFAULTS, without=[each.pod.uid for each in gone])
            if outcome.node == node.name:
                best = min(best or cost(gone, node.name), cost(gone, node.name))
    return best


tenants = st.tuples(st.integers(0, 2), st.sampled_from([4, 16, 24]), st.integers(0, 3), st.booleans())


@given(st.lists(tenants, max_size=7), st.sampled_from([8, 40, 60]), st.integers(1, 2), st.integers(1, 3))
def test_no_kinder_answer_exists(
    drawn: list[tuple[int, int, int, bool]], gib: int, count: int, priority: int
) -> None:
    nodes = (metax_node("m", 1), metax_node("n", 2))
    ledger = ledger_of(*nodes)
    for at, (where, held, importance, protected) in enumerate(drawn):
        node, column = ((nodes[0], 0), (nodes[1], 0), (nodes[1], 1))[where]
        free = node.cards[column].memory - int(ledger.view((node.name,)).use.memory[0, column])
        if from_gib(held) <= free:
            ledger.put_tenant(
                holder(f"t{at}", held, priority=importance, protected=protected, node=node, at=column)
            )
    asked = request("p", slice_ask(count, memory=from_gib(gib), cores=10), priority=priority)
    found = kindest_preemption(ledger, asked, DEFAULTS)
    if filter_nodes(ledger, asked, DEFAULTS).node is not None:
        assert found is None
    else:
        assert (None if found is None else found.cost) == kindest_by_trying_everything(ledger, asked)
