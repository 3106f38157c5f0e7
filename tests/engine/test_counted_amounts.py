"""Koordinator's amounts on a node: what its kubelet would refuse is not placed there, and the reason says why."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import metax_node
from builders.explained import explained, kindest_preemption
from builders.requests import DEFAULTS, request, slice_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.adopt import adopt
from tangram.engine.decide import Memo, decide
from tangram.engine.failing import failing_nodes
from tangram.engine.filter import EVERY_NODE, Candidates, filter_nodes
from tangram.engine.ledger import Ledger
from tangram.engine.suggest import suggest
from tangram.engine.wording import node_sentence
from tangram.model.counted import COUNTED, Amounts, Counted, Stated
from tangram.model.nodes import HostCapacity, Node
from tangram.model.requests import HostAsk, Request
from tangram.model.verdicts import NodeRule, NodeVerdict
from tangram.reports.words import reason_words
from tangram.units.ids import NodeName
from tangram.units.memory import Bytes, from_gib
from tangram.vendors.names import KOORDINATOR_RESOURCES

changed = msgspec.structs.replace
TENTH = slice_ask(memory=from_gib(6), cores=10)


def stated(**amounts: int) -> Stated:
    return tuple(amounts.get(each.name) for each in COUNTED)


def asked(**amounts: int) -> Amounts:
    return tuple(amounts.get(each.name, 0) for each in COUNTED)


def node(name: str = "n", **amounts: int) -> Node:
    return changed(metax_node(name, 2), host=HostCapacity(counted=stated(**amounts)))


def pod(name: str = "p", priority: int = 0, **amounts: int) -> Request:
    counted = HostAsk(counted=asked(**amounts) if amounts else ())
    return changed(request(name, TENTH), host=counted, priority=priority)


def why(ledger: Ledger, wanted: Request, candidates: Candidates = EVERY_NODE) -> NodeVerdict:
    (verdict,) = explained(ledger, wanted, DEFAULTS, candidates).nodes
    return verdict


def test_the_names_are_koordinators() -> None:
    assert set(COUNTED) == KOORDINATOR_RESOURCES


@pytest.mark.parametrize("host_checked", [False, True], ids=["offline", "after kube-scheduler"])
@pytest.mark.parametrize(
    ("has", "wants", "fits"),
    [
        pytest.param({"CORE": 100}, {"CORE": 10}, True, id="enough"),
        pytest.param({"CORE": 10}, {"CORE": 10}, True, id="exactly enough"),
        pytest.param({"CORE": 9}, {"CORE": 10}, False, id="too little"),
        pytest.param({"CORE": 0}, {"CORE": 10}, False, id="left at 0"),
        pytest.param({"CORE": 0}, {"MEMORY": 10}, True, id="another name at 0"),
        pytest.param({}, {"CORE": 10}, True, id="nothing stated"),
        pytest.param({"CORE": 0}, {}, True, id="a pod in other words"),
        pytest.param({"CORE": 100, "SHARED": 0}, {"CORE": 10, "SHARED": 1}, False, id="one of two"),
    ],
)
def test_a_pod_fits_where_its_kubelet_would_take_it(
    *, has: dict[str, int], wants: dict[str, int], fits: bool, host_checked: bool
) -> None:
    candidates = Candidates(host_checked=host_checked)
    ledger, wanted = ledger_of(node("n", **has)), pod("p", 0, **wants)
    assert (filter_nodes(ledger, wanted, DEFAULTS, candidates).node == "n") is fits
    assert (decide(ledger, wanted, DEFAULTS, candidates, memo=Memo()).node == "n") is fits
    assert why(ledger, wanted, candidates).rule is (NodeRule.FITS if fits else NodeRule.HOST_COUNTED)


def test_the_reason_names_what_is_stated_requested_and_asked() -> None:
    here = node(CORE=100, MEMORY=from_gib(64))
    ledger = ledger_of(here)
    held = tenant("a", here, Part(0, from_gib(6), 10))
    ledger.put_tenant(changed(held, host=HostAsk(counted=asked(CORE=90, MEMORY=from_gib(60)))))
    assert node_sentence(why(ledger, pod(CORE=20))) == (
        "states koordinator.sh/gpu-core 100, its pods request 90 and this one 20: its kubelet would refuse the pod"
    )
    assert node_sentence(why(ledger, pod(MEMORY=from_gib(5)))) == (
        "states koordinator.sh/gpu-memory 64Gi, its pods request 60Gi and this one 5Gi: "
        "its kubelet would refuse the pod"
    )
    (group,) = failing_nodes(ledger, pod(CORE=20), DEFAULTS)[1]
    assert (
        reason_words(group.rule, group.most) == "too little of Koordinator's resources is stated on the node"
    )


def test_what_a_pod_held_is_given_back_with_its_end() -> None:
    here = node(CORE=100)
    ledger = ledger_of(here)
    ledger.put_tenant(changed(tenant("a", here, Part(0, Bytes(1), 1)), host=HostAsk(counted=asked(CORE=90))))
    assert filter_nodes(ledger, pod(CORE=20), DEFAULTS).node is None
    ledger.put_node(changed(here, labels={"new": "label"}))
    assert filter_nodes(ledger, pod(CORE=20), DEFAULTS).node is None
    ledger.remove(tenant("a", here).pod.uid)
    assert filter_nodes(ledger, pod(CORE=100), DEFAULTS).node == "n"


def test_a_node_that_loses_its_amounts_is_noticed_by_what_is_remembered() -> None:
    memo, ledger = Memo(), ledger_of(node(CORE=100))
    assert decide(ledger, pod(CORE=20), DEFAULTS, memo=memo).node == "n"
    ledger.put_node(node(CORE=0))
    assert decide(ledger, pod(CORE=20), DEFAULTS, memo=memo).node is None
    ledger.put_node(node())
    assert decide(ledger, pod(CORE=20), DEFAULTS, memo=memo).node == "n"


def test_a_weaker_pod_gives_way_where_its_amounts_are_in_the_way() -> None:
    here = node(CORE=100)
    ledger = ledger_of(here)
    weak = changed(tenant("weak", here, Part(0, from_gib(6), 10)), host=HostAsk(counted=asked(CORE=90)))
    ledger.put_tenant(weak)
    found = kindest_preemption(ledger, pod("strong", priority=10, CORE=20), DEFAULTS)
    assert found is not None
    assert [victim.pod for victim in found.victims] == [weak.pod]
    (advice,) = suggest(ledger, pod(CORE=20), DEFAULTS)
    assert advice.sentence == f"wait until pod {weak.pod} ends"


def test_less_of_the_host_is_no_advice_where_the_amounts_are_short() -> None:
    wanted = pod(CORE=20)
    wanted = changed(wanted, host=changed(wanted.host, cpu_milli=1000))
    assert suggest(ledger_of(node(CORE=0)), wanted, DEFAULTS) == ()


def test_a_pod_that_runs_already_is_charged_to_cards_whatever_the_amounts_say() -> None:
    guessed = adopt(ledger_of(node(CORE=0)), pod(CORE=20), NodeName("n"))
    assert [share.memory for share in guessed.allocation.containers[0].shares] == [from_gib(6)]
    assert guessed.host.counted == asked(CORE=20)


amounts = st.dictionaries(st.sampled_from(list(Counted)), st.integers(0, 60))


@given(
    has=amounts.map(lambda given: tuple(given.get(each) for each in COUNTED)),
    pods=st.lists(amounts.map(lambda given: tuple(given.get(each, 0) for each in COUNTED)), max_size=6),
)
def test_no_kubelet_is_ever_sent_more_than_its_node_states(has: Stated, pods: list[Amounts]) -> None:
    """Filter, memory and explanation agree, and the sums are a kubelet's own."""
    here = changed(metax_node("n", 2), host=HostCapacity(counted=has))
    ledger, memo = ledger_of(here), Memo()
    sums = [0] * len(COUNTED)
    for number, each in enumerate(pods):
        wanted = changed(request(f"p{number}", TENTH), host=HostAsk(counted=each))
        found = filter_nodes(ledger, wanted, DEFAULTS, Candidates(host_checked=True))
        taken = all(
            ask == 0 or limit is None or total + ask <= limit
            for ask, limit, total in zip(each, has, sums, strict=True)
        )
        assert (found.node is not None) is taken
        assert decide(ledger, wanted, DEFAULTS, memo=memo).node == found.node
        assert why(ledger, wanted).fits is taken
        if found.allocation is not None:
            held = tenant(f"p{number}", here, Part(0, Bytes(1), 1))
            ledger.put_tenant(changed(held, allocation=found.allocation, host=wanted.host))
            sums = [total + ask for total, ask in zip(sums, each, strict=True)]
