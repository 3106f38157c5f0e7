"""The pods of now, placed anew: what the process that replays makes of a question."""

from __future__ import annotations

import random
from statistics import fmean

import pytest

from builders.dashboards import GIB, NOW, card, held, node
from tangram.reports.status_shape import CORDONED, NOT_READY, UNHEALTHY, CardStatus, Holder, NodeStatus
from tangram.reports.view_shape import Rules, WaitingPod
from tangram.web.replay import asking
from tangram.web.replay.asking import question_from
from tangram.web.replay.shape import Answer
from tangram.web.replay.working import answer

SIZES = ((8, 10), (16, 25), (32, 50), (48, 75))


def rules(policy: str = "binpack", *cards: str) -> Rules:
    return Rules(node_policy=policy, card_policy=list(cards), scheduler_names=["tangram-scheduler"])


def random_cluster(seed: int, nodes: int = 5) -> list[NodeStatus]:
    """Sliced cards, filled at random."""
    chance = random.Random(seed)  # noqa: S311 - an example, no secret
    found: list[NodeStatus] = []
    for number in range(nodes):
        cards: list[CardStatus] = []
        for index in range(4):
            left = 100
            holders: list[Holder] = []
            while chance.random() < 0.6:
                memory, cores = chance.choice(SIZES)
                if cores > left:
                    break
                left -= cores
                holders.append(held(f"a/{number}-{index}-{left}", memory=memory * GIB, cores=cores))
            cards.append(card(index, *holders, node=f"n{number}", mode="sgpu", slots=16))
        found.append(node(f"n{number}", *cards))
    return found


def replayed(nodes: list[NodeStatus], policy: str = "binpack") -> Answer:
    question, _ = question_from(nodes, (), rules(policy), ())
    return answer(question)


def test_everybody_finds_a_place_again_and_idle_room_is_what_it_was() -> None:
    nodes = [
        node("a", card(0, held("x/whole", whole=True)), card(1, held("x/whole", whole=True)), card(2)),
        node(
            "b",
            card(0, held("x/slice", memory=32 * GIB, cores=50), mode="sgpu", slots=16),
            card(1, mode="sgpu"),
        ),
    ]
    found = replayed(nodes)
    assert [outcome.policy for outcome in found.outcomes] == ["binpack", "frag"]
    assert {outcome.placed for outcome in found.outcomes} == {2}
    assert {outcome.idle for outcome in found.outcomes} == {2.5}
    assert {(kind.whole, kind.cards, kind.memory) for kind in found.typical} == {
        (True, 2, 0),
        (False, 1, 32 * GIB),
    }
    (model,) = found.models
    assert (model.product, model.cards, model.idle) == ("MXC500", 5, 2.5)


def test_models_are_measured_against_the_pods_that_could_use_them() -> None:
    nodes = [
        node("a", card(0, held("x/train", whole=True)), card(1)),
        node(
            "b",
            card(0, held("x/chat", memory=48 * GIB, cores=75), mode="sgpu", slots=16, product="MXC550"),
            card(1, mode="sgpu", slots=16, product="MXC550"),
            card(2, vendor="mthreads", product="MTT S4000"),
        ),
    ]
    found = {model.product: model for model in replayed(nodes).models}
    assert {name: (each.cards, each.idle) for name, each in found.items()} == {
        "MXC500": (2, 1.0),
        "MXC550": (2, 1.25),
        "MTT S4000": (1, 1.0),
    }
    assert {name: (each.fragmented, each.without_demand) for name, each in found.items()} == {
        "MXC500": (0.0, 0.0),
        "MXC550": (0.25, 0.0),
        "MTT S4000": (0.0, 1.0),
    }


def test_where_frag_is_in_force_it_is_held_against_binpack() -> None:
    assert [outcome.policy for outcome in replayed(random_cluster(1), "frag").outcomes] == ["frag", "binpack"]


@pytest.mark.parametrize("policy", ["binpack", "spread"])
def test_on_average_frag_leaves_at_least_as_much_room_for_typical_pods(policy: str) -> None:
    """As the benchmarks of placement say; no promise for a single cluster."""
    pairs = [replayed(random_cluster(seed), policy).outcomes for seed in range(4)]
    assert fmean(frag.more_cards for _, frag in pairs) >= fmean(other.more_cards for other, _ in pairs) - 0.05
    assert fmean(frag.fragmented for _, frag in pairs) <= fmean(other.fragmented for other, _ in pairs) + 0.05


def test_virtual_functions_and_shared_places_are_asked_for_again_as_such() -> None:
    virtual = [held(f"x/{number}", whole=True) for number in range(2)]
    cards = card(0, *virtual, mode="vgpu", slots=4), card(1, mode="shared", slots=4)
    found = replayed([node("a", *cards)])
    assert {outcome.placed for outcome in found.outcomes} == {2}


def test_the_same_question_has_the_same_answer() -> None:
    first, second = replayed(random_cluster(3)), replayed(random_cluster(3))
    assert (first.outcomes, first.typical, first.models) == (second.outcomes, second.typical, second.models)


def test_cards_and_nodes_that_take_no_pods_are_left_out_with_whoever_is_on_them() -> None:
    both = held("x/both", whole=True)
    nodes = [
        node(
            "a", card(0, both, state=UNHEALTHY), card(1, both), card(2, held("x/fine", whole=True)), card(3)
        ),
        node("b", card(0, held("x/away", whole=True)), state=NOT_READY),
        node("c", card(0, state=CORDONED)),
    ]
    question, scope = question_from(nodes, (), rules(), ())
    assert (scope.nodes, scope.cards, scope.pods) == (1, 3, 1)
    assert [share.card for pod in question.pods for share in pod.shares] == [1]


def test_pods_are_placed_in_the_order_in_which_they_came_and_strangers_first_by_name() -> None:
    cards = [
        card(number, held(f"x/{name}", memory=(number + 1) * GIB, cores=1), mode="sgpu")
        for number, name in enumerate(("late", "b10", "b9", "early"))
    ]
    question, _ = question_from([node("a", *cards)], (), rules(), ("x/early", "x/late"))
    assert [pod.shares[0].memory // GIB for pod in question.pods] == [3, 2, 4, 1]


def test_what_waits_says_what_is_typical_and_is_not_placed() -> None:
    waiting = [
        WaitingPod(pod="a/x", uid="1", since=NOW, vendor="metax", cards=2),
        WaitingPod(pod="a/y", uid="2", since=NOW, vendor="", cards=2),
        WaitingPod(pod="a/z", uid="3", since=NOW, vendor="metax", cards=0),
    ]
    question, _ = question_from([node("a", card(0), card(1))], waiting, rules("binpack", "nonsense"), ())
    found = answer(question)
    assert [(kind.whole, kind.cards) for kind in found.typical] == [(True, 2)]
    assert {(outcome.placed, outcome.more) for outcome in found.outcomes} == {(0, 1.0)}


def test_of_a_large_cluster_a_fixed_part_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MOST_NODES", 10)
    monkeypatch.setattr(asking, "MOST_PODS", 12)
    nodes = [
        node(f"n{number}", card(0, held(f"a/{number}", whole=True)), card(1, held(f"b/{number}", whole=True)))
        for number in range(100)
    ]
    question, scope = question_from(nodes, (), rules(), ())
    assert scope.partly
    assert scope.of_nodes == 100
    assert scope.nodes <= 10
    assert len(question.pods) <= 12
    assert question_from(reversed(nodes), (), rules(), ())[0] == question
