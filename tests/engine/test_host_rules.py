"""What the host around the cards allows: cordons, selectors, affinities, taints, processors and memory."""

import msgspec
import pytest

from builders.clusters import metax_node
from builders.explained import explained
from builders.requests import DEFAULTS, request, slice_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.filter import Candidates, filter_nodes
from tangram.engine.wording import node_sentence
from tangram.model.nodes import Node, Taint
from tangram.model.pods import LabelRule, NodePreference, Placing, Toleration
from tangram.model.requests import HostAsk
from tangram.model.verdicts import NodeRule
from tangram.units.memory import from_gib

ASK = slice_ask(memory=from_gib(1), cores=1)
changed = msgspec.structs.replace
PLAIN = metax_node("n", 1, labels={"zone": "a", "cores": "8", "empty": ""})
DEDICATED = Taint("dedicated", "gpu", "NoSchedule")
DRAINING = Taint("drain", "", "NoExecute")


def rule_of(node: Node, placing: Placing) -> NodeRule:
    (verdict,) = explained(ledger_of(node), changed(request("p", ASK), placing=placing), DEFAULTS).nodes
    return verdict.rule


@pytest.mark.parametrize(
    ("taint", "toleration", "welcome"),
    [
        pytest.param(DEDICATED, None, False, id="not tolerated"),
        pytest.param(
            DEDICATED, Toleration("dedicated", "Equal", "gpu", "NoSchedule"), True, id="word by word"
        ),
        pytest.param(DEDICATED, Toleration("dedicated", "Equal", "gpu"), True, id="any effect"),
        pytest.param(DEDICATED, Toleration("dedicated", "Equal", "cpu"), False, id="another value"),
        pytest.param(DEDICATED, Toleration("dedicated", "Exists"), True, id="any value"),
        pytest.param(DEDICATED, Toleration("", "Exists"), True, id="everything"),
        pytest.param(
            DEDICATED, Toleration("", "Exists", "", "NoExecute"), False, id="everything that evicts"
        ),
        pytest.param(DEDICATED, Toleration("other", "Exists"), False, id="another key"),
        pytest.param(DRAINING, None, False, id="evicting"),
        pytest.param(DRAINING, Toleration("drain", "Exists", "", "NoSchedule"), False, id="another effect"),
        pytest.param(Taint("soft", "", "PreferNoSchedule"), None, True, id="only a preference"),
    ],
)
def test_a_taint(taint: Taint, toleration: Toleration | None, *, welcome: bool) -> None:
    placing = Placing(tolerations=() if toleration is None else (toleration,))
    expected = NodeRule.FITS if welcome else NodeRule.TAINT
    assert rule_of(changed(PLAIN, taints=(taint,)), placing) is expected


@pytest.mark.parametrize(
    ("term", "matches"),
    [
        pytest.param((LabelRule("zone", "In", ("a", "b")),), True, id="In"),
        pytest.param((LabelRule("zone", "In", ("b",)),), False, id="In, another value"),
        pytest.param((LabelRule("rack", "In", ("a",)),), False, id="In, no such label"),
        pytest.param((LabelRule("zone", "NotIn", ("a",)),), False, id="NotIn"),
        pytest.param((LabelRule("rack", "NotIn", ("a",)),), True, id="NotIn, no such label"),
        pytest.param((LabelRule("empty", "Exists"),), True, id="Exists, though empty"),
        pytest.param((LabelRule("rack", "Exists"),), False, id="Exists, no such label"),
        pytest.param((LabelRule("rack", "DoesNotExist"),), True, id="DoesNotExist"),
        pytest.param((LabelRule("cores", "Gt", ("7",)),), True, id="Gt"),
        pytest.param((LabelRule("cores", "Gt", ("8",)),), False, id="Gt means more"),
        pytest.param((LabelRule("cores", "Lt", ("10",)),), True, id="Lt compares numbers, not text"),
        pytest.param((LabelRule("zone", "Gt", ("1",)),), False, id="Gt of a word"),
        pytest.param((LabelRule("cores", "Gt", ()),), False, id="Gt of nothing"),
        pytest.param((LabelRule("zone", "Like", ("a",)),), False, id="an unknown operator"),
        pytest.param((LabelRule("metadata.name", "In", ("n",), is_field=True),), True, id="the node's name"),
        pytest.param(
            (LabelRule("metadata.name", "NotIn", ("n",), is_field=True),), False, id="not this node"
        ),
        pytest.param(
            (LabelRule("zone", "Exists"), LabelRule("rack", "Exists")), False, id="all rules of a term"
        ),
        pytest.param((), False, id="an empty term matches nothing"),
    ],
)
def test_a_required_affinity_term(term: tuple[LabelRule, ...], *, matches: bool) -> None:
    expected = NodeRule.FITS if matches else NodeRule.AFFINITY
    assert rule_of(PLAIN, Placing(required=(term,))) is expected
    # One term of several is enough.
    assert rule_of(PLAIN, Placing(required=(term, (LabelRule("zone", "Exists"),)))) is NodeRule.FITS


@pytest.mark.parametrize(
    ("node", "placing", "sentence"),
    [
        pytest.param(changed(PLAIN, unschedulable=True), Placing(), "the node is cordoned", id="cordoned"),
        pytest.param(
            PLAIN,
            Placing(node_selector=(("zone", "b"),)),
            "nodeSelector wants zone=b, the node has 'a'",
            id="another label value",
        ),
        pytest.param(
            PLAIN,
            Placing(node_selector=(("rack", "1"),)),
            "nodeSelector wants rack=1, the node has no such label",
            id="no such label",
        ),
        pytest.param(
            changed(PLAIN, taints=(DEDICATED,)), Placing(), "taint dedicated=gpu:NoSchedule", id="a taint"
        ),
        pytest.param(
            changed(PLAIN, taints=(DRAINING,)), Placing(), "taint drain:NoExecute", id="a taint without value"
        ),
    ],
)
def test_the_host_says(node: Node, placing: Placing, sentence: str) -> None:
    (verdict,) = explained(ledger_of(node), changed(request("p", ASK), placing=placing), DEFAULTS).nodes
    assert node_sentence(verdict) == sentence


def test_a_cordon_is_tolerated_like_the_taint_it_is() -> None:
    cordoned = changed(PLAIN, unschedulable=True)
    assert rule_of(cordoned, Placing(tolerations=(Toleration("", "Exists"),))) is NodeRule.FITS


def test_rules_come_in_order_cordon_selector_affinity_taint_processors_memory_cards() -> None:
    node = changed(
        metax_node("n", 1, cpu_milli=0, host_memory=from_gib(0)), unschedulable=True, taints=(DEDICATED,)
    )
    asked = changed(
        request("p", slice_ask(memory=from_gib(99), cores=1)),
        placing=Placing(node_selector=(("zone", "b"),), required=((LabelRule("zone", "Exists"),),)),
        host=HostAsk(cpu_milli=1, memory=from_gib(1)),
    )
    repairs: list[Node] = [changed(node, unschedulable=False)]
    repairs.append(changed(repairs[-1], labels={"zone": "b"}))
    repairs.append(changed(repairs[-1], taints=()))
    repairs.append(changed(repairs[-1], host=changed(repairs[-1].host, cpu_milli=1)))
    repairs.append(changed(repairs[-1], host=changed(repairs[-1].host, memory=from_gib(1))))
    found = [explained(ledger_of(each), asked, DEFAULTS).nodes[0].rule for each in (node, *repairs)]
    assert found == [
        NodeRule.UNSCHEDULABLE,
        NodeRule.SELECTOR,
        NodeRule.TAINT,
        NodeRule.HOST_CPU,
        NodeRule.HOST_MEMORY,
        NodeRule.CARDS,
    ]


def test_hard_rules_are_not_asked_twice_when_kube_scheduler_has_asked_them() -> None:
    tainted = changed(metax_node("n", 1, cpu_milli=0), taints=(DEDICATED,))
    asked = changed(request("p", ASK), host=HostAsk(cpu_milli=1))
    assert filter_nodes(ledger_of(tainted), asked, DEFAULTS).node is None
    assert filter_nodes(ledger_of(tainted), asked, DEFAULTS, Candidates(host_checked=True)).node == "n"


def test_a_host_that_nobody_described_stops_nobody() -> None:
    asked = changed(request("p", ASK), host=HostAsk(cpu_milli=10**9, memory=from_gib(10**6)))
    assert filter_nodes(ledger_of(PLAIN), asked, DEFAULTS).node == "n"


def test_an_oversold_host_still_takes_pods_that_ask_nothing_of_it() -> None:
    node = metax_node("n", 1, cpu_milli=1_000, host_memory=from_gib(1))
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("t", node, Part(0), host=HostAsk(cpu_milli=2_000, memory=from_gib(2))))
    assert filter_nodes(ledger, request("p", ASK), DEFAULTS).node == "n"
    assert filter_nodes(ledger, changed(request("p", ASK), host=HostAsk(cpu_milli=1)), DEFAULTS).node is None


def test_what_was_worked_out_for_a_pod_is_worked_out_again_when_a_node_changes() -> None:
    wish = Placing(preferred=(NodePreference(1, (LabelRule("zone", "In", ("b",)),)),))
    asked = changed(request("p", ASK), placing=wish)
    ledger = ledger_of(metax_node("m", 1, labels={"zone": "b"}), metax_node("n", 1))
    assert filter_nodes(ledger, asked, DEFAULTS).node == "m"
    ledger.put_node(metax_node("n", 1, labels={"zone": "b"}))
    ledger.put_node(metax_node("m", 1))
    assert filter_nodes(ledger, asked, DEFAULTS).node == "n"
    ledger.remove_node(PLAIN.name)
    assert filter_nodes(ledger, asked, DEFAULTS).node == "m"
