"""The report is bounded on request, counts what it leaves out, and names nobody the asker may not see."""

import msgspec
import pytest

from builders.clusters import metax_node
from builders.requests import request, slice_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.ledger import Ledger
from tangram.model.allocations import Tenant
from tangram.model.nodes import Node
from tangram.model.requests import CardOrder, Request
from tangram.reports.answering import Manner, Question, answer, describe
from tangram.reports.running import ended_report, running_report
from tangram.reports.seeing import SOMEBODY
from tangram.reports.shape import PodReport
from tangram.units.ids import Namespace, NodeName
from tangram.units.memory import from_gib
from tangram.vendors.admission import Admission

SMALL = request("p", slice_ask(memory=from_gib(8), cores=10))
BIG = request("p", slice_ask(memory=from_gib(60), cores=10))


def of_namespace(tenant: Tenant, namespace: str) -> Tenant:
    return msgspec.structs.replace(
        tenant, pod=msgspec.structs.replace(tenant.pod, namespace=Namespace(namespace))
    )


def mine(namespace: str) -> bool:
    return namespace == "mine"


def cluster(nodes: int = 100) -> Ledger:
    """One node in ten is cordoned; every other of the rest is busy."""
    made = [metax_node(f"n{number:03}", 2) for number in range(nodes)]
    for at in range(0, nodes, 10):
        made[at] = msgspec.structs.replace(made[at], unschedulable=True)
    ledger = ledger_of(*made)
    for at in range(1, nodes, 2):
        busy = tenant(f"t{at}", made[at], Part(0, from_gib(20), 20), Part(1, from_gib(20), 20))
        ledger.put_tenant(of_namespace(busy, "theirs" if at % 4 == 1 else "mine"))
    return ledger


def asked(ledger: Ledger, what: Request, manner: Manner) -> PodReport:
    return answer(ledger, Question("default/p", Admission(ours=True, request=what)), manner)


def test_all_nodes_are_reported_unless_somebody_says_how_many() -> None:
    report = asked(cluster(), BIG, Manner())
    assert (len(report.nodes), report.nodes_left_out) == (100, 0)


@pytest.mark.parametrize("most", [1, 5, 40])
def test_a_bounded_report_says_the_same_in_fewer_nodes(most: int) -> None:
    ledger = cluster()
    whole, bounded = asked(ledger, SMALL, Manner()), asked(ledger, SMALL, Manner(most_nodes=most))
    assert (len(bounded.nodes), bounded.nodes_left_out) == (most, 100 - most)
    assert (bounded.node, bounded.sentence, bounded.reasons) == (whole.node, whole.sentence, whole.reasons)
    by_name = {node.node: node for node in whole.nodes}
    assert all(by_name[node.node] == node for node in bounded.nodes)
    assert [node.node for node in bounded.nodes if node.chosen] == [whole.node]


def test_every_kind_of_failure_is_among_the_nodes_reported() -> None:
    report = asked(cluster(), request("p", slice_ask(3, memory=from_gib(1))), Manner(most_nodes=4))
    assert {node.verdict for node in report.nodes} == {"no-such-cards", "unschedulable"}
    assert sum(reason.nodes for reason in report.reasons) == 100


def test_a_node_that_was_asked_for_is_among_them() -> None:
    manner = Manner(most_nodes=3, wanted=(NodeName("n077"), NodeName("nowhere")))
    assert "n077" in [node.node for node in asked(cluster(), SMALL, manner).nodes]


def test_suggestions_hold_wherever_they_were_tried() -> None:
    ledger = cluster()
    full = [Part(0, from_gib(30), 20), Part(1, from_gib(30), 20)]
    for at in range(0, 100, 2):
        ledger.put_tenant(tenant(f"u{at}", metax_node(f"n{at:03}", 2), *full))
    for manner in (Manner(), Manner(most_tried=8)):
        report = asked(ledger, BIG, manner)
        assert report.verdict == "waits"
        advice = {each.code: each for each in report.suggestions}
        assert advice["less-memory"].sentence.startswith("ask for 16 GiB less memory: 44 GiB")


def test_pods_of_other_namespaces_have_no_names() -> None:
    node = metax_node("n", 1)
    ledger = ledger_of(node)
    for name, namespace in (("a", "mine"), ("b", "theirs"), ("c", "theirs")):
        ledger.put_tenant(of_namespace(tenant(name, node, Part(0, from_gib(20), 10)), namespace))

    def text(manner: Manner) -> str:
        return msgspec.json.encode(asked(ledger, SMALL, manner)).decode()

    report = asked(ledger, SMALL, Manner(sees=mine))
    assert report.nodes[0].cards[0].holders == [SOMEBODY, SOMEBODY, "mine/a"]
    assert "theirs" not in text(Manner(sees=mine))
    assert text(Manner()).count("theirs/") >= 2


def test_a_suggestion_to_wait_for_somebody_elses_pod_does_not_name_it() -> None:
    node = metax_node("n", 1)
    ledger = ledger_of(node)
    ledger.put_tenant(of_namespace(tenant("secret", node, Part(0, from_gib(20), 10)), "theirs"))
    report = asked(ledger, BIG, Manner(sees=mine))
    advice = {each.code: each.sentence for each in report.suggestions}
    assert advice["when-pod-ends"] == "wait until a pod of another namespace ends"
    assert b"theirs" not in msgspec.json.encode(report)
    everybody = asked(ledger, BIG, Manner())
    assert "wait until pod theirs/secret ends" in [each.sentence for each in everybody.suggestions]


def test_a_cluster_in_numbers_leaves_promises_out_and_hides_guesses_of_others() -> None:
    node = metax_node("n", 2)
    ledger = ledger_of(node)
    for name, namespace in (("a", "mine"), ("b", "theirs")):
        made = of_namespace(tenant(name, node, Part(0, from_gib(1), 10)), namespace)
        ledger.put_tenant(msgspec.structs.replace(made, guessed=True))
    ledger.reserve(tenant("promised", node, Part(1, from_gib(1), 10)), expires_at=1.0, attempt=1)
    found = describe(ledger, ["mine/w"], sees=mine)
    assert (found.nodes, found.cards, found.running, found.guessed, found.waiting) == (
        1,
        2,
        2,
        ["mine/a"],
        ["mine/w"],
    )


def running(node: Node, made: Tenant) -> str:
    ledger = ledger_of(node)
    ledger.put_tenant(made)
    return running_report(ledger, made.pod, node.name).sentence


def test_a_pod_that_runs_is_told_where_and_on_which_cards() -> None:
    node = metax_node("n", 2)
    made = tenant("a", node, Part(1, from_gib(8), 20))
    assert running(node, made) == "default/a has its place already: node n, card 1 (8 GiB, 20% compute)."
    assert running(node, msgspec.structs.replace(made, guessed=True)) == (
        "default/a has its place already: node n, card 1 (8 GiB, 20% compute)"
        " (a guess: nobody wrote down which cards)."
    )
    assert running(node, tenant("web", node)) == (
        "default/web has its place already: node n; it holds no card of MetaX or Moore Threads."
    )
    gone = tenant("a", metax_node("n", 4), Part(3, from_gib(8), 20))
    assert running(node, gone).startswith("default/a has its place already: node n, card 3 (8 GiB")
    assert ended_report(made.pod).sentence == "default/a has ended, so it holds no card and waits for none."


def test_reasons_and_suggestions_have_words_for_programs() -> None:
    ledger = cluster()
    full = [Part(0, from_gib(30), 20), Part(1, from_gib(30), 20)]
    for at in range(0, 100, 2):
        ledger.put_tenant(tenant(f"u{at}", metax_node(f"n{at:03}", 2), *full))
    report = asked(ledger, BIG, Manner())
    assert {each.code: each.nodes for each in report.reasons} == {"memory": 90, "unschedulable": 10}
    advice = {each.code: each.change for each in report.suggestions}
    assert advice["less-memory"] == {"memory": str(from_gib(44)), "was": str(from_gib(60))}


def test_a_reason_has_the_word_of_the_rule_behind_it() -> None:
    node = metax_node("n", 1)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("t", node, Part(0)))
    mutex = request("p", slice_ask(memory=from_gib(1), cores=1), card_order=(CardOrder.MUTEX,))
    (only,) = asked(ledger, mutex, Manner(suggestions=False)).reasons
    assert (only.sentence, only.nodes, only.code) == ("cards are in use", 1, "mutex")


def test_the_node_that_is_chosen_and_no_other_tells_what_was_weighed() -> None:
    report = asked(cluster(), SMALL, Manner())
    weighed = {node.node: node.sets for node in report.nodes if node.sets}
    assert list(weighed) == [report.node]
    chosen, other = weighed[str(report.node)]
    assert (chosen.cards, chosen.chosen) == ([report.containers[0].cards[0].index], True)
    assert (other.chosen, other.cards != chosen.cards, other.score <= chosen.score) == (False, True, True)


def test_a_pod_that_runs_is_told_what_its_cards_are_worth_beside_the_runner_up() -> None:
    node = metax_node("n", 3)
    ledger = ledger_of(node)
    made = tenant("a", node, Part(1, from_gib(8), 20))
    ledger.put_tenant(made)
    held, other = running_report(ledger, made.pod, node.name).sets
    assert (held.cards, held.chosen) == ([1], True)
    assert other.cards in ([0], [2])
    assert not other.chosen
