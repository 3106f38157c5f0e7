"""A status adds up, names whoever it may, and gives the reasons that `explain` gives."""

from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import metax_node, mthreads_node
from builders.requests import pod, request, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.demand import NO_DEMAND, demand_from, shape_of
from tangram.engine.ledger import Ledger
from tangram.model.allocations import Tenant
from tangram.model.cards import AppClass, CardMode, QosPolicy
from tangram.model.nodes import Node, Taint
from tangram.model.pods import Phase, Pod
from tangram.model.refusals import Caution, Refusal
from tangram.model.requests import AskKind, Request
from tangram.reports import shape
from tangram.reports.answering import Manner, Question, answer
from tangram.reports.asking import OTHER_SCHEDULER, Asked
from tangram.reports.status import Scene, node_status, status_of
from tangram.reports.status_shape import StatusReport
from tangram.units.ids import Namespace, NodeName
from tangram.units.memory import from_gib
from tangram.vendors.admission import Admission

HALF: Final = Part(0, from_gib(32), 50)
WHOLE: Final = Part(1, from_gib(64), 100, AskKind.WHOLE)


def asked(what: Request) -> Asked:
    return what.pod, Admission(ours=True, request=what), ()


def of_namespace(held: Tenant, namespace: str) -> Tenant:
    return msgspec.structs.replace(
        held, pod=msgspec.structs.replace(held.pod, namespace=Namespace(namespace))
    )


def status(ledger: Ledger, *pending: Asked, namespace: str | None = None) -> StatusReport:
    return status_of(Scene(ledger, pending, NO_DEMAND), namespace=namespace)


def only_card(report: StatusReport, index: int = 0) -> dict[str, object]:
    return msgspec.to_builtins(report.nodes[0].cards[index])


def test_a_card_says_how_much_of_it_is_given_to_whom() -> None:
    node = metax_node("n", 2)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("a", node, HALF))
    ledger.put_tenant(tenant("b", node, Part(0, from_gib(16), 25), WHOLE))
    report = status(ledger)
    shared, taken = report.nodes[0].cards
    assert (shared.state, shared.memory_used, shared.cores_used, shared.slots_used) == (
        "used",
        from_gib(48),
        75,
        2,
    )
    assert [(each.pod, each.memory, each.cores, each.whole) for each in shared.holders] == [
        ("default/a", from_gib(32), 50, False),
        ("default/b", from_gib(16), 25, False),
    ]
    assert [(each.pod, each.whole) for each in taken.holders] == [("default/b", True)]
    assert (report.totals.pods, report.totals.cards_free) == (2, 0)


@pytest.mark.parametrize(
    ("changes", "state", "free"),
    [
        pytest.param({}, "free", 1, id="idle"),
        pytest.param({"cordoned": True}, "cordoned", 0, id="cordoned"),
        pytest.param({"healthy": False, "health_reason": "ECC"}, "unhealthy", 0, id="broken"),
        pytest.param({"healthy": False, "cordoned": True}, "unhealthy", 0, id="broken-and-cordoned"),
    ],
)
def test_a_card_that_takes_no_pods_is_not_free(changes: dict[str, object], state: str, free: int) -> None:
    node = metax_node("n", 1)
    node = msgspec.structs.replace(node, cards=(msgspec.structs.replace(node.cards[0], **changes),))
    report = status(ledger_of(node))
    assert only_card(report)["state"] == state
    assert only_card(report)["reason"] == changes.get("health_reason", "")
    assert report.totals.cards_free == report.nodes[0].cards_free == free


@pytest.mark.parametrize(
    ("node", "state"),
    [
        pytest.param({}, "ready", id="ready"),
        pytest.param({"unschedulable": True}, "cordoned", id="cordoned"),
        pytest.param({"taints": (Taint("node.kubernetes.io/not-ready"),)}, "not-ready", id="not-ready"),
        pytest.param(
            {"taints": (Taint("node.kubernetes.io/unreachable"),), "unschedulable": True},
            "not-ready",
            id="unreachable-and-cordoned",
        ),
        pytest.param({"taints": (Taint("dedicated", "ai"),)}, "ready", id="a-taint-of-somebody's"),
    ],
)
def test_a_node_that_takes_no_pods_says_so(node: dict[str, object], state: str) -> None:
    made = msgspec.structs.replace(metax_node("n", 1), **node)
    assert status(ledger_of(made)).nodes[0].state == state


@pytest.mark.parametrize(
    ("announced", "tenants", "told"),
    [
        pytest.param(None, [], ("", ""), id="nobody"),
        pytest.param(QosPolicy.BURST_SHARE, [], ("burst-share", ""), id="announced"),
        pytest.param(
            QosPolicy.BURST_SHARE,
            [(QosPolicy.FIXED_SHARE, None)],
            ("fixed-share", ""),
            id="tenants know better",
        ),
        pytest.param(
            None,
            [(QosPolicy.BEST_EFFORT, AppClass.OFFLINE), (QosPolicy.BEST_EFFORT, AppClass.ONLINE)],
            ("best-effort", "online, offline"),
            id="classes",
        ),
    ],
)
def test_a_card_says_which_policy_and_classes_it_runs(
    announced: QosPolicy | None, tenants: list[tuple[QosPolicy, AppClass | None]], told: tuple[str, str]
) -> None:
    node = metax_node("n", 1)
    card = msgspec.structs.replace(node.cards[0], announced_qos=announced, numa=1)
    node = msgspec.structs.replace(node, cards=(card,))
    ledger = ledger_of(node)
    for number, (qos, app_class) in enumerate(tenants):
        ledger.put_tenant(tenant(f"t{number}", node, Part(0), qos=qos, app_class=app_class))
    (only,) = node_status(ledger, node).cards
    assert (only.qos, only.app_class) == told
    assert only.numa == 1


def test_nodes_come_as_people_count_and_those_without_cards_apart() -> None:
    nodes = [metax_node("gpu-10", 1), Node(name=NodeName("cpu")), metax_node("gpu-2", 1)]
    report = status(ledger_of(*nodes))
    assert [node.node for node in report.nodes] == ["gpu-2", "gpu-10"]
    assert report.plain_nodes == ["cpu"]
    assert (report.totals.nodes, report.totals.nodes_with_cards) == (3, 2)


def test_pods_of_other_namespaces_are_counted_and_not_named() -> None:
    node = metax_node("n", 1)
    ledger = ledger_of(node)
    ledger.put_tenant(of_namespace(tenant("mine", node, HALF), "mine"))
    ledger.put_tenant(of_namespace(tenant("theirs", node, Part(0, from_gib(16), 25)), "theirs"))
    report = status(ledger, asked(request("w", whole_ask(9))), namespace="mine")
    card = report.nodes[0].cards[0]
    assert [each.pod for each in card.holders] == ["mine/mine"]
    assert (card.other_holders, card.memory_used) == (1, from_gib(48))
    assert (report.pending, report.totals.pending) == ([], 1)


def test_a_holder_has_the_phase_that_kubernetes_says() -> None:
    node = metax_node("n", 1)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("a", node, HALF))
    ledger.put_tenant(tenant("b", node, Part(0, from_gib(1), 1)))
    ledger.put_tenant(tenant("c", node, Part(0, from_gib(1), 1)))
    pods = (
        Pod(ref=pod("a"), containers=(), phase=Phase.PENDING),
        Pod(ref=pod("b"), containers=(), phase=Phase.RUNNING, terminating=True),
    )
    report = status_of(Scene(ledger, (), NO_DEMAND, pods))
    phases = [each.phase for each in report.nodes[0].cards[0].holders]
    assert phases == ["Pending", "Terminating", ""]


def test_a_pod_waits_for_the_reasons_that_explain_gives() -> None:
    ledger = ledger_of(metax_node("a", 2), metax_node("b", 1), mthreads_node("m", 2))
    what = request("big", slice_ask(3, memory=from_gib(8)))
    (waiting,) = status(ledger, asked(what)).pending
    explained = answer(ledger, Question("default/big", Admission(ours=True, request=what)), Manner())
    assert (waiting.pod, waiting.verdict) == ("default/big", "waits")
    assert explained.sentence == f"default/big waits, because {waiting.sentence}."


def test_a_refused_pod_is_told_its_first_fault_and_how_many_more_there_are() -> None:
    faults = (Refusal("one", "vcore is 101: write 1 to 100."), Refusal("two", "and so on."))
    (refused,) = status(
        ledger_of(metax_node("n")), (pod("p"), Admission(ours=True, refusals=faults), ())
    ).pending
    assert refused.verdict == shape.REFUSED
    assert refused.sentence == "vcore is 101: write 1 to 100 (and 1 fault more)"


def test_a_pod_that_fits_waits_for_the_scheduler_or_has_the_wrong_one() -> None:
    what = request("p", slice_ask(memory=from_gib(8)))
    caution = Caution(OTHER_SCHEDULER, "its schedulerName is other.")
    stray = Admission(ours=True, request=what, cautions=(caution,))
    ledger = ledger_of(metax_node("n"))
    ours, lost = status(ledger, asked(what), (pod("q"), stray, ())).pending
    assert ours.sentence == "it fits on node n, and the scheduler has not placed it yet"
    assert (lost.verdict, lost.sentence) == ("fits", "its schedulerName is other")


def test_what_no_next_pod_could_use_is_a_share_of_what_is_idle() -> None:
    node = metax_node("n", 2)
    ledger = ledger_of(node)
    whole = demand_from([shape_of(request("p", slice_ask(memory=from_gib(64), cores=100)))])
    ledger.put_tenant(tenant("a", node, Part(0, from_gib(32), 50)))

    def fragmented() -> float | None:
        return status_of(Scene(ledger, (), whole)).totals.fragmented

    # Half a card of one and a half is too little for pods that want a card.
    assert fragmented() == pytest.approx(1 / 3, abs=1e-4)
    ledger.remove(pod("a").uid)
    assert fragmented() == 0
    assert status(ledger).totals.fragmented is None


parts = st.builds(
    Part, st.integers(0, 3), st.integers(1, 16).map(from_gib), st.integers(1, 25), st.just(AskKind.SLICE)
)


@given(
    st.lists(st.tuples(st.booleans(), parts), max_size=8),
    st.lists(st.sampled_from([CardMode.SLICED, CardMode.WHOLE]), max_size=3),
)
def test_totals_are_the_sums_of_nodes_and_nodes_of_cards(
    held: list[tuple[bool, Part]], more: list[CardMode]
) -> None:
    metax, moore = metax_node("metax", 4), mthreads_node("moore", 4)
    ledger = ledger_of(
        metax, moore, *(metax_node(f"m{number}", mode=mode) for number, mode in enumerate(more))
    )
    for number, (on_metax, part) in enumerate(held):
        ledger.put_tenant(
            tenant(f"p{number}", metax if on_metax else moore, part._replace(cores=part.cores % 4))
        )
    report = status(ledger)
    totals = report.totals
    assert totals.cards == sum(len(node.cards) for node in report.nodes) == 8 + 8 * len(more)
    assert totals.memory_used == sum(node.memory_used for node in report.nodes)
    assert totals.memory_used == sum(part.memory for _, part in held)
    assert totals.cards_free == sum(not card.slots_used for node in report.nodes for card in node.cards)
    for node in report.nodes:
        assert node.memory_used == sum(holder.memory for card in node.cards for holder in card.holders)
        assert node.compute_used == pytest.approx(
            sum(card.cores_used / card.cores for card in node.cards), abs=1e-3
        )
        assert all(card.slots_used == len(card.holders) for card in node.cards)
    assert msgspec.json.decode(msgspec.json.encode(report), type=StatusReport) == report
