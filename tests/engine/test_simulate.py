"""A stream of pods replayed: the published recipe of arrivals, and results that repeat to the last digit."""

import random
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import metax_node
from builders.requests import request, slice_ask, whole_ask
from tangram.engine.simulate import Arrival, ReplaySettings, arrivals, replay
from tangram.model.cards import CardMode
from tangram.model.requests import NodePolicy
from tangram.units.memory import from_gib

HALF = slice_ask(memory=from_gib(32), cores=50)
NODES = [metax_node("a", 2), metax_node("b", 2)]
SPREAD = ReplaySettings(policy=NodePolicy.SPREAD, seed=1)


def halves(count: int) -> list[Arrival]:
    return [Arrival(f"p{at:02}", request(f"p{at:02}", HALF), 500) for at in range(count)]


def test_originals_come_first_in_the_seeds_order_and_then_clones_of_them() -> None:
    pods = [*halves(3), Arrival("cpu", request("cpu"), 0)]
    # The recipe word by word: sort by name, shuffle, then draw evenly while the demand stays within the limit.
    order = random.Random(7)  # noqa: S311 - test data, not a secret
    expected = sorted(pods, key=lambda pod: pod.name)
    originals = expected.copy()
    order.shuffle(expected)
    demand = 1_500
    while True:
        drawn = originals[order.randrange(len(originals))]
        if demand + drawn.weight_milli > 5_200:
            break
        demand += drawn.weight_milli
        expected.append(drawn)
    settings = ReplaySettings(policy=NodePolicy.SPREAD, seed=7)
    assert list(arrivals(pods, 4_000, settings)) == expected
    assert list(arrivals(pods[::-1], 4_000, settings)) == expected


@given(st.lists(st.sampled_from([0, 250, 1000, 3000]), max_size=8), st.integers(0, 5), st.integers(0, 200))
def test_every_original_arrives_once_and_clones_never_pass_the_limit(
    weights: list[int], seed: int, percent: int
) -> None:
    pods = [Arrival(f"p{at}", request("p"), weight) for at, weight in enumerate(weights)]
    settings = ReplaySettings(policy=NodePolicy.SPREAD, seed=seed, until_percent=percent)
    stream = list(arrivals(pods, 4_000, settings))
    assert Counter(stream[: len(pods)]) == Counter(pods)
    if len(stream) > len(pods):
        assert sum(pod.weight_milli for pod in stream) <= 40 * percent


@pytest.mark.parametrize("policy", NodePolicy)
def test_the_same_input_gives_the_same_result_under(policy: NodePolicy) -> None:
    mixed = [*halves(4), *(Arrival(f"q{at}", request("q", slice_ask(2)), 2_000) for at in range(2))]
    settings = ReplaySettings(policy=policy, seed=3)
    first, second = replay(NODES, mixed, settings), replay(NODES[::-1], mixed[::-1], settings)
    assert first == second
    assert first.policy is policy
    assert (first.nodes, first.cards) == (2, 4)


def test_pods_that_do_not_fit_are_dropped_and_still_count_as_arrived() -> None:
    result = replay(NODES, halves(2), SPREAD)
    # Eight halves fill four cards; the limit of 130 % lets ten arrive.
    assert (result.pods_arrived, result.pods_placed) == (10, 8)
    assert result.unallocated_percent == 0
    assert result.unallocated_percent_at[50] == 50
    assert result.unallocated_percent_at[125] == 0


def test_a_short_stream_is_judged_at_its_end() -> None:
    settings = msgspec.structs.replace(SPREAD, until_percent=50)
    result = replay(NODES, halves(2), settings)
    assert (result.pods_arrived, result.unallocated_percent) == (4, 50)


@pytest.mark.parametrize(
    ("cards", "weight", "unallocated"),
    [
        pytest.param(7, 3, 14.2857, id="43, 86 and 129 percent: never 100"),
        pytest.param(2, 3, 100, id="one pod that is more than everything"),
    ],
)
def test_large_pods_may_step_over_the_point_where_demand_is_capacity(
    cards: int, weight: int, unallocated: float
) -> None:
    nodes = [metax_node("a", cards, mode=CardMode.WHOLE)]
    pods = [Arrival("p", request("p", whole_ask(weight)), weight * 1_000)]
    assert replay(nodes, pods, SPREAD).unallocated_percent == unallocated


def test_no_pods_or_no_cards_is_an_empty_result() -> None:
    assert replay(NODES, [], SPREAD).unallocated_percent == 100
    assert replay([], halves(1), SPREAD).pods_placed == 0


def test_progress_is_told_now_and_then_and_at_the_end() -> None:
    told: list[tuple[int, int]] = []
    replay(NODES, halves(60), SPREAD, on_progress=lambda done, total: told.append((done, total)))
    assert told == [(50, 60), (60, 60)]
