"""What is to be done next about the drivers of all nodes: one look in, one list of steps out.

All that is known is on the Node objects, so whoever looks next, after any crash, goes on where the last one stopped.
Every step is one patch that is true by itself: the note that we hold a node comes with the cordon and goes with it.

A node is given back whenever nothing is being changed on it and there is no reason to hold it. While driver-manager
says that it works, a node is never given back and never gets another turn, however long that takes: then only a
person can know more than we do.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from tangram.services.operator.budgets import may_begin
from tangram.services.operator.node_views import GpuPod, NodeView, moment
from tangram.services.operator.upgrading_notes import (
    Note,
    Stand,
    about_others,
    about_pods,
    about_queue,
    about_turn,
    some_pods,
)
from tangram.services.operator.upgrading_steps import (
    PODS_STAY,
    Cordon,
    Evict,
    Fail,
    Finish,
    Forget,
    GiveTurn,
    Step,
    Withdraw,
)
from tangram.wire.operator.names import REMOVE, REMOVE_ASKED, TURN, UPGRADE
from tangram.wire.operator.node_states import DriverState, Phase, Upgrade, UpgradePhase
from tangram.wire.operator.spec import UpgradePolicy, WhenBusy

ANSWER_S: Final = 120.0
"""A driver-manager that stands by an old failure for so long after its turn has failed again."""
SETTLE_S: Final = 3.0
"""Between the cordon and the turn: pods that a scheduler had placed before it are bound by then."""
LINGER_S: Final = 60.0
"""A pod that is there so long after its time to end does not end by itself."""

LET_GO: Final = "uncordoned-by-hand"
LEAVE_S: Final = 300.0
"""A driver-manager that is not wanted any more has ended so long after its turn, whatever it said last."""
AHEAD_S: Final = 60.0
"""Clocks of two leaders differ; a note from further ahead says nothing about how long ago it was written."""
_LET_GO: Final = (
    "somebody uncordoned the node while it was held, and that is respected; "
    f"to have it tried again, remove its annotation {UPGRADE}"
)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    steps: tuple[Step, ...]
    notes: tuple[Note, ...]
    """One for every node with a driver to have, in the order of their names."""


_Judged = tuple[Note, tuple[Step, ...]]


def plan(
    nodes: Sequence[NodeView], policy: UpgradePolicy, now: dt.datetime, *, deployed: bool = True
) -> Plan:
    """What to do now. Looking again without doing it gives the same.

    Where no driver-manager is `deployed`, what nodes say of their drivers is from another time.
    """
    notes: dict[str, Note] = {}
    steps: list[Step] = []
    candidates: list[NodeView] = []
    for view in nodes:
        if view.removing:
            # Left by somebody who was removed by force: now there is an operator again, and nothing is to go.
            steps.append(Forget(view=view, keys=(REMOVE, REMOVE_ASKED)))
            continue
        note, wanted = _judged(view, policy, now) if deployed else _left_behind(view, now)
        if note.stand is Stand.QUEUED:
            if not policy.paused:
                candidates.append(view)
            else:
                note = Note(view.name, Stand.PAUSED, f"{view.name} waits: upgrades are paused")
        notes[view.name] = note
        steps += wanted
    begun, most = may_begin(nodes, candidates, policy)
    for view in begun:
        to = view.driver.wanted if view.driver else ""
        steps.append(Cordon(view=view, to=to))
        notes[view.name] = Note(view.name, Stand.HELD, f"{view.name} is next")
    names = {view.name for view in begun}
    queued = (view for view in candidates if view.name not in names)
    notes |= {note.node: note for note in about_queue(queued, nodes, most)}
    told = (notes[name] for name in sorted(notes))
    return Plan(steps=tuple(steps), notes=tuple(note for note in told if note.stand is not Stand.NONE))


def wish_of(view: NodeView) -> str:
    """The version that a node could have if it got its turn; empty for none."""
    state = view.driver
    if state is None or not view.managed or view.removing or not state.needs_turn:
        return ""
    if state.phase in (Phase.WORKING, Phase.REMOVED) or state.wanted == state.running:
        return ""
    return state.wanted


def elapsed(upgrade: Upgrade, now: dt.datetime) -> float:
    """Seconds in this phase. A note without a time that makes sense counts from the beginning of time."""
    began = moment(upgrade.began)
    passed = (now - began).total_seconds() if began else float("inf")
    return passed if passed > -AHEAD_S else float("inf")


def _judged(view: NodeView, policy: UpgradePolicy, now: dt.datetime) -> _Judged:
    return _held(view, view.upgrade, policy, now) if view.upgrade and view.held else _free(view)


def _left_behind(view: NodeView, now: dt.datetime) -> _Judged:
    """A node without a driver-manager: nobody would take a turn, and nobody says when something has ended."""
    working = view.driver is not None and view.driver.phase is Phase.WORKING
    if view.upgrade and view.held:
        passed = elapsed(view.upgrade, now)
        if working and passed < LEAVE_S:
            return about_turn(view, view.upgrade, passed), ()
        return _withdrawn(view, "no driver-manager is wanted any more")
    return Note(view.name, Stand.NONE, ""), tuple(_forget(view))


def _free(view: NodeView) -> _Judged:
    """A node that we do not hold."""
    name = view.name
    if view.upgrade_unreadable:
        return about_others(view, Stand.UNREADABLE), ()
    forget = tuple(_forget(view))
    wish = wish_of(view)
    if not wish:
        return Note(name, _without_a_wish(view), f"{name} is done"), forget
    if view.upgrade is not None and view.upgrade.to == wish:
        return Note(name, Stand.FAILED, f"{name} failed: {view.upgrade.why or view.upgrade.code}"), forget
    if view.unschedulable:
        return about_others(view, Stand.LEFT_ALONE), forget
    if not view.ready or view.leaving:
        return Note(name, Stand.NOT_READY, f"{name} is not ready, and is not begun before it is"), forget
    return Note(name, Stand.QUEUED, ""), forget


def _without_a_wish(view: NodeView) -> Stand:
    state = view.driver
    if state is None or not state.wanted or not view.managed or state.phase is Phase.REMOVED:
        return Stand.NONE
    if state.running == state.wanted:
        return Stand.DONE
    return Stand.NONE if state.running else Stand.BARE


def _forget(view: NodeView) -> Iterator[Step]:
    working = view.driver is not None and view.driver.phase is Phase.WORKING
    keys: list[str] = []
    if view.turn is not None and not working:
        # Somebody removed our note by hand. A turn that nobody watches over must not be taken.
        keys.append(TURN)
    if view.upgrade is not None and view.driver is not None and _is_past(view.driver, view.upgrade):
        keys.append(UPGRADE)
    if keys:
        yield Forget(view=view, keys=tuple(keys))


def _is_past(state: DriverState, upgrade: Upgrade) -> bool:
    """Whether the note about an upgrade tells nobody anything more: it came about, or is not wanted any more."""
    content = state.phase is Phase.READY and not state.code and state.running == state.wanted
    return state.running == upgrade.to or (upgrade.phase is UpgradePhase.FAILED and content)


def _held(view: NodeView, upgrade: Upgrade, policy: UpgradePolicy, now: dt.datetime) -> _Judged:
    """A node that we hold."""
    state, to = view.driver, upgrade.to
    if state is not None and state.phase is Phase.WORKING:
        return about_turn(view, upgrade, elapsed(upgrade, now)), ()
    on = wish_of(view) and view.unschedulable and not policy.paused
    if state is not None and state.running == to and not on:
        return Note(view.name, Stand.DONE, f"{view.name} is done"), (Finish(view=view, to=to),)
    if upgrade.phase is UpgradePhase.UPDATING:
        return _in_turn(view, upgrade, policy, now)
    stopped = _stopped(view, upgrade, policy)
    if stopped is not None:
        return stopped
    if not math.isfinite(elapsed(upgrade, now)):
        step = Cordon(view=view, to=to, why="when it was cordoned is not known")
        return Note(view.name, Stand.HELD, f"{view.name} is held from now on"), (step,)
    if not view.ready:
        return Note(view.name, Stand.HELD, f"{view.name} is cordoned and not ready, so its turn waits"), ()
    if view.pods:
        return _drained(view, upgrade, policy, now)
    if elapsed(upgrade, now) < SETTLE_S:
        return Note(view.name, Stand.UPDATING, f"{view.name} is cordoned and gets its turn"), ()
    return Note(view.name, Stand.UPDATING, f"{view.name} gets its turn"), (GiveTurn(view=view, to=to),)


def _in_turn(view: NodeView, upgrade: Upgrade, policy: UpgradePolicy, now: dt.datetime) -> _Judged:
    """It has its turn, and nobody works: not yet, no more, or not at all."""
    passed = elapsed(upgrade, now)
    if view.driver is None and view.managed:
        # Half a state is none: who knows what is being done there.
        return about_turn(view, upgrade, passed), ()
    ended = _failed(view, upgrade, passed) or _stopped(view, upgrade, policy)
    if ended is not None:
        return ended
    if view.turn != upgrade.to:
        return _again(view, upgrade.to, policy)
    return about_turn(view, upgrade, passed), ()


def _again(view: NodeView, to: str, policy: UpgradePolicy) -> _Judged:
    """Somebody took the turn away. Its pods may be back, so it is earned once more."""
    if policy.paused:
        return _withdrawn(view, "upgrades are paused")
    step = Cordon(view=view, to=to, why="somebody took its turn away")
    return Note(view.name, Stand.HELD, f"{view.name} lost its turn and gets another"), (step,)


def _stopped(view: NodeView, upgrade: Upgrade, policy: UpgradePolicy) -> _Judged | None:
    """A reason not to go on with what a node is held for."""
    wish = wish_of(view)
    if not wish:
        return _withdrawn(view, "the node wants no other driver any more")
    if not view.unschedulable:
        return _given_up(view, upgrade.to, LET_GO, _LET_GO)
    changed = wish != upgrade.to
    if policy.paused and (changed or upgrade.phase is UpgradePhase.CORDONED):
        return _withdrawn(view, "upgrades are paused")
    if changed:
        step = Cordon(view=view, to=wish, why=f"the node wants {wish} by now, not {upgrade.to}")
        return Note(view.name, Stand.HELD, f"{view.name} goes on to {wish}"), (step,)
    return None


def _failed(view: NodeView, upgrade: Upgrade, passed: float) -> _Judged | None:
    """A turn that failed, told from a failure before it."""
    state = view.driver
    if state is None or state.phase is not Phase.FAILED:
        return None
    if state.outcome == upgrade.seen and passed < ANSWER_S:
        return None
    if wish_of(view) not in ("", upgrade.to):
        # What failed is not what is wanted any more, so it is no reason to leave the node as it is.
        return None
    return _given_up(view, upgrade.to, state.code or "driver-failed", _verdict(state, upgrade.to))


def _verdict(state: DriverState, to: str) -> str:
    back = f"{state.running} runs again" if state.running else "no driver runs"
    return f"{to} could not be put in place, and {back}: {state.why or 'driver-manager gives no reason'}"


def _drained(view: NodeView, upgrade: Upgrade, policy: UpgradePolicy, now: dt.datetime) -> _Judged:
    waiting = about_pods(view)
    if policy.when_busy is WhenBusy.WAIT:
        return waiting, ()
    if elapsed(upgrade, now) > policy.evict_seconds:
        stay = tuple(pod for pod in view.pods if not _is_going(pod, now))
        if stay:
            return _given_up(
                view,
                upgrade.to,
                PODS_STAY,
                f"{some_pods(stay)} did not leave within {policy.evict_timeout}; end what is left, and remove the "
                f"annotation {UPGRADE} to have the node tried again",
            )
    going = tuple(Evict(view=view, pod=pod) for pod in view.pods if not pod.stays and pod.leaves_by is None)
    return waiting, going


def _is_going(pod: GpuPod, now: dt.datetime) -> bool:
    return pod.leaves_by is not None and (now - pod.leaves_by).total_seconds() < LINGER_S


def _withdrawn(view: NodeView, why: str) -> _Judged:
    return Note(view.name, Stand.LET_GO, f"{view.name} is given back: {why}"), (Withdraw(view=view, why=why),)


def _given_up(view: NodeView, to: str, code: str, why: str) -> _Judged:
    note = Note(view.name, Stand.FAILED, f"{view.name} failed: {why}")
    return note, (Fail(view=view, to=to, code=code, why=why),)
