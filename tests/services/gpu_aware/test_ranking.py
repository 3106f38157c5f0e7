"""Scores from 0 to 10 that keep the order of what nodes are worth."""

import itertools
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.services.gpu_aware.ranking import scores, value
from tangram.services.gpu_aware.standing import Worth
from tangram.wire.gpu_aware_weights import Weights

figures = st.integers(-(2**31) + 1, 2**31 - 1)
weights = st.decimals(0, 999_999, places=6, allow_nan=False)
worths = st.dictionaries(
    st.text(min_size=1, max_size=4), st.none() | st.builds(Worth, figures, figures), max_size=40
)


def weighed(score: str, loss: str) -> Weights:
    return Weights(Decimal(score), Decimal(loss))


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        pytest.param("0.5", {"good": 10, "mild": 9}, id="usual"),
        pytest.param("5", {"good": 9, "mild": 10}, id="x10"),
    ],
)
def test_a_larger_loss_weight_turns_two_nodes_round(loss: str, expected: dict[str, int]) -> None:
    nodes = {"good": Worth(200, 100), "mild": Worth(110, 0)}
    assert scores(nodes, weighed("1.0", loss)) == expected


def test_a_score_weight_of_zero_leaves_the_choice_to_the_loss() -> None:
    nodes = {"a": Worth(660, 40), "b": Worth(10, 0)}
    assert scores(nodes, weighed("0", "1")) == {"a": 9, "b": 10}


def test_ties_that_rounding_would_break_stay_ties() -> None:
    nodes = {"a": Worth(3, 1), "b": Worth(0, 0)}
    assert scores(nodes, weighed("0.1", "0.3")) == {"a": 10, "b": 10}


def test_the_two_best_of_many_are_told_apart_however_near_they_are() -> None:
    nodes = {f"n{number}": Worth(number, 0) for number in range(1000)} | {"far": Worth(10**6, 0)}
    found = scores(nodes, Weights())
    assert (found["far"], found["n999"], found["n998"], found["n0"]) == (10, 9, 8, 1)


def test_a_node_without_topology_is_below_the_worst_that_has_one() -> None:
    assert scores({"bad": Worth(0, 10**9), "unknown": None}, Weights()) == {"bad": 10, "unknown": 0}


def test_nodes_that_all_say_nothing_are_all_alike() -> None:
    assert scores({"a": None, "b": None}, Weights()) == {"a": 0, "b": 0}


@given(worths=worths, score=weights, loss=weights)
def test_scores_are_legal_and_keep_the_order(
    worths: dict[str, Worth | None], score: Decimal, loss: Decimal
) -> None:
    scale = Weights(score, loss)
    found = scores(worths, scale)
    assert list(found) == list(worths)
    assert all(0 <= each <= 10 for each in found.values())
    known = sorted((value(worth, scale), found[name]) for name, worth in worths.items() if worth is not None)
    for (less, low), (more, high) in itertools.pairwise(known):
        assert low <= high
        assert (less < more) or low == high
    assert all((found[name] == 0) == (worth is None) for name, worth in worths.items())
    if known:
        best = known[-1][0]
        assert {name for name, each in found.items() if each == 10} == {
            name for name, worth in worths.items() if worth is not None and value(worth, scale) == best
        }
