"""What `kubectl describe node` tells of an upgrade."""

from __future__ import annotations

from typing import Final

from tangram.kube.recorder import About, Event
from tangram.services.operator.upgrading_notes import Note, Stand
from tangram.services.operator.upgrading_steps import (
    PODS_STAY,
    Change,
    Cordon,
    Fail,
    Finish,
    GiveTurn,
    Withdraw,
)

STARTED: Final = "GpuDriverUpgradeStarted"
TURN_GIVEN: Final = "GpuDriverUpgradeTurn"
FINISHED: Final = "GpuDriverUpgradeFinished"
FAILED: Final = "GpuDriverUpgradeFailed"
WAITING: Final = "GpuDriverUpgradeWaiting"
WITHDRAWN: Final = "GpuDriverUpgradeWithdrawn"
PODS_LEFT: Final = "the pods that hold its cards did not leave in time: tangram status operator names them"

_WORTH_AN_EVENT: Final = frozenset({Stand.STUCK, Stand.UNREADABLE, Stand.LEFT_ALONE})


def event_of(step: Change) -> Event | None:
    """The event for a step that was taken; None for one that nobody has to know of."""
    running = step.view.driver.running if step.view.driver else ""
    about = About("Node", step.view.name)
    match step:
        case Cordon():
            why = f" ({step.why})" if step.why else ""
            told = f"the driver goes from {running or 'none'} to {step.to}{why}: the node is cordoned until it is done"
            return Event(about, STARTED, told, warning=False)
        case GiveTurn():
            told = f"no pod holds a card any more: driver-manager may change the driver to {step.to} now"
            return Event(about, TURN_GIVEN, told, warning=False)
        case Finish():
            return Event(about, FINISHED, f"driver {step.to} runs, and the node is uncordoned", warning=False)
        case Withdraw():
            told = f"the driver stays as it is, and the node is uncordoned: {step.why}"
            return Event(about, WITHDRAWN, told, warning=False)
        case Fail():
            why = PODS_LEFT if step.code == PODS_STAY else step.why
            return Event(about, FAILED, f"{why} (the node is in service)")
        case _:
            return None


def waiting_event(note: Note) -> Event | None:
    """The event for where a node stands; None where it just goes on."""
    waits = note.stand is Stand.HELD and "waits" in note.sentence
    if not waits and note.stand not in _WORTH_AN_EVENT:
        return None
    return Event(
        About("Node", note.node),
        WAITING,
        note.event or note.sentence,
        warning=note.stand in (Stand.STUCK, Stand.UNREADABLE),
    )
