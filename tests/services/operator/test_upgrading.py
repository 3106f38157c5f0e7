"""One look at a cluster: which steps follow, and what is said about every node."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from msgspec.structs import replace

from builders.operated_cluster import START, held, wishing
from tangram.model.pods import PodRef
from tangram.services.operator.node_views import GpuPod, NodeView
from tangram.services.operator.upgrading import plan
from tangram.services.operator.upgrading_notes import status_of
from tangram.services.operator.upgrading_steps import (
    Cordon,
    Evict,
    Fail,
    Finish,
    Forget,
    GiveTurn,
    Step,
    Withdraw,
)
from tangram.units.ids import Namespace, NodeName, PodName, PodUid
from tangram.wire.operator.names import TURN, UPGRADE
from tangram.wire.operator.node_states import DriverState, Phase, UpgradePhase
from tangram.wire.operator.spec import UpgradePolicy, WhenBusy

USUAL = UpgradePolicy()
EVICT = UpgradePolicy(when_busy=WhenBusy.EVICT, evict_timeout="5m")
PAUSED = UpgradePolicy(paused=True)
LATER = START + dt.timedelta(seconds=30)
UPDATING = UpgradePhase.UPDATING


def node(name: str = "n1", driver: DriverState | None = None, **parts: Any) -> NodeView:  # noqa: ANN401 - passed on
    view = NodeView(
        name=NodeName(name),
        version="7",
        managed=True,
        ready=True,
        driver_ready=True,
        driver=driver or wishing(),
    )
    return replace(view, **parts)


def ours(name: str = "n1", driver: DriverState | None = None, **parts: Any) -> NodeView:  # noqa: ANN401 - passed on
    return node(name, driver, **{"unschedulable": True, "upgrade": held(), **parts})


def in_turn(driver: DriverState | None = None, **parts: Any) -> NodeView:  # noqa: ANN401 - passed on
    given: dict[str, Any] = {"upgrade": held(phase=UPDATING, seen="waiting 1.0  "), "turn": "2.0", **parts}
    return ours(driver=driver, **given)


def pod(name: str = "p", **parts: Any) -> GpuPod:  # noqa: ANN401 - passed on
    ref = PodRef(Namespace("a"), PodName(name), PodUid(f"uid-{name}"))
    return replace(GpuPod(ref=ref, node=NodeName("n1"), owner="Job train"), **parts)


def steps(
    *nodes: NodeView, policy: UpgradePolicy = USUAL, now: dt.datetime = LATER
) -> list[tuple[type[Step], str]]:
    return [(type(step), step.view.name) for step in plan(nodes, policy, now).steps]


def sentence(*nodes: NodeView, policy: UpgradePolicy = USUAL, now: dt.datetime = LATER) -> str:
    status = status_of(plan(nodes, policy, now).notes, nodes, paused=policy.paused)
    assert status is not None
    return status.message


# ---- which nodes are begun


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        pytest.param(node(), [(Cordon, "n1")], id="a wish"),
        pytest.param(node(managed=False), [], id="not managed"),
        pytest.param(node(ready=False), [], id="not ready"),
        pytest.param(node(leaving=True), [], id="being deleted"),
        pytest.param(node(unschedulable=True), [], id="cordoned by others"),
        pytest.param(node(upgrade_unreadable=True, unschedulable=True), [], id="unreadable note, cordoned"),
        pytest.param(node(upgrade_unreadable=True), [], id="unreadable note"),
        pytest.param(node(removing=True), [(Forget, "n1")], id="a removal that nobody wants"),
        pytest.param(node(driver=wishing(wanted="1.0")), [], id="runs what it wants"),
        pytest.param(node(driver=wishing(phase=Phase.WORKING)), [], id="works on something"),
        pytest.param(node(driver=wishing(phase=Phase.REMOVED)), [], id="removed"),
        pytest.param(
            node(driver=DriverState(phase=Phase.WAITING, wanted="2.0")), [], id="bare: no turn needed"
        ),
        pytest.param(node(upgrade=held(phase=UpgradePhase.FAILED)), [], id="failed for the same"),
        pytest.param(
            node(upgrade=held("1.5", UpgradePhase.FAILED)), [(Cordon, "n1")], id="failed for another version"
        ),
        pytest.param(
            node(driver=wishing(phase=Phase.FAILED)),
            [(Cordon, "n1")],
            id="failed, and somebody removed the note",
        ),
        pytest.param(node(turn="2.0", unschedulable=True), [(Forget, "n1")], id="a turn without a note"),
        pytest.param(
            node(turn="2.0", driver=wishing(phase=Phase.WORKING), unschedulable=True),
            [],
            id="the same, taken already",
        ),
        pytest.param(
            node(driver=wishing("2.0"), upgrade=held(phase=UpgradePhase.FAILED)),
            [(Forget, "n1")],
            id="failed once, runs now",
        ),
        pytest.param(
            node(
                driver=wishing("1.0", phase=Phase.READY, wanted="1.0"),
                upgrade=held(phase=UpgradePhase.FAILED),
            ),
            [(Forget, "n1")],
            id="failed for what nobody wants any more",
        ),
        pytest.param(
            node(
                driver=wishing("1.0", phase=Phase.READY, wanted="1.0", code="payload-absent"),
                upgrade=held(phase=UpgradePhase.FAILED),
            ),
            [],
            id="failed, and the payload is not there at the moment",
        ),
    ],
)
def test_a_node_is_begun_only_if_it_wishes_and_is_nobody_elses(
    view: NodeView, expected: list[tuple[type[Step], str]]
) -> None:
    assert steps(view) == expected


def test_nodes_are_begun_in_an_order_that_disturbs_least() -> None:
    nodes = [
        node("busy", pods=(pod("a"), pod("b"))),
        node("idle-2"),
        node("less", pods=(pod("c"),)),
        node("idle-1"),
        node("broken", driver_ready=False, pods=(pod("d"), pod("e"))),
    ]
    policy = UpgradePolicy(max_unavailable=5)
    order = [name for _, name in steps(*nodes, policy=policy)]
    assert order == ["broken", "idle-1", "idle-2", "less", "busy"]
    assert [name for _, name in steps(*reversed(nodes), policy=policy)] == order


@pytest.mark.parametrize(
    ("most", "others", "begun"),
    [
        pytest.param(1, [], 1, id="one"),
        pytest.param(2, [], 2, id="two"),
        pytest.param("50%", [], 3, id="percent"),
        pytest.param("49%", [], 2, id="percent is rounded down"),
        pytest.param("1%", [], 1, id="but not to none"),
        pytest.param(2, [ours("h")], 1, id="one is held"),
        pytest.param(2, [node("x", wishing(wanted="1.0"), ready=False)], 1, id="one is away"),
        pytest.param(
            1, [node("x", wishing(wanted="1.0"), driver_ready=False)], 0, id="one has no working driver"
        ),
        pytest.param(
            2, [node("x", unschedulable=True)], 2, id="one is cordoned by others, which is not ours to count"
        ),
        pytest.param(2, [ours("h", managed=False)], 1, id="one is held and not managed any more"),
    ],
)
def test_no_more_nodes_are_begun_than_the_budget_has_left(
    most: int | str, others: list[NodeView], begun: int
) -> None:
    nodes = [*(node(f"n{number}") for number in range(6 - (len(others) if most == "50%" else 0))), *others]
    found = steps(*nodes, policy=UpgradePolicy(max_unavailable=most), now=START)
    assert sum(kind is Cordon for kind, _ in found) == begun


def test_a_node_whose_driver_does_not_work_costs_nothing_but_a_hand() -> None:
    broken = [node(name, driver_ready=False) for name in ("b1", "b2")]
    assert steps(*broken, node("n1")) == [(Cordon, "b1")]
    assert "n1 waits: b1, b2 out of service, and maxUnavailable allows 1" in {
        note.sentence for note in plan([*broken, node("n1")], USUAL, LATER).notes
    }


# ---- held, before the turn


@pytest.mark.parametrize(
    ("view", "policy", "expected"),
    [
        pytest.param(ours(), USUAL, GiveTurn, id="empty"),
        pytest.param(ours(pods=(pod(),)), USUAL, None, id="busy, wait"),
        pytest.param(ours(pods=(pod(),)), EVICT, Evict, id="busy, evict"),
        pytest.param(ours(pods=(pod(leaves_by=LATER),)), EVICT, None, id="already going"),
        pytest.param(ours(pods=(pod(daemon=True),)), EVICT, None, id="of a DaemonSet"),
        pytest.param(ours(pods=(pod(mirror=True),)), EVICT, None, id="of the node itself"),
        pytest.param(ours(ready=False), USUAL, None, id="not ready by now"),
        pytest.param(ours(driver=wishing(wanted="1.0")), USUAL, Withdraw, id="the wish is gone"),
        pytest.param(ours(managed=False), USUAL, Withdraw, id="not managed any more"),
        pytest.param(ours(unschedulable=False), USUAL, Fail, id="uncordoned by hand"),
        pytest.param(ours(), PAUSED, Withdraw, id="paused"),
        pytest.param(ours(driver=wishing(wanted="3.0")), USUAL, Cordon, id="another wish"),
        pytest.param(ours(driver=wishing(phase=Phase.WORKING)), PAUSED, None, id="at work on something"),
        pytest.param(ours(driver=wishing("2.0")), USUAL, Finish, id="has it already"),
    ],
)
def test_a_node_that_waits_for_its_turn(
    view: NodeView, policy: UpgradePolicy, expected: type[Step] | None
) -> None:
    assert [kind for kind, _ in steps(view, policy=policy)] == ([expected] if expected else [])


def test_the_turn_comes_a_moment_after_the_cordon_so_that_bindings_on_their_way_are_seen() -> None:
    assert steps(ours(), now=START + dt.timedelta(seconds=1)) == []
    assert steps(ours(), now=START + dt.timedelta(seconds=4)) == [(GiveTurn, "n1")]


def test_pods_that_do_not_leave_in_time_keep_their_node_as_it_is_and_are_not_killed() -> None:
    late = START + dt.timedelta(minutes=6)
    view = ours(pods=(pod("stays", daemon=True), pod("protected"), pod("going", leaves_by=late)))
    (step,) = plan([view], EVICT, late).steps
    assert isinstance(step, Fail)
    assert (step.code, step.to) == ("pods-stay", "2.0")
    assert step.why.startswith("pods a/stays, a/protected did not leave within 5m; end what is left")
    assert steps(ours(pods=(pod("going", leaves_by=late),)), policy=EVICT, now=late) == []
    lingering = pod("lingering", leaves_by=late - dt.timedelta(minutes=2))
    assert steps(ours(pods=(lingering,)), policy=EVICT, now=late) == [(Fail, "n1")]


def test_waiting_has_no_end_when_the_policy_is_to_wait() -> None:
    assert steps(ours(pods=(pod(),)), now=START + dt.timedelta(days=9)) == []


# ---- held, in its turn


@pytest.mark.parametrize(
    ("view", "policy", "expected"),
    [
        pytest.param(in_turn(), USUAL, None, id="not begun yet"),
        pytest.param(in_turn(wishing(phase=Phase.WORKING)), USUAL, None, id="at work"),
        pytest.param(in_turn(wishing(phase=Phase.WORKING)), PAUSED, None, id="at work, paused"),
        pytest.param(
            in_turn(wishing(phase=Phase.WORKING), unschedulable=False),
            USUAL,
            None,
            id="at work, uncordoned by hand",
        ),
        pytest.param(
            in_turn(wishing(phase=Phase.WORKING), managed=False),
            USUAL,
            None,
            id="at work, not managed any more",
        ),
        pytest.param(in_turn(), PAUSED, None, id="paused after the turn was given"),
        pytest.param(in_turn(wishing("2.0", phase=Phase.READY)), USUAL, Finish, id="done"),
        pytest.param(in_turn(wishing("2.0", phase=Phase.READY)), PAUSED, Finish, id="done, paused"),
        pytest.param(
            in_turn(wishing("2.0", phase=Phase.READY), ready=False), USUAL, Finish, id="done, not ready"
        ),
        pytest.param(in_turn(wishing(phase=Phase.FAILED)), USUAL, Fail, id="failed"),
        pytest.param(
            in_turn(wishing(phase=Phase.FAILED, wanted="3.0")),
            USUAL,
            Cordon,
            id="failed, and something else is wanted",
        ),
        pytest.param(in_turn(wishing("2.0", "3.0")), USUAL, Cordon, id="done, and something else is wanted"),
        pytest.param(in_turn(wishing("2.0", "3.0")), PAUSED, Finish, id="the same, paused"),
        pytest.param(in_turn(wishing(wanted="3.0")), USUAL, Cordon, id="not begun, something else is wanted"),
        pytest.param(in_turn(wishing(wanted="3.0")), PAUSED, Withdraw, id="the same, paused"),
        pytest.param(in_turn(wishing(wanted="1.0")), USUAL, Withdraw, id="not begun, nothing is wanted"),
        pytest.param(in_turn(unschedulable=False), USUAL, Fail, id="not begun, uncordoned by hand"),
        pytest.param(in_turn(managed=False), USUAL, Withdraw, id="not begun, not managed"),
        pytest.param(in_turn(turn=None), USUAL, Cordon, id="somebody removed the turn"),
        pytest.param(in_turn(turn=None), PAUSED, Withdraw, id="the same, paused"),
        pytest.param(replace(in_turn(), driver=None), USUAL, None, id="nothing that can be read"),
        pytest.param(replace(in_turn(), driver=None, managed=False), USUAL, Withdraw, id="nobody there"),
    ],
)
def test_a_node_in_its_turn(view: NodeView, policy: UpgradePolicy, expected: type[Step] | None) -> None:
    assert [kind for kind, _ in steps(view, policy=policy)] == ([expected] if expected else [])


def test_an_old_failure_is_no_answer_to_a_new_turn_but_does_not_hold_a_node_for_ever() -> None:
    old = wishing(phase=Phase.FAILED, code="bad-module", why="symbol missing", since="2026-05-04T10:00:00Z")
    view = in_turn(old, upgrade=held(phase=UPDATING, seen=old.outcome))
    assert steps(view) == []
    (step,) = plan([view], USUAL, START + dt.timedelta(minutes=3)).steps
    assert isinstance(step, Fail)
    assert step.code == "bad-module"
    again = in_turn(replace(old, since="2026-05-04T12:00:09Z"), upgrade=view.upgrade)
    assert steps(again) == [(Fail, "n1")]


@pytest.mark.parametrize("phase", [Phase.WORKING, Phase.WAITING])
def test_a_silent_driver_manager_is_told_of_and_keeps_its_place(phase: Phase) -> None:
    nodes = [in_turn(wishing(phase=phase)), node("n2")]
    late = START + dt.timedelta(minutes=16)
    assert steps(*nodes, now=late) == []
    told = sentence(*nodes, now=late)
    assert told.startswith("0 of 2 nodes done; n1 is stuck: its driver-manager ")
    assert "n2 waits: n1 out of service, and maxUnavailable allows 1" in told


def test_a_failed_node_does_not_stop_others_and_says_why() -> None:
    failed = node("n1", upgrade=held(phase=UpgradePhase.FAILED, why="no module for this kernel"))
    assert steps(failed, node("n2")) == [(Cordon, "n2")]
    nodes = [failed, ours("n2", pods=(pod("b"),)), node("n3", wishing("2.0"))]
    assert sentence(*nodes) == (
        "1 of 3 nodes done; n1 failed: no module for this kernel; n2 waits for pod a/b"
    )


def test_nodes_that_are_left_alone_are_named() -> None:
    told = sentence(
        node("n1", unschedulable=True), node("n2", upgrade_unreadable=True), node("n3", ready=False)
    )
    assert "n1 is cordoned by somebody else and left alone until it is uncordoned" in told
    assert f"n2 is left alone: its annotation {UPGRADE} cannot be read; remove it" in told
    assert "n3 is not ready" in told


def test_pods_that_nobody_can_evict_are_named_with_what_to_do() -> None:
    told = sentence(ours(pods=(pod("d", daemon=True, owner="DaemonSet exporter"), pod("e"))), policy=EVICT)
    assert "n1 waits for pods a/d, a/e, of which nobody but you can end pod a/d: DaemonSet exporter" in told


def test_a_paused_upgrade_says_so_in_numbers() -> None:
    nodes = [node("n1"), node("n2"), node("n3", wishing("2.0"))]
    status = status_of(plan(nodes, PAUSED, LATER).notes, nodes, paused=True)
    assert status is not None
    assert (status.to, status.done, status.waiting, status.paused) == ("2.0", 1, 2, True)
    assert status.message == "1 of 3 nodes done; 2 waiting, because upgrades are paused"


def test_a_cluster_without_drivers_of_ours_has_nothing_to_say() -> None:
    nodes = [node(driver=DriverState(phase=Phase.READY, running="1.0"))]
    drawn = plan(nodes, USUAL, LATER)
    assert drawn.steps == ()
    assert status_of(drawn.notes, nodes) is None


def test_a_turn_left_over_is_forgotten_by_its_key() -> None:
    (step,) = plan([node(turn="2.0", unschedulable=True)], USUAL, LATER).steps
    assert isinstance(step, Forget)
    assert step.keys == (TURN,)
