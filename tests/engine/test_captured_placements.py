"""The placements a real HAMi made, made again: same node given, same cards, same amounts, same reasons."""

import pytest

from builders.captured import NODES, PODS, asked, given_by_hami, put_cluster_before
from builders.explained import explained
from builders.requests import DEFAULTS, run
from builders.tenants import ledger_of
from tangram.engine.filter import Candidates, filter_nodes
from tangram.engine.ledger import Ledger
from tangram.model.verdicts import CardRule, NodeRule
from tangram.units.ids import NodeName
from tangram.units.memory import MIB


def cluster_before(name: str) -> Ledger:
    ledger = Ledger()
    put_cluster_before(name, ledger)
    return ledger


@pytest.mark.parametrize("name", [name for name, said in PODS.items() if said["node"] is not None])
def test_on_the_node_hami_chose_the_same_cards_are_given_with_the_same_amounts(name: str) -> None:
    said = PODS[name]
    here = Candidates(names=(NodeName(said["node"]),))
    outcome = filter_nodes(cluster_before(name), asked(name), DEFAULTS, here)
    assert outcome.allocation is not None
    given = [
        [(share.index, share.memory // MIB, share.cores) for share in container.shares]
        for container in outcome.allocation.containers
    ]
    assert given == given_by_hami(said)


@pytest.mark.parametrize(
    ("name", "scores"),
    [
        pytest.param("s2", {"sgpu-a": 0.00, "sgpu-b": 0.56}, id="s2"),
        pytest.param("s4-two-cards", {"sgpu-a": 0.00}, id="s4"),
        pytest.param("s5-two-containers", {"sgpu-a": 3.06, "sgpu-b": 3.27}, id="s5"),
        pytest.param("s7-exclusive", {"sgpu-a": 3.06}, id="s7"),
        pytest.param("g1", {"gpu-a": 1490.00, "gpu-b": 1920.00}, id="g1"),
        pytest.param("m1", {"mt-a": 0.00}, id="m1"),
        pytest.param("m3-two", {"mt-a": 3.57}, id="m3"),
    ],
)
def test_the_nodes_that_fit_their_scores_and_the_winner_are_hamis(
    name: str, scores: dict[str, float]
) -> None:
    ledger = cluster_before(name)
    explanation = explained(ledger, asked(name), DEFAULTS)
    told = {verdict.node: round(verdict.score, 2) for verdict in explanation.nodes if verdict.fits}
    assert told == {name: pytest.approx(score, abs=0.01) for name, score in scores.items()}
    assert explanation.chosen == PODS[name]["node"]


def test_the_first_pod_of_an_empty_cluster_goes_to_the_smaller_name_where_hami_drew_lots() -> None:
    assert PODS["s1"]["node"] == "sgpu-b"
    outcome = filter_nodes(cluster_before("s1"), asked("s1"), DEFAULTS)
    assert outcome.node == "sgpu-a"


def test_the_pod_that_was_too_big_fails_for_hamis_reasons() -> None:
    explanation = explained(cluster_before("s8-too-big"), asked("s8-too-big"), DEFAULTS)
    assert explanation.chosen is None
    reasons = {
        verdict.node: sorted(card.rule.name for card in verdict.cards)
        for verdict in explanation.nodes
        if verdict.rule is NodeRule.CARDS
    }
    assert reasons == {
        "sgpu-a": [CardRule.MEMORY.name] * 2 + [CardRule.QOS.name] * 2,
        "sgpu-b": [CardRule.MEMORY.name] + [CardRule.QOS.name] * 3,
    }
    others = {verdict.rule for verdict in explanation.nodes if verdict.node not in reasons}
    assert others == {NodeRule.NO_SUCH_CARDS}


def test_nine_cards_are_more_than_any_node_has() -> None:
    explanation = explained(cluster_before("g4-nine"), asked("g4-nine"), DEFAULTS)
    assert {verdict.rule for verdict in explanation.nodes} == {NodeRule.NO_SUCH_CARDS}


def test_left_to_choose_alone_the_engine_finds_room_for_every_captured_pod() -> None:
    ledger = ledger_of(*NODES.values())
    unplaced = [name for name in PODS if run(ledger, asked(name)) is None]
    assert unplaced == ["s8-too-big", "g4-nine"]
