"""`tangram remove-operator` through the real command line and an API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from builders.commands import run
from builders.controlled import eventually
from builders.left_behind import LeftBehind, left_behind
from tangram.services.operator import removing_watch
from tangram.services.operator.remover import OBJECT_PATH
from tangram.wire.operator.definition import operator_definition
from tangram.wire.operator.names import API_VERSION, FINALIZER, KIND, OBJECT

OBJECTS = OBJECT_PATH.rpartition("/")[0]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[LeftBehind]:
    monkeypatch.setattr(removing_watch, "BETWEEN_S", 0.05)
    async with left_behind() as made:
        yield made


async def make_object(cluster: LeftBehind) -> None:
    await cluster.api.create(DEFINITIONS, operator_definition())
    metadata = {"name": OBJECT, "finalizers": [FINALIZER]}
    await cluster.api.create(
        OBJECTS, {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": {}}
    )


async def test_it_ends_when_the_operator_has_let_the_object_go(cluster: LeftBehind, tmp_path: Path) -> None:
    await make_object(cluster)
    file = str(cluster.kubeconfig(tmp_path))
    running = asyncio.create_task(asyncio.to_thread(run, "remove-operator", "--kubeconfig", file))

    async def told_to_go() -> str | None:
        return (await cluster.api.get(OBJECT_PATH))["metadata"].get("deletionTimestamp")

    await eventually(told_to_go)
    await cluster.api.merge(OBJECT_PATH, {"metadata": {"finalizers": []}})
    answer = await running
    assert (answer.status, answer.out) == (
        0,
        "ClusterOperator cluster-operator is gone, and its nodes are clean.\n",
    )


async def test_what_is_not_gone_in_time_is_told_and_is_the_exit_status(
    cluster: LeftBehind, tmp_path: Path
) -> None:
    await make_object(cluster)
    words = ("--timeout", "300ms", "--kubeconfig", str(cluster.kubeconfig(tmp_path)))
    answer = await asyncio.to_thread(run, "remove-operator", *words)
    assert answer.status == 1
    assert "no operator works on it" in answer.out
    said = json.loads((await asyncio.to_thread(run, "remove-operator", "-o", "json", *words)).out)
    assert (said["tangram"], said["was_there"], said["gone"]) == ("remove-operator/v1", True, False)


async def test_a_cluster_without_the_kind_has_nothing_to_remove(cluster: LeftBehind, tmp_path: Path) -> None:
    file = str(cluster.kubeconfig(tmp_path))
    answer = await asyncio.to_thread(run, "remove-operator", "--kubeconfig", file)
    assert (answer.status, answer.out) == (0, "ClusterOperator cluster-operator was not there.\n")


@pytest.mark.parametrize("words", [("--timeout", "soon"), ("-n", "No!"), ("-o", "xml")])
def test_what_cannot_be_meant_is_refused(words: tuple[str, ...]) -> None:
    answer = run("remove-operator", *words)
    assert answer.status == 2
    assert answer.err.count("\n") <= 3
