"""Whoever waits for a removal is told how far it is, and what to do when nobody works on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from builders.operated_cluster import OperatedCluster, wishing
from builders.virtual_time import in_virtual_time
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.services.operator.remover import OBJECT_PATH
from tangram.services.operator.removing_watch import Removal, remove_and_wait
from tangram.wire.operator.names import FINALIZER


def removal(
    cluster: OperatedCluster, meanwhile: Callable[[int], None] = lambda _second: None
) -> tuple[Removal, list[str]]:
    said: list[str] = []

    async def main() -> Removal:
        clock = asyncio.get_running_loop().time

        async def others() -> None:
            for second in range(1000):
                await asyncio.sleep(1)
                meanwhile(second)

        task = asyncio.create_task(others())
        found = await remove_and_wait(cluster, "metax-operator", 60, said.append, clock)
        task.cancel()
        return found

    return in_virtual_time(main()), said


def with_object() -> OperatedCluster:
    cluster = OperatedCluster()
    cluster.put(OBJECT_PATH, {"metadata": {"finalizers": [FINALIZER]}})
    return cluster


def says(cluster: OperatedCluster, sentence: str) -> None:
    cluster.patch(OBJECT_PATH, {"status": {"state": "removing", "message": sentence}})


def test_it_waits_until_the_operator_lets_the_object_go_and_says_what_it_hears() -> None:
    cluster = with_object()

    def operate(second: int) -> None:
        if second < 5:
            says(cluster, "0 of 2 nodes are clean; n1 waits: driver-manager says working")
        elif second < 9:
            says(
                cluster, "DaemonSet metax-driver-manager must leave; n2 is passed over: the node is not ready"
            )
        elif OBJECT_PATH in cluster.objects:
            cluster.patch(OBJECT_PATH, {"metadata": {"finalizers": []}})

    found, said = removal(cluster, operate)
    assert (found.was_there, found.gone, found.problems) == (True, True, [])
    assert found.passed_over == "n2 is passed over: the node is not ready"
    assert said[0] == "the operator has not begun yet (1m left)"
    assert said[1].startswith("0 of 2 nodes are clean; n1 waits: driver-manager says working (5")
    assert len(said) == 3


def test_nothing_to_remove_is_no_problem() -> None:
    found, said = removal(OperatedCluster())
    assert (found.was_there, found.gone, said) == (False, True, [])


def test_without_an_operator_it_says_what_can_be_done() -> None:
    cluster = with_object()
    cluster.add_node("n1", wishing())
    found, _ = removal(cluster)
    assert not found.gone
    (problem,) = found.problems
    assert (
        "no operator works on it: Deployment metax-operator-controller in namespace metax-operator" in problem
    )
    assert "kubectl patch clusteroperators cluster-operator --type=merge" in problem
    assert [(node.name, node.what) for node in found.nodes] == [
        ("n1", "driver-manager says waiting; MXMACA says nothing; container-runtime says nothing")
    ]


def test_a_removal_that_takes_longer_names_what_it_waits_for_and_can_be_asked_again() -> None:
    cluster = with_object()
    found, _ = removal(cluster, lambda _second: says(cluster, "0 of 1 nodes are clean; n1 waits: x"))
    (problem,) = found.problems
    assert problem == (
        "ClusterOperator cluster-operator is still there after 1m: 0 of 1 nodes are clean; n1 waits: x; "
        "the operator goes on, so ask again"
    )


def test_an_object_that_was_made_anew_is_not_the_one_that_was_meant() -> None:
    cluster = with_object()

    def again(second: int) -> None:
        if second == 3:
            cluster.put(OBJECT_PATH, {"metadata": {"uid": "another"}})

    found, _ = removal(cluster, again)
    assert found.gone
    assert OBJECT_PATH in cluster.objects


@pytest.mark.parametrize(
    ("error", "said"),
    [
        pytest.param(
            ApiError(403, "Forbidden", "no"), "cannot be deleted: the API server answered 403", id="no right"
        ),
        pytest.param(ApiUnreachable("no route"), "the API server cannot be asked: no route", id="silence"),
    ],
)
def test_a_server_that_says_no_or_nothing_is_told_of(error: Exception, said: str) -> None:
    cluster = with_object()

    def refuse(*_request: object) -> None:
        raise error

    cluster.before = refuse
    found, _ = removal(cluster)
    assert not found.gone
    (problem,) = found.problems
    assert said in problem
