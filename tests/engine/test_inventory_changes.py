"""Nodes and cards that come, go and change under their tenants."""

import msgspec
import numpy as np
import pytest

from builders.clusters import metax_node
from builders.requests import DEFAULTS, indexes, pod, request, run, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, rules, tenant
from tangram.engine.filter import filter_nodes
from tangram.engine.ledger import Ledger
from tangram.model.cards import CardMode
from tangram.model.requests import HostAsk
from tangram.model.verdicts import CardRule
from tangram.units.ids import NodeName
from tangram.units.memory import from_gib

NODE = metax_node("n", 2)
ALL = slice_ask()
changed = msgspec.structs.replace


def used(ledger: Ledger, node: str = "n") -> list[int]:
    """GiB in use per card."""
    view = ledger.view((NodeName(node),))
    return [int(each) // from_gib(1) for each in view.use.memory[0, :2]]


def test_pods_seen_before_their_node_are_charged_when_it_comes() -> None:
    ledger = Ledger()
    ledger.put_tenant(tenant("p", NODE, Part(0)))
    ledger.put_node(NODE)
    assert used(ledger) == [1, 0]


def test_a_node_that_returns_finds_its_tenants_charged_and_those_that_left_gone() -> None:
    ledger = ledger_of(NODE)
    host = HostAsk(cpu_milli=500, memory=from_gib(1))
    ledger.put_tenant(tenant("stays", NODE, Part(0), host=host))
    ledger.put_tenant(tenant("leaves", NODE, Part(1), host=host))
    hopes = tenant("hopes", NODE, Part(1, from_gib(4)))
    assert ledger.reserve(hopes, expires_at=60, attempt=ledger.begin_attempt())
    ledger.remove_node(NODE.name)
    assert filter_nodes(ledger, request("q", ALL), DEFAULTS).node is None
    ledger.remove(pod("leaves").uid)
    ledger.expire(60)
    ledger.put_node(metax_node("n", 2, cpu_milli=1_000, host_memory=from_gib(2)))
    assert used(ledger) == [1, 0]
    view = ledger.view((NODE.name,))
    assert (int(view.nodes.cpu_free[0]), int(view.nodes.memory_free[0])) == (500, from_gib(1))


def test_a_card_that_vanishes_and_returns_still_belongs_to_its_tenant() -> None:
    ledger = ledger_of(NODE)
    ledger.put_tenant(tenant("p", NODE, Part(1)))
    ledger.put_node(changed(NODE, cards=NODE.cards[:1]))
    assert used(ledger) == [0, 0]
    assert rules(ledger, request("q", slice_ask(memory=from_gib(1), cores=1))) == [CardRule.FITS]
    ledger.put_node(NODE)
    assert used(ledger) == [0, 1]
    # In another order the cards are still themselves.
    ledger.put_node(changed(NODE, cards=NODE.cards[::-1]))
    assert used(ledger) == [1, 0]


def test_what_a_node_says_counts_from_the_next_decision_on() -> None:
    # B36: updates were noticed up to fifteen seconds late.
    ledger, sick = ledger_of(NODE), [changed(each, healthy=False) for each in NODE.cards]
    assert filter_nodes(ledger, request("q", ALL), DEFAULTS).node == "n"
    ledger.put_node(changed(NODE, cards=tuple(sick)))
    assert filter_nodes(ledger, request("q", ALL), DEFAULTS).node is None
    # B12: cards of a plugin that is gone stayed for ever.
    ledger.put_node(changed(NODE, cards=()))
    assert filter_nodes(ledger, request("q", ALL), DEFAULTS).node is None
    ledger.put_node(NODE)
    assert filter_nodes(ledger, request("q", ALL), DEFAULTS).node == "n"


def test_a_card_is_one_entry_however_it_is_offered() -> None:
    # B28: whole and sliced inventories were two lists, and the card was sold from both.
    node = metax_node("n", 1, mode=CardMode.UNDECIDED)
    sliced, whole = ledger_of(node), ledger_of(node)
    assert run(sliced, request("a", slice_ask(memory=from_gib(4), cores=10))) is not None
    assert run(sliced, request("b", whole_ask())) is None
    assert run(whole, request("a", whole_ask())) is not None
    assert run(whole, request("b", slice_ask(memory=from_gib(4), cores=10))) is None


def test_a_tenant_of_a_card_whose_mode_changed_is_not_forgotten() -> None:
    node = metax_node("n", 1)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("p", node, Part(0, from_gib(20), 10)))
    ledger.put_node(metax_node("n", 1, mode=CardMode.VIRTUAL, slots=4))
    # Three of four functions are free by count, but only two by memory.
    assert filter_nodes(ledger, request("q", whole_ask(3)), DEFAULTS).node is None
    assert indexes(run(ledger, request("q", whole_ask(2)))) == [0, 0]


@pytest.mark.parametrize("cards", [2, 20])
def test_rows_are_used_again_without_a_trace_of_the_node_before(cards: int) -> None:
    ledger = ledger_of(*(metax_node(f"n{at}", 2) for at in range(70)))
    for at in range(70):
        ledger.put_tenant(tenant(f"t{at}", metax_node(f"n{at}", 2), Part(0), host=HostAsk(cpu_milli=100)))
    gone = [NodeName(f"n{at}") for at in range(0, 70, 2)]
    for name in gone:
        ledger.remove_node(name)
    for at in range(40):
        ledger.put_node(metax_node(f"new{at}", cards, cpu_milli=1_000))
    fresh = ledger.view(tuple(NodeName(f"new{at}") for at in range(40)))
    assert not fresh.use.memory.any()
    assert not fresh.use.slots.any()
    assert np.unique(fresh.nodes.cpu_free).tolist() == [1_000]
    kept = ledger.view(tuple(NodeName(f"n{at}") for at in range(1, 70, 2)))
    assert np.unique(kept.use.slots[:, 0]).tolist() == [1]
    assert ledger.view().nodes.live.sum() == 75


def test_a_slice_of_a_card_that_our_agent_offers_whole_keeps_the_card_from_nobody() -> None:
    """A peer bound such a pod, and the kubelet started it without a card; on other nodes that is unknown."""
    whole = tuple(changed(card, mode=CardMode.WHOLE, slots=1) for card in NODE.cards)
    astray = tenant("astray", NODE, Part(0, from_gib(4), 10))
    for managed, taken in ((True, 0), (False, 4)):
        ledger = ledger_of(changed(NODE, cards=whole, managed=managed))
        ledger.put_tenant(astray)
        assert used(ledger) == [taken, 0]
    ledger = ledger_of(changed(NODE, cards=whole, managed=True))
    ledger.put_tenant(astray)
    assert filter_nodes(ledger, request("q", whole_ask(2)), DEFAULTS).node is not None
    ledger.put_node(changed(NODE, managed=True))
    assert used(ledger) == [4, 0], "once it is sliced the pod may get it"
    ledger.remove(pod("astray").uid)
    assert used(ledger) == [0, 0]
