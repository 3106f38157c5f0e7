"""Steps taken against an API server: patches, evictions, events, and what is done when somebody was faster."""

from __future__ import annotations

import asyncio
import datetime as dt
import json

import pytest

from builders.operated_cluster import NODES, OperatedCluster, wishing
from tangram.kube.errors import ApiError
from tangram.kube.recorder import Event
from tangram.services.operator.upgrader import Upgrader
from tangram.wire.operator.names import TURN, UPGRADE
from tangram.wire.operator.node_states import Phase
from tangram.wire.operator.spec import UpgradePolicy, WhenBusy
from tangram.wire.operator.status import UpgradeStatus

USUAL = UpgradePolicy()
EVICT = UpgradePolicy(when_busy=WhenBusy.EVICT)


class Scene:
    def __init__(self) -> None:
        self.cluster = OperatedCluster()
        self.events: list[Event] = []
        self.leading = True
        self.upgrader = Upgrader(
            self.cluster, self.events.append, leading=lambda: self.leading, now=lambda: self.cluster.now
        )

    def look(self, policy: UpgradePolicy = USUAL, seconds: float = 5) -> UpgradeStatus | None:
        self.cluster.now += dt.timedelta(seconds=seconds)
        return asyncio.run(self.upgrader.step(self.cluster.views(), policy))

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(event.reason.removeprefix("GpuDriverUpgrade"), event.message) for event in self.events]


@pytest.fixture
def scene() -> Scene:
    made = Scene()
    made.cluster.add_node("n1", wishing())
    return made


def test_one_node_from_its_wish_to_its_end(scene: Scene) -> None:
    scene.look()
    node = scene.cluster.node("n1")
    assert node["spec"]["unschedulable"] is True
    assert json.loads(node["metadata"]["annotations"][UPGRADE]) == {
        "to": "2.0",
        "phase": "cordoned",
        "began": "2026-05-04T12:00:05Z",
    }
    scene.look()
    assert scene.cluster.node("n1")["metadata"]["annotations"][TURN] == "2.0"
    scene.cluster.say("n1", wishing(phase=Phase.WORKING))
    status = scene.look()
    assert status is not None
    assert status.message == "0 of 1 nodes done; n1 is being updated to 2.0"
    scene.cluster.say("n1", wishing("2.0", phase=Phase.READY))
    scene.look()
    after = scene.cluster.node("n1")
    assert "unschedulable" not in after["spec"]
    assert not {UPGRADE, TURN} & after["metadata"]["annotations"].keys()
    assert scene.told == [
        ("Started", "the driver goes from 1.0 to 2.0: the node is cordoned until it is done"),
        ("Turn", "no pod holds a card any more: driver-manager may change the driver to 2.0 now"),
        ("Finished", "driver 2.0 runs, and the node is uncordoned"),
    ]
    assert scene.look() is not None
    assert len(scene.cluster.writes) == 3, "nothing is written when nothing changes"


def test_a_failure_is_told_and_the_node_serves_with_what_it_had(scene: Scene) -> None:
    scene.look()
    scene.look()
    scene.cluster.say("n1", wishing(phase=Phase.FAILED, code="wrong-kernel", why="no module for 6.1"))
    scene.look()
    view = scene.cluster.view("n1")
    assert not view.unschedulable
    assert view.upgrade is not None
    assert (view.upgrade.code, view.turn) == ("wrong-kernel", None)
    assert scene.told[-1] == (
        "Failed",
        "2.0 could not be put in place, and 1.0 runs again: no module for 6.1 (the node is in service)",
    )
    writes = len(scene.cluster.writes)
    scene.look(seconds=4000)
    assert len(scene.cluster.writes) == writes, "the same is not tried again"
    scene.cluster.patch(f"{NODES}/n1", {"metadata": {"annotations": {UPGRADE: None}}})
    scene.look()
    assert scene.cluster.view("n1").held


def test_pods_are_evicted_and_a_budget_that_forbids_it_is_named(scene: Scene) -> None:
    scene.cluster.add_pod("busy", "n1")
    scene.cluster.add_pod("plain", "n1", resource="cpu")
    scene.cluster.budgets["busy"] = "The disruption budget web needs 2 healthy pods and has 2 currently"
    scene.look(EVICT)
    status = scene.look(EVICT)
    assert status is not None
    assert status.message == (
        "0 of 1 nodes done; n1 waits for pod a/busy; pod a/busy may not be evicted yet: Cannot evict pod. "
        "The disruption budget web needs 2 healthy pods and has 2 currently"
    )
    scene.look(EVICT, seconds=1)
    asked = [path for method, path, _ in scene.cluster.writes if method == "POST"]
    assert asked == ["/api/v1/namespaces/a/pods/busy/eviction"], "not asked again at once"
    assert [reason for reason, _ in scene.told] == ["Started", "Waiting"], "told once"
    del scene.cluster.budgets["busy"]
    scene.look(EVICT, seconds=12)
    pods = {pod["metadata"]["name"]: pod["metadata"].get("deletionTimestamp") for pod in scene.cluster.pods()}
    assert pods["busy"] is not None
    assert pods["plain"] is None
    assert scene.cluster.view("n1").turn is None, "a pod that is going still holds its card"


def test_waiting_for_pods_asks_nobody_to_go(scene: Scene) -> None:
    scene.cluster.add_pod("busy", "n1")
    scene.look()
    scene.look()
    assert all(method == "PATCH" for method, _, _ in scene.cluster.writes)


def test_a_patch_that_came_too_late_is_decided_anew(scene: Scene) -> None:
    def cordon(method: str, _path: str, _body: object) -> None:
        if method == "PATCH":
            scene.cluster.cordon("n1")

    scene.cluster.before = cordon
    scene.look()
    assert not scene.cluster.view("n1").held
    assert scene.events == []


def test_whoever_does_not_lead_writes_nothing(scene: Scene) -> None:
    scene.leading = False
    assert scene.look() is not None
    assert scene.cluster.writes == []


def test_a_refusal_goes_to_whoever_looks_again(scene: Scene) -> None:
    def refuse(method: str, _path: str, _body: object) -> None:
        if method == "PATCH":
            raise ApiError(403, "Forbidden", "nodes is forbidden")

    scene.cluster.before = refuse
    with pytest.raises(ApiError, match="forbidden"):
        scene.look()
