"""Sizes of ReplicaSets during a rollout: never too many pods, never too few that work, and always an end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.kube.objects import Object
from tangram.sandbox.controllers.rollout import (
    DESIRED,
    MOST,
    allowances,
    is_resized,
    resize,
    shrink_old,
    size_of_new,
)
from tangram.sandbox.controllers.shares import share, surge_and_unavailable


def deployment(
    replicas: int, surge: int | str = "25%", unavailable: int | str = "25%", kind: str = "RollingUpdate"
) -> Object:
    strategy: Object = {"type": kind}
    if kind == "RollingUpdate":
        strategy["rollingUpdate"] = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"metadata": {"name": "d"}, "spec": {"replicas": replicas, "strategy": strategy}}


def replica_set(name: str, replicas: int, working: int = 0, notes: dict[str, str] | None = None) -> Object:
    return {
        "metadata": {"name": name, "creationTimestamp": name, "annotations": notes or {}},
        "spec": {"replicas": replicas},
        "status": {"availableReplicas": working},
    }


def sizes(found: list[tuple[Object, int]]) -> dict[str, int]:
    return {each["metadata"]["name"]: size for each, size in found}


@pytest.mark.parametrize(
    ("value", "up", "expected"),
    [
        pytest.param("25%", True, 3, id="a quarter of ten, up"),
        pytest.param("25%", False, 2, id="a quarter of ten, down"),
        pytest.param(4, True, 4, id="a number"),
        pytest.param("four", True, 0, id="no percentage"),
        pytest.param(None, False, 0, id="nothing"),
    ],
)
def test_a_share_is_rounded_as_asked(value: int | str | None, up: bool, expected: int) -> None:  # noqa: FBT001 - a case
    assert share(value, 10, up=up) == expected


def test_where_neither_more_nor_fewer_would_do_one_may_be_missing() -> None:
    assert surge_and_unavailable("1%", 0, 0) == (0, 1)
    assert surge_and_unavailable(0, "1%", 10) == (0, 1)


def test_pods_replaced_at_once_have_no_allowances() -> None:
    assert allowances(deployment(4, kind="Recreate")) == (0, 0)


def test_the_new_set_grows_into_the_room_that_the_surge_leaves() -> None:
    wanted = deployment(4, 1, 1)
    assert size_of_new(wanted, [replica_set("1", 4, 4)], 0) == 1
    assert size_of_new(wanted, [replica_set("1", 3, 3), replica_set("2", 1)], 1) == 2
    assert size_of_new(wanted, [replica_set("2", 6)], 6) == 4


def test_broken_old_pods_go_before_working_ones() -> None:
    found = shrink_old(
        deployment(4, 1, 1), replica_set("3", 1, 0), [replica_set("1", 2, 2), replica_set("2", 2, 0)]
    )
    assert sizes(found) == {"2": 1}


def test_old_pods_wait_for_new_ones_that_do_not_work() -> None:
    assert shrink_old(deployment(3, 1, 0), replica_set("2", 1, 0), [replica_set("1", 3, 3)]) == []


@given(
    st.integers(1, 12),
    st.integers(0, 4),
    st.integers(0, 4),
    st.lists(st.integers(0, 12), max_size=60),
    st.integers(0, 12),
)
def test_a_rollout_stays_within_its_limits_and_ends(
    replicas: int, surge: int, unavailable: int, starts: list[int], broken: int
) -> None:
    wanted = deployment(replicas, surge, unavailable)
    more, fewer = allowances(wanted)
    old, new = replica_set("1", replicas, max(replicas - broken, 0)), replica_set("2", 0, 0)
    worked = old["status"]["availableReplicas"]
    # However slowly pods start, in the end they do.
    for started in [*starts, *[replicas] * (4 * replicas + 4)]:
        size = size_of_new(wanted, [old, new], new["spec"]["replicas"])
        if size != new["spec"]["replicas"]:
            new["spec"]["replicas"] = size
        else:
            for each, smaller in shrink_old(wanted, new, [old]):
                each["spec"]["replicas"] = smaller
                each["status"]["availableReplicas"] = min(each["status"]["availableReplicas"], smaller)
        working = old["status"]["availableReplicas"] + new["status"]["availableReplicas"]
        assert old["spec"]["replicas"] + new["spec"]["replicas"] <= replicas + more
        assert working >= min(replicas - fewer, worked)
        room = new["spec"]["replicas"] - new["status"]["availableReplicas"]
        new["status"]["availableReplicas"] += min(room, started)
    assert (old["spec"]["replicas"], new["spec"]["replicas"]) == (0, replicas)


def test_a_change_of_size_is_noticed_by_what_was_noted_last() -> None:
    assert not is_resized(deployment(3), [replica_set("1", 3, notes={DESIRED: "3"})])
    assert is_resized(deployment(4), [replica_set("1", 3, notes={DESIRED: "3"})])
    assert not is_resized(deployment(4), [replica_set("1", 0, notes={DESIRED: "3"})])


def test_one_running_set_takes_the_whole_change() -> None:
    assert sizes(resize(deployment(7), replica_set("2", 3), [replica_set("1", 0)])) == {"2": 7}
    assert sizes(resize(deployment(7), None, [replica_set("1", 0), replica_set("2", 0)])) == {"2": 7}
    assert resize(deployment(7), None, []) == []


def test_old_sets_go_when_the_new_one_is_enough() -> None:
    new = replica_set("2", 3, 3, {DESIRED: "3"})
    assert sizes(resize(deployment(3), new, [replica_set("1", 1, 1)])) == {"1": 0}


@given(st.lists(st.integers(1, 20), min_size=2, max_size=4), st.integers(0, 40), st.integers(0, 5))
def test_a_change_in_the_midst_of_a_rollout_is_shared_out_exactly(
    before: list[int], replicas: int, surge: int
) -> None:
    most = str(sum(before))
    every = [replica_set(str(number), size, 0, {MOST: most}) for number, size in enumerate(before)]
    found = resize(deployment(replicas, surge, 1), every[-1], every[:-1])
    assert sum(size for _, size in found) == (replicas + surge if replicas else 0)
    assert all(size >= 0 for _, size in found)
    assert len(found) == len(every)
