"""Upgrades without ground: no object, no driver-manager, a wrong clock, a node that cannot be written."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any

import pytest
from msgspec.structs import replace

from builders.operated_cluster import NODES, START, OperatedCluster, held, wishing
from tangram.kube.errors import ApiError
from tangram.kube.recorder import Event
from tangram.services.operator.readiness import Judgement
from tangram.services.operator.reporting import judged
from tangram.services.operator.upgrader import Upgrader
from tangram.services.operator.upgrading import plan
from tangram.services.operator.upgrading_notes import status_of
from tangram.wire.operator.names import REMOVE, UPGRADE
from tangram.wire.operator.node_states import DriverState, Phase, UpgradePhase, state_text
from tangram.wire.operator.spec import UpgradePolicy, WhenBusy
from tangram.wire.operator.status import LONGEST_MESSAGE, Nodes, State, Status, UpgradeStatus

USUAL = UpgradePolicy(max_unavailable=5)
EVICT = UpgradePolicy(max_unavailable=5, when_busy=WhenBusy.EVICT)
MINUTE = dt.timedelta(minutes=1)


class Scene:
    def __init__(self) -> None:
        self.cluster = OperatedCluster()
        self.events: list[Event] = []
        self.upgrader = Upgrader(self.cluster, self.events.append, now=lambda: self.cluster.now)

    def hold(self, name: str, driver: DriverState, phase: UpgradePhase = UpgradePhase.UPDATING) -> None:
        self.cluster.add_node(name, driver)
        annotations: dict[str, Any] = {UPGRADE: state_text(held(phase=phase))}
        change = {"metadata": {"annotations": annotations}, "spec": {"unschedulable": True}}
        self.cluster.patch(f"{NODES}/{name}", change)

    def look(self, policy: UpgradePolicy = USUAL, *, deployed: bool = True) -> None:
        asyncio.run(self.upgrader.step(self.cluster.views(), policy, deployed=deployed))

    def give_back(self) -> None:
        asyncio.run(self.upgrader.give_back(self.cluster.views()))


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_without_a_driver_manager_nothing_is_begun_and_what_was_is_given_back(scene: Scene) -> None:
    scene.cluster.add_node("idle", wishing())
    scene.hold("waits", wishing(), UpgradePhase.CORDONED)
    scene.hold("works", wishing(phase=Phase.WORKING))
    scene.look(deployed=False)
    held_now = {name for name in ("idle", "waits", "works") if scene.cluster.view(name).unschedulable}
    assert held_now == {"works"}, "its pod may still be ending what it began"
    scene.cluster.now += 6 * MINUTE
    scene.look(deployed=False)
    assert not any(scene.cluster.view(name).unschedulable for name in ("idle", "waits", "works"))


def test_without_an_object_what_was_begun_is_brought_to_an_end_and_nothing_else_is_done(scene: Scene) -> None:
    scene.cluster.add_node("idle", wishing())
    scene.hold("done", wishing("2.0", phase=Phase.READY))
    scene.hold("works", wishing(phase=Phase.WORKING))
    scene.hold("waits", wishing(), UpgradePhase.CORDONED)
    scene.hold("goes", wishing(), UpgradePhase.CORDONED)
    scene.cluster.patch(f"{NODES}/goes", {"metadata": {"annotations": {REMOVE: "true"}}})
    scene.give_back()
    views = {name: scene.cluster.view(name) for name in ("idle", "done", "works", "waits", "goes")}
    assert {name for name, view in views.items() if view.unschedulable} == {"works", "goes"}
    assert views["goes"].removing
    writes = len(scene.cluster.writes)
    scene.give_back()
    assert len(scene.cluster.writes) == writes


def test_a_note_from_a_clock_that_was_ahead_is_written_anew_and_holds_nobody_up(scene: Scene) -> None:
    scene.hold("n1", wishing(), UpgradePhase.CORDONED)
    scene.cluster.now = START - dt.timedelta(days=1)
    scene.look()
    upgrade = scene.cluster.view("n1").upgrade
    assert upgrade is not None
    assert upgrade.began == "2026-05-03T12:00:00Z"
    scene.cluster.now += dt.timedelta(seconds=5)
    scene.look()
    assert scene.cluster.view("n1").turn == "2.0"


def test_pods_are_given_their_time_though_nobody_knows_when_it_began(scene: Scene) -> None:
    scene.hold("n1", wishing(), UpgradePhase.CORDONED)
    note = state_text(held(began="yesterday"))
    scene.cluster.patch(f"{NODES}/n1", {"metadata": {"annotations": {UPGRADE: note}}})
    scene.cluster.add_pod("busy", "n1")
    scene.look(EVICT)
    assert scene.cluster.view("n1").held


def test_a_node_that_cannot_be_written_keeps_no_other_cordoned(scene: Scene) -> None:
    scene.hold("a", wishing("2.0", phase=Phase.READY))
    scene.hold("b", wishing("2.0", phase=Phase.READY))

    def refuse(method: str, path: str, _body: object) -> None:
        if method == "PATCH" and path.endswith("/a"):
            raise ApiError(403, "Forbidden", "denied by a webhook")

    scene.cluster.before = refuse
    with pytest.raises(ApiError, match="webhook"):
        scene.look()
    assert not scene.cluster.view("b").unschedulable


def test_a_pod_that_was_asked_a_moment_ago_costs_no_look_at_all_nodes(scene: Scene) -> None:
    scene.hold("n1", wishing(), UpgradePhase.CORDONED)
    scene.cluster.now += MINUTE
    scene.cluster.add_pod("busy", "n1")
    scene.cluster.budgets["busy"] = "not now"
    asked: list[str] = []
    scene.cluster.before = lambda method, path, _body: asked.append(f"{method} {path}")
    scene.look(EVICT)
    assert f"GET {NODES}" in asked
    asked.clear()
    scene.look(EVICT)
    assert asked == []


def test_a_node_that_is_stuck_or_waits_is_told_once(scene: Scene) -> None:
    scene.hold("stuck", wishing(phase=Phase.WORKING))
    scene.hold("waits", wishing(), UpgradePhase.CORDONED)
    scene.cluster.now += 20 * MINUTE
    for number in range(3):
        scene.cluster.add_pod(f"p{number}", "waits")
    told: set[str] = set()
    for number in range(3):
        status = asyncio.run(scene.upgrader.step(scene.cluster.views(), USUAL))
        assert status is not None
        told.add(status.message.partition("; waits")[0])
        scene.cluster.now += MINUTE
        del scene.cluster.objects[f"/api/v1/namespaces/a/pods/p{number}"]
    assert len(told) == 1, "the same reads the same"
    assert sorted(event.about.name for event in scene.events) == ["stuck", "waits"]
    assert not any("a/p" in event.message for event in scene.events), "whose pods they are is not everybody's"


def test_many_queued_nodes_are_told_of_one_reason() -> None:
    cluster = OperatedCluster()
    for number in range(4):
        cluster.add_node(f"n{number}", wishing())
    notes = plan(cluster.views(), UpgradePolicy(), START).notes
    assert [note.sentence for note in notes[1:]] == [
        f"n{number} waits: maxUnavailable is 1" for number in (1, 2, 3)
    ]


def test_a_node_without_any_driver_is_counted_among_those_that_are_not_done() -> None:
    cluster = OperatedCluster()
    cluster.add_node("done", wishing("2.0"))
    cluster.add_node("bare", DriverState(phase=Phase.FAILED, wanted="2.0", why="no module for this kernel"))
    status = status_of(plan(cluster.views(), UpgradePolicy(), START).notes, cluster.views())
    assert status is not None
    assert status.message == "1 of 2 nodes done; 1 without any driver yet"
    assert (status.done, status.waiting, status.failed) == (1, 0, 0)


def test_what_is_told_stays_short_however_many_nodes_and_versions_there_are() -> None:
    cluster = OperatedCluster()
    for number in range(100):
        cluster.add_node(f"n{number:02}", wishing(wanted=f"2.{number}"))
    views = cluster.views()
    status = status_of(plan(views, UpgradePolicy(), START).notes, views)
    assert status is not None
    assert status.to == "2.0, 2.1, 2.10 and 97 more"
    found = judgement_of(status)
    assert found.upgrade_status is not None
    assert len(found.upgrade_status.message) <= LONGEST_MESSAGE


def judgement_of(upgrade: UpgradeStatus) -> Status:
    told = Judgement(
        state=State.DEPLOYING,
        message="",
        parts=(),
        nodes=Nodes(),
        ready_nodes="0/0",
        complete=False,
        degraded="",
        upgrading=True,
    )
    return judged({}, told, replace(upgrade, message="x" * 20_000), START)
