"""What a GPU Operator left behind is cleaned up: marks of nodes, its ConfigMap, Lease, RuntimeClass and kind."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from builders.left_behind import LeftBehind, left_behind
from tangram.kube.api import Api
from tangram.kube.errors import ApiError
from tangram.services.installation import cleaning
from tangram.services.installation.cleaning import clean_up
from tangram.services.installation.cleaning_report import Cleanup
from tangram.services.installation.cleaning_waiting import Aim
from tangram.wire.operator import names
from tangram.wire.operator.definition import NAME, operator_definition
from tangram.wire.operator.node_states import Upgrade, UpgradePhase, state_text

HOME = "kube-system"
NODE = "/api/v1/nodes/gpu-1"
CONFIG_MAPS = f"/api/v1/namespaces/{HOME}/configmaps"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases"
KINDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OBJECTS = f"/apis/{names.API_VERSION}/{names.PLURAL}"


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[LeftBehind]:
    monkeypatch.setattr(cleaning, "SETTLED_S", 0.0)
    async with left_behind() as made:
        yield made


async def cleaned(cluster: LeftBehind, **aim: Any) -> Cleanup:  # noqa: ANN401 - whatever the record holds
    fields: dict[str, Any] = {"namespace": HOME, "chart": "metax-operator", "patience": 0.0}
    async with Api(cluster.connection) as api:
        return await clean_up(api, Aim(**(fields | aim)), lambda _said: None)


async def gone(cluster: LeftBehind, path: str) -> bool:
    try:
        await cluster.api.get(path)
    except ApiError as error:
        return error.status == 404
    return False


async def driver_config(cluster: LeftBehind) -> None:
    thing = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": names.DRIVER_CONFIG, "namespace": HOME, "labels": {"made-by": "us"}},
        "data": {"node-vfnums": "nodes: {}\n"},
    }
    await cluster.api.create(CONFIG_MAPS, thing, fieldManager="tangram-operator")


async def kind(cluster: LeftBehind) -> None:
    await cluster.api.create(KINDS, operator_definition(), fieldManager="helm")


async def test_marks_of_the_operator_and_its_agents_go_and_the_node_is_given_back(
    cluster: LeftBehind,
) -> None:
    await cluster.node()
    cordoned = {
        "metadata": {
            "labels": {names.MANAGED: "true"},
            "annotations": {
                names.TURN: "2.33.0",
                names.UPGRADE: state_text(Upgrade(to="2.33.0", phase=UpgradePhase.UPDATING)),
            },
        },
        "spec": {"unschedulable": True},
    }
    await cluster.api.merge(NODE, cordoned, fieldManager="tangram-operator")
    await cluster.writes(
        "tangram-driver-manager",
        "gpu-1",
        labels={names.DRIVER_READY: "true", names.MACA_READY: "true"},
        annotations={names.DRIVER_STATE: "{}", names.MACA_STATE: "{}"},
    )
    await cluster.writes(
        "tangram-container-runtime",
        "gpu-1",
        labels={names.RUNTIME_READY: "true"},
        annotations={names.RUNTIME_STATE: "{}"},
    )
    done = await cleaned(cluster)
    assert done.problems == []
    (told,) = done.nodes
    assert {*told.labels} == {names.MANAGED, names.DRIVER_READY, names.MACA_READY, names.RUNTIME_READY}
    node = await cluster.api.get(NODE)
    assert node["metadata"]["labels"].keys() == {"kubernetes.io/hostname"}
    assert node["metadata"]["annotations"].keys() == {"volumes.kubernetes.io/x"}
    assert "unschedulable" not in node.get("spec", {})


async def test_a_cordon_of_somebody_else_stays(cluster: LeftBehind) -> None:
    await cluster.node()
    await cluster.api.merge(NODE, {"spec": {"unschedulable": True}}, fieldManager="kubectl-cordon")
    await cluster.writes("tangram-operator", "gpu-1", labels={names.MANAGED: "true"})
    await cleaned(cluster)
    assert (await cluster.api.get(NODE))["spec"]["unschedulable"] is True


async def test_what_the_operator_made_goes_with_it(cluster: LeftBehind) -> None:
    await driver_config(cluster)
    await kind(cluster)
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "metax-operator", "namespace": HOME},
    }
    await cluster.api.create(LEASES, lease)
    done = await cleaned(cluster)
    assert done.problems == []
    assert done.objects == [
        f"ConfigMap {HOME}/driver-config",
        f"Lease {HOME}/metax-operator",
        f"the kind {NAME}",
    ]
    assert await gone(cluster, f"{CONFIG_MAPS}/driver-config")
    assert await gone(cluster, f"{KINDS}/{NAME}")


async def test_a_driver_config_that_somebody_has_edited_stays_and_is_named(cluster: LeftBehind) -> None:
    await driver_config(cluster)
    edited = {"data": {"node-vfnums": "nodes:\n  gpu-1:\n    vfnum: 2\n"}}
    await cluster.api.merge(f"{CONFIG_MAPS}/driver-config", edited, fieldManager="kubectl-edit")
    done = await cleaned(cluster)
    assert not await gone(cluster, f"{CONFIG_MAPS}/driver-config")
    assert not any("driver-config" in each for each in done.objects)
    (left,) = [each for each in done.left if "driver-config" in each.what]
    assert left.why == "kubectl-edit wrote it as well"


async def test_the_kind_stays_while_an_object_is_of_it(cluster: LeftBehind) -> None:
    await kind(cluster)
    thing = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": {"name": names.OBJECT}}
    await cluster.api.create(OBJECTS, thing)
    done = await cleaned(cluster)
    (problem,) = done.problems
    assert problem == (
        f"the kind {NAME}: cluster-operator of it is still there; kubectl delete clusteroperators cluster-operator, "
        "and ask again"
    )
    assert not await gone(cluster, f"{KINDS}/{NAME}")


async def test_the_kind_of_another_operator_stays_and_is_told(cluster: LeftBehind) -> None:
    theirs = operator_definition()
    del theirs["metadata"]["labels"]
    await cluster.api.create(KINDS, theirs, fieldManager="helm")
    done = await cleaned(cluster)
    assert f"the kind {NAME}" in [each.what for each in done.left]
    assert not await gone(cluster, f"{KINDS}/{NAME}")


@pytest.mark.parametrize("chart", ["tangram", "metax-gpu-extensions"])
async def test_the_other_charts_leave_all_of_it_alone(cluster: LeftBehind, chart: str) -> None:
    await cluster.node()
    await cluster.writes("tangram-operator", "gpu-1", labels={names.MANAGED: "true"})
    await driver_config(cluster)
    await kind(cluster)
    done = await cleaned(cluster, chart=chart)
    assert (done.nodes, done.objects) == ([], [])
