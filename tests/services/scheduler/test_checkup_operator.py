"""What the doctor says of a cluster with the GPU Operator: its own words, and what it cannot say itself."""

from collections.abc import Callable
from typing import Any

import pytest

from builders.api_server import Object, small_api_server
from builders.clusters_seen import NOW, SeenCluster
from tangram.drivers.doctor.findings import Finding
from tangram.kube.api import Api
from tangram.services.scheduler.checkup.diagnosis import diagnose_cluster
from tangram.services.scheduler.checkup.seeing import OPERATORS, look
from tangram.wire.operator.names import FINALIZER, OBJECT, UPGRADE
from tangram.wire.operator.node_states import Upgrade, UpgradePhase, state_text
from tangram.wire.operator.status import (
    Condition,
    ConditionType,
    NodeProblem,
    Nodes,
    State,
    Status,
    status_object,
)

Spoil = Callable[[SeenCluster], None]


def operator(status: Status | None, name: str = OBJECT, **metadata: Any) -> Object:  # noqa: ANN401 - any JSON
    kept = {"name": name, "generation": 1, "finalizers": [FINALIZER], **metadata}
    return {"metadata": kept, "status": status_object(status) if status else {}}


def status(state: State, message: str, **more: Any) -> Status:  # noqa: ANN401 - any field
    ready = Condition(
        type=ConditionType.READY, status=str(state is State.READY), reason="x", observed_generation=1
    )
    return Status(state=state, message=message, observed_generation=1, conditions=(ready,), **more)


async def findings(spoil: Spoil) -> list[Finding]:
    cluster = SeenCluster()
    spoil(cluster)
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = cluster.answer
        found = diagnose_cluster(await look(api, now=lambda: NOW)).findings
    return [each for each in found if each.check.startswith("gpu-operator")]


def without_kind(cluster: SeenCluster) -> None:
    assert OPERATORS not in cluster.lists


def with_operator(*things: Object) -> Spoil:
    def spoil(cluster: SeenCluster) -> None:
        cluster.lists[OPERATORS] = list(things)

    return spoil


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        pytest.param(without_kind, [], id="no-operator-no-word"),
        pytest.param(
            with_operator(
                operator(status(State.READY, "3 GPU nodes are ready", nodes=Nodes(managed=3, ready=3)))
            ),
            [
                "ok gpu-operator: ready: 3 GPU nodes are ready",
                "ok gpu-operator-nodes: no problem is known on 3 GPU nodes",
            ],
            id="ready",
        ),
        pytest.param(
            with_operator(operator(status(State.ERROR, "the spec is refused: ..."))),
            ["fail gpu-operator: error: the spec is refused: ..."],
            id="error",
        ),
        pytest.param(
            with_operator(operator(status(State.DEPLOYING, "driver-manager: ready on 1 of 3 nodes"))),
            ["warn gpu-operator: deploying: driver-manager: ready on 1 of 3 nodes"],
            id="deploying",
        ),
        pytest.param(
            with_operator(operator(None)),
            [
                (
                    "fail gpu-operator: silent: no operator has looked at it yet: see that Deployment "
                    "metax-operator-controller runs"
                )
            ],
            id="silent",
        ),
        pytest.param(
            with_operator(operator(None, finalizers=["gpu.metax-tech.com/finalizers"])),
            [
                (
                    "ok gpu-operator: ClusterOperator cluster-operator is kept by MetaX's own operator, "
                    "which is to be asked"
                )
            ],
            id="vendors",
        ),
        pytest.param(
            with_operator(operator(None, "mine")),
            [
                (
                    "warn gpu-operator: ClusterOperator mine is not looked at: there is one in a cluster, called "
                    "cluster-operator; edit that one"
                ),
                (
                    "ok gpu-operator: the kind is known and there is no ClusterOperator cluster-operator: "
                    "nothing is managed"
                ),
            ],
            id="another-name",
        ),
    ],
)
async def test_the_operator_is_passed_on(spoil: Spoil, told: list[str]) -> None:
    found = await findings(spoil)
    assert [f"{each.outcome} {each.check}: {each.why}" for each in found] == told


async def test_nodes_that_fail_are_named_with_what_to_do() -> None:
    image = "registry.example/gpu/driver-image:2.32.0"
    words = f"payload image {image} cannot be pulled on n2: no such host"
    problems = (
        NodeProblem(name="n2", part="payloads", message=words),
        *(
            NodeProblem(name=f"m{each}", part="driver-manager", message=f"m{each} failed")
            for each in range(6)
        ),
    )
    nodes = Nodes(managed=8, ready=1, problems=problems, more=3)
    found = await findings(with_operator(operator(status(State.DEPLOYING, "x", nodes=nodes))))
    named = [each for each in found if each.check == "gpu-operator-nodes"]
    assert named[0].why == words
    assert "check the image and its registry" in named[0].todo
    assert [each.why for each in named[1:]] == [
        *(f"m{each} failed" for each in range(4)),
        "5 more problems of nodes",
    ]
    assert {str(each.outcome) for each in named} == {"fail"}


async def test_a_node_that_is_held_for_long_is_told() -> None:
    def spoil(cluster: SeenCluster) -> None:
        note = Upgrade(to="2.33.0", phase=UpgradePhase.CORDONED, began="2026-11-15T17:00:00Z")
        cluster.lists["/api/v1/nodes"][0]["metadata"]["annotations"][UPGRADE] = state_text(note)
        with_operator(operator(status(State.DEPLOYING, "x")))(cluster)

    (held,) = [each for each in await findings(spoil) if each.check == "gpu-operator-holds"]
    assert held.why.startswith("gpu-1 is cordoned by the operator for a driver's upgrade, ")


async def test_who_may_not_look_is_told_so() -> None:
    found = await findings(lambda cluster: cluster.forbidden.add(OPERATORS))
    assert [f"{each.outcome} {each.why}" for each in found] == [
        "skip ClusterOperators may not be listed (you may not list clusteroperators)"
    ]
