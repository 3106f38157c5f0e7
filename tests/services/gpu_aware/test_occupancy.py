"""Who holds which card, summed up by node."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.gpu_aware import Object, asking_pod
from tangram.services.gpu_aware.occupancy import NOTHING, Holder, NodeUse, Occupancy, holder_of
from tangram.units.ids import CardUuid

holders = st.builds(
    Holder,
    st.sampled_from(["a", "b"]),
    st.frozensets(st.builds(CardUuid, st.sampled_from(["x", "y", "z"]))),
    st.integers(0, 3),
    st.frozensets(st.builds(CardUuid, st.sampled_from(["x", "y"]))),
)
steps = st.lists(st.tuples(st.sampled_from(["p", "q", "r"]), st.none() | holders))


def bound(pod: Object, node: str = "gpu-1", **annotations: str) -> Object:
    pod["spec"]["nodeName"] = node
    pod["metadata"]["annotations"] = annotations
    return pod


def test_a_bound_pod_without_an_allocation_holds_cards_nobody_can_name() -> None:
    assert holder_of(bound(asking_pod(2))) == Holder("gpu-1", unnamed=2)


def test_a_pod_that_says_which_cards_it_has_holds_those() -> None:
    rows = json.dumps([[{"uuid": "GPU-a", "compute": 100, "vRam": 65536}]])
    pod = bound(asking_pod(1), **{"metax-tech.com/gpu-devices-allocated": rows})
    card = frozenset({CardUuid("GPU-a")})
    assert holder_of(pod) == Holder("gpu-1", card, whole=card)


@pytest.mark.parametrize(
    ("security", "annotations"),
    [
        pytest.param({"privileged": True}, {}, id="privileged"),
        pytest.param({}, {"hami.io/gpu-scheduler-policy": "bin-pack"}, id="an unknown policy"),
        pytest.param({}, {"metax-tech.com/gpu-devices-allocated": "[["}, id="a spoilt allocation"),
        pytest.param(
            {}, {"metax-tech.com/gpu-devices-allocated": '[[{"uuid":"a"},{"uuid":"b"}]]'}, id="too many"
        ),
    ],
)
def test_what_admission_would_refuse_holds_as_many_cards(
    security: Object, annotations: dict[str, str]
) -> None:
    pod = bound(asking_pod(1), **annotations)
    pod["spec"]["containers"][0]["securityContext"] = security
    assert holder_of(pod) == Holder("gpu-1", unnamed=1)


def test_pods_that_hold_nothing_are_no_holders() -> None:
    assert holder_of(asking_pod(2)) is None
    assert holder_of(bound(asking_pod())) is None
    assert holder_of(bound(asking_pod("many"))) == Holder("gpu-1", unnamed=1), (
        "it has some, and one is the least"
    )
    ended = bound(asking_pod(2))
    ended["status"] = {"phase": "Succeeded"}
    assert holder_of(ended) is None


@given(steps)
def test_what_a_node_has_in_use_is_the_sum_of_who_is_there(changes: list[tuple[str, Holder | None]]) -> None:
    occupancy, present = Occupancy(), dict[str, Holder | None]()
    for key, new in changes:
        occupancy.change(key, present.get(key), new)
        present[key] = new
    for node in ("a", "b"):
        there = [each for each in present.values() if each is not None and each.node == node]
        expected = NodeUse(
            frozenset(card for each in there for card in each.cards),
            sum(each.unnamed for each in there),
            frozenset(card for each in there for card in each.whole),
        )
        assert occupancy.of(node) == expected
    assert occupancy.of("c") == NOTHING
