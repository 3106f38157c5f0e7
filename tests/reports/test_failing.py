"""What is told when no node fits: every node once, few reasons, and the same ones until the trouble is another."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import metax_node, mthreads_node
from builders.explained import explained
from builders.requests import DEFAULTS, request, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.filter import Candidates
from tangram.engine.ledger import Ledger
from tangram.model.cards import AppClass, CardMode, QosPolicy, Vendor
from tangram.model.nodes import Node
from tangram.model.requests import AskKind, Request
from tangram.model.verdicts import CardRule, NodeRule, NodeVerdict
from tangram.reports.failing import UNREGISTERED, failure_of
from tangram.units.ids import NodeName
from tangram.units.memory import from_gib
from tangram.wire.events import MOST_REASONS
from tangram.wire.reasons import card_word, node_word

BIG = request("p", slice_ask(memory=from_gib(60), cores=10))


def busy(node: Node, memory: int = 8) -> Ledger:
    ledger = ledger_of(node, metax_node("whole", 2, mode=CardMode.WHOLE))
    every = [Part(at, from_gib(memory), 10) for at in range(len(node.cards))]
    ledger.put_tenant(tenant("t", node, *every))
    return ledger


def test_a_node_in_use_and_a_node_of_another_kind_are_told_apart() -> None:
    failure = failure_of(busy(metax_node("gpu-1", 2)), BIG, DEFAULTS)
    assert failure.reasons == {"gpu-1": "CardInsufficientMemory (cards have too little free memory)"}
    assert failure.unresolvable == {"whole": "NodeInsufficientDevice (too few cards of the kind asked)"}
    assert failure.words == {"CardInsufficientMemory": 1, "NodeInsufficientDevice": 1}
    assert failure.word == "CardInsufficientMemory"
    assert failure.texts == (
        "1 nodes CardInsufficientMemory(gpu-1)",
        "1 nodes NodeInsufficientDevice(whole)",
        "no available node, 2 nodes do not meet",
    )
    assert (
        failure.sentence == "none of 2 nodes fits "
        "(1 node: cards have too little free memory; 1 node: too few cards of the kind asked)"
    )


def test_the_texts_stay_the_same_while_amounts_change() -> None:
    """A pod whose message changes is tried again at once, for ever."""
    told = {
        tuple(failure_of(busy(metax_node("n", 2), memory), BIG, DEFAULTS).reasons.items())
        for memory in (5, 8, 30, 64)
    }
    assert len(told) == 1


def test_a_node_nobody_described_says_what_to_look_at() -> None:
    names = [NodeName("n"), NodeName("stranger")]
    failure = failure_of(busy(metax_node("n", 1)), BIG, DEFAULTS, Candidates(names=names, host_checked=True))
    assert failure.unresolvable == {
        "stranger": "node unregistered (it announces no cards; see that gpu-device runs there)"
    }
    assert failure.words[UNREGISTERED] == 1
    assert "1 nodes node unregistered(stranger)" in failure.texts


def test_no_node_at_all_is_a_sentence_too() -> None:
    failure = failure_of(Ledger(), BIG, DEFAULTS)
    assert (failure.reasons, failure.unresolvable, failure.words) == ({}, {}, {})
    assert failure.sentence == "there is no node to look at"
    assert failure.word == "NodeInsufficientDevice"


def test_a_cluster_with_every_kind_of_trouble_is_told_in_eight_reasons() -> None:
    nodes = [metax_node(f"n{number}", 1) for number in range(12)]
    changes = {
        0: {"healthy": False},
        1: {"cordoned": True},
        2: {"mode": CardMode.WHOLE},
        3: {"slots": 0},
        4: {"memory": from_gib(1)},
    }
    for at, change in changes.items():
        nodes[at] = msgspec.structs.replace(
            nodes[at], cards=(msgspec.structs.replace(nodes[at].cards[0], **change),)
        )
    ledger = ledger_of(*nodes)
    kinds = (
        (5, Part(0, from_gib(60), 10), QosPolicy.BEST_EFFORT, None),
        (6, Part(0, from_gib(1), 95), QosPolicy.BEST_EFFORT, None),
        (7, Part(0, from_gib(1), 10), QosPolicy.FIXED_SHARE, None),
        (8, Part(0, from_gib(1), 10), None, AppClass.OFFLINE),
        (9, Part(0, from_gib(1), 100), None, None),
    )
    for at, part, qos, app_class in kinds:
        ledger.put_tenant(tenant(f"t{at}", nodes[at], part, qos=qos, app_class=app_class))
    for at in (10, 11):
        ledger.put_node(msgspec.structs.replace(nodes[at], unschedulable=True))
    failure = failure_of(ledger, request("p", slice_ask(memory=from_gib(32), cores=10)), DEFAULTS)
    told = {**failure.reasons, **failure.unresolvable}
    assert len(told) == len(nodes)
    assert len(set(told.values())) == MOST_REASONS
    assert "other reasons" in told.values()


def _node(name: str, kind: int) -> Node:
    if kind == 0:
        return mthreads_node(name, 2)
    return metax_node(name, kind, mode=CardMode.WHOLE if kind == 3 else CardMode.SLICED)


def _words(verdict: NodeVerdict) -> set[str]:
    """What a slice of a MetaX card met on the node, card by card."""
    if verdict.rule is not NodeRule.CARDS:
        return {node_word(verdict.rule)}
    own = [card.rule for card in verdict.cards if card.rule not in (CardRule.ABSENT, CardRule.VENDOR)]
    return {card_word(rule, Vendor.METAX, AskKind.SLICE) for rule in own} or {
        node_word(NodeRule.NO_SUCH_CARDS)
    }


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(1, 64), st.integers(1, 3))
def test_every_candidate_is_told_once_and_its_words_are_those_of_its_explanation(
    kinds: list[int], memory: int, count: int
) -> None:
    nodes = [_node(f"n{number}", kind) for number, kind in enumerate(kinds)]
    ledger = ledger_of(*nodes)
    for node in nodes[::2]:
        ledger.put_tenant(tenant(f"t-{node.name}", node, Part(0, from_gib(40), 70)))
    asked = request("p", slice_ask(count, memory=from_gib(memory), cores=50))
    failing = [verdict for verdict in explained(ledger, asked, DEFAULTS).nodes if not verdict.fits]
    failure = failure_of(ledger, asked, DEFAULTS)
    assert failure.reasons.keys() | failure.unresolvable.keys() == {verdict.node for verdict in failing}
    assert not failure.reasons.keys() & failure.unresolvable.keys()
    counted: dict[str, int] = {}
    for verdict in failing:
        for word in _words(verdict):
            counted[word] = counted.get(word, 0) + 1
    assert failure.words == counted
    assert list(failure.words.values()) == sorted(counted.values(), reverse=True)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        pytest.param(
            request("p", whole_ask(3)), "NodeInsufficientDevice (too few cards of the kind asked)", id="count"
        ),
        pytest.param(
            request("p", whole_ask(2)),
            "CardTimeSlicingExhausted (cards have no slot left)",
            id="whole card in use",
        ),
    ],
)
def test_whole_cards_have_their_words(asked: Request, text: str) -> None:
    node = metax_node("n", 2, mode=CardMode.WHOLE)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("t", node, Part(0, from_gib(64), 100, AskKind.WHOLE), qos=None))
    failure = failure_of(ledger, asked, DEFAULTS)
    assert {**failure.reasons, **failure.unresolvable} == {"n": text}
