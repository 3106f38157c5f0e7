"""The whole operator over the sandbox's API server: a driver is upgraded, and everything is taken away again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest

from builders.operated import NEVER, Operated, operated, operator_on
from builders.waiting import until
from tangram.kube.errors import ApiError
from tangram.services.operator import applying, service, upgrading
from tangram.services.operator.node_views import OUR_ANNOTATIONS, OUR_LABELS, NodeView, node_view
from tangram.wire.operator import names
from tangram.wire.operator.node_states import (
    DriverState,
    MacaState,
    Phase,
    RuntimeState,
    Source,
    Upgrade,
    UpgradePhase,
    state_text,
)
from tangram.wire.operator.status import State


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PACE_S", 0.02)
    monkeypatch.setattr(service, "EVERY_S", 0.5)
    monkeypatch.setattr(applying, "FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr(upgrading, "SETTLE_S", 0.0)


def driver(running: str, wanted: str, phase: Phase = Phase.WAITING) -> DriverState:
    return DriverState(
        phase=phase, running=running, wanted=wanted, needs_turn=running != wanted, source=Source.CLOUD
    )


async def view_of(scene: Operated, name: str) -> NodeView:
    return node_view(await scene.cluster.get("nodes", name))


@asynccontextmanager
async def kubelets(scene: Operated) -> AsyncGenerator[None]:
    """Pods that were told to go end at once."""

    async def end_pods() -> None:
        while True:
            for pod in await scene.cluster.all("pods"):
                if pod["metadata"].get("deletionTimestamp"):
                    path = scene.cluster.path("pods", pod["metadata"]["name"])
                    with suppress(ApiError):
                        await scene.api.delete(path, {"gracePeriodSeconds": 0})
            await asyncio.sleep(0.05)

    task = asyncio.create_task(end_pods())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_driver_is_upgraded_and_the_node_is_in_service_again() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        await scene.add_node("n1")
        async with operator_on(scene):
            await scene.bring_up("n1")
            await scene.driver_done("n1", driver("1.0", "2.0"))
            await scene.cluster.until("nodes", "n1", lambda seen: node_view(seen).turn == "2.0")
            seen = await view_of(scene, "n1")
            assert seen.unschedulable
            assert seen.upgrade is not None
            assert seen.upgrade.phase is UpgradePhase.UPDATING
            await scene.driver_done("n1", driver("1.0", "2.0", Phase.WORKING), ready=False)
            told = await scene.status(lambda status: status.upgrade_status is not None)
            assert told.upgrade_status is not None
            assert told.upgrade_status.to == "2.0"
            await scene.driver_done("n1", driver("2.0", "2.0", Phase.READY))
            await scene.cluster.until("nodes", "n1", lambda seen: not node_view(seen).unschedulable)
            after = await view_of(scene, "n1")
            assert (after.upgrade, after.turn) == (None, None)
            await scene.status(
                lambda status: (
                    status.upgrade_status is not None and status.upgrade_status.message == "1 of 1 nodes done"
                )
            )


async def test_deleting_the_object_cleans_the_nodes_and_then_lets_it_go() -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        await scene.add_node("n1")
        async with kubelets(scene), operator_on(scene) as operator:
            await scene.bring_up("n1")
            await scene.status(lambda status: status.state is State.READY)
            await scene.api.delete("/apis/gpu.metax-tech.com/v1alpha1/clusteroperators/cluster-operator")
            await scene.status(lambda status: status.state is State.REMOVING)
            await scene.cluster.until("nodes", "n1", lambda seen: node_view(seen).removing)
            removed = {
                names.DRIVER_STATE: state_text(DriverState(phase=Phase.REMOVED)),
                names.MACA_STATE: state_text(MacaState(phase=Phase.REMOVED)),
                names.RUNTIME_STATE: state_text(RuntimeState(phase=Phase.REMOVED)),
            }
            await scene.write("n1", {}, removed)
            await until(lambda: operator.copies.operator() is None)
            seen = await scene.cluster.get("nodes", "n1")
            metadata = seen["metadata"]
            assert not OUR_LABELS & metadata["labels"].keys()
            assert not OUR_ANNOTATIONS & metadata.get("annotations", {}).keys()
            assert [name for name in operator.copies.live() if name.kind != "ConfigMap"] == []


async def test_a_node_that_was_begun_is_given_back_though_nothing_says_what_is_wanted() -> None:
    async with operated() as scene:
        # Refused, and nobody remembers what was wanted before.
        await scene.ask_for({"driver": {"deployPolicy": "Always"}})
        await scene.add_node("n1")
        await scene.driver_done("n1", DriverState(phase=Phase.READY, wanted="2.0", running="2.0"))
        note = state_text(Upgrade(to="2.0", phase=UpgradePhase.UPDATING))
        await scene.write("n1", {names.MANAGED: "true"}, {names.UPGRADE: note})
        await scene.cluster.change("nodes", "n1", {"spec": {"unschedulable": True}})
        async with operator_on(scene):
            await scene.cluster.until("nodes", "n1", lambda node: not node["spec"].get("unschedulable"))
            status = await scene.status(lambda status: status.state is State.ERROR)
            assert "driver.payload.version is missing" in status.message
