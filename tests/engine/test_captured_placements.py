"""The placements a real HAMi made, made again: same node given, same cards, same amounts, same reasons.

The capture leaves out some pods of the run. Two of them show in what HAMi did next and are put back: `s3` (the base
score of `sgpu-b` before `s5` is 3.27, of which s1 and s2 explain 2.30; one slot, 20 % and 8 GiB are the rest, and the
reasons given to `s8` say that its policy was best-effort) and `m2` (the base score of `mt-a` before `m3` is 3.57, of
which m1 explains 1.05; an exclusive card is the rest).
"""

from typing import Any

import pytest

from builders.captured import NODES, PODS, asked
from builders.requests import DEFAULTS, run
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.explain import explain
from tangram.engine.filter import Candidates, filter_nodes
from tangram.engine.ledger import Ledger
from tangram.model.allocations import Tenant
from tangram.model.verdicts import CardRule, NodeRule
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import MIB, Bytes, from_gib

LEFT_OUT: dict[str, Tenant] = {
    "s4-two-cards": tenant("s3", NODES["sgpu-b"], Part(1, from_gib(8), 20)),
    "m3-two": tenant("m2", NODES["mt-a"], Part(6, from_gib(48), 16), qos=None),
}
"""Keyed by the pod that came next."""


def cluster_before(name: str) -> Ledger:
    """The cluster as HAMi saw it when the pod came, every earlier pod where HAMi put it."""
    ledger = ledger_of(*NODES.values())
    for earlier, said in PODS.items():
        if earlier in LEFT_OUT:
            ledger.put_tenant(LEFT_OUT[earlier])
        if earlier == name:
            break
        if said["node"] is not None:
            parts = [
                Part(at, Bytes(mib * MIB), cores)
                for shares in given_by_hami(said)
                for at, mib, cores in shares
            ]
            ledger.put_tenant(tenant(earlier, NODES[said["node"]], *parts, qos=asked(earlier).qos))
    return ledger


def given_by_hami(said: dict[str, Any]) -> list[list[tuple[int, int, int]]]:
    """Per container the card's number, MiB and compute, from the allocation string."""
    (text,) = [
        text
        for key, text in said["annotations"].items()
        if key.endswith("devices-allocated") and ":" in text and "hami" in key
    ]
    uuids = [card.uuid for card in NODES[said["node"]].cards]
    return [
        [
            (uuids.index(CardUuid(uuid)), int(mib), int(cores))
            for uuid, _, mib, cores in (share.split(",") for share in container.split(":") if share)
        ]
        for container in text.split(";")
        if container
    ]


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
    explanation = explain(ledger, asked(name), DEFAULTS)
    told = {verdict.node: round(verdict.score, 2) for verdict in explanation.nodes if verdict.fits}
    assert told == {name: pytest.approx(score, abs=0.01) for name, score in scores.items()}
    assert explanation.chosen == PODS[name]["node"]


def test_the_first_pod_of_an_empty_cluster_goes_to_the_smaller_name_where_hami_drew_lots() -> None:
    assert PODS["s1"]["node"] == "sgpu-b"
    outcome = filter_nodes(cluster_before("s1"), asked("s1"), DEFAULTS)
    assert outcome.node == "sgpu-a"


def test_the_pod_that_was_too_big_fails_for_hamis_reasons() -> None:
    explanation = explain(cluster_before("s8-too-big"), asked("s8-too-big"), DEFAULTS)
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
    explanation = explain(cluster_before("g4-nine"), asked("g4-nine"), DEFAULTS)
    assert {verdict.rule for verdict in explanation.nodes} == {NodeRule.NO_SUCH_CARDS}


def test_left_to_choose_alone_the_engine_finds_room_for_every_captured_pod() -> None:
    ledger = ledger_of(*NODES.values())
    unplaced = [name for name in PODS if run(ledger, asked(name)) is None]
    assert unplaced == ["s8-too-big", "g4-nine"]
