"""The steps of an upgrade, each with the one patch that takes it.

A patch names the version of the node that it was decided from, so a step that was decided too late is refused by the
API server instead of undoing what somebody else did meanwhile. And it leaves the node in a state that says by itself
whose it is: the cordon and the note about it come and go together.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

import msgspec

from tangram.services.operator.node_views import GpuPod, NodeView
from tangram.wire.operator.names import TURN, UPGRADE
from tangram.wire.operator.node_states import Upgrade, UpgradePhase, state_text
from tangram.wire.timestamps import to_second

PODS_STAY: Final = "pods-stay"


class Cordon(msgspec.Struct, frozen=True, kw_only=True):
    """Hold the node, for this version. For a node that is held already: for this one instead."""

    view: NodeView
    to: str
    why: str = ""


class GiveTurn(msgspec.Struct, frozen=True, kw_only=True):
    view: NodeView
    to: str


class Evict(msgspec.Struct, frozen=True, kw_only=True):
    view: NodeView
    pod: GpuPod


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """It runs what it was held for: back to service, without a note."""

    view: NodeView
    to: str


class Withdraw(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing is being changed, and nothing is to be: the same."""

    view: NodeView
    why: str


class Fail(msgspec.Struct, frozen=True, kw_only=True):
    """Back to service, with a note that keeps us from trying the same again."""

    view: NodeView
    to: str
    code: str
    why: str


class Forget(msgspec.Struct, frozen=True, kw_only=True):
    """Remove annotations of ours that say nothing true any more. The node is not held."""

    view: NodeView
    keys: tuple[str, ...]


Change = Cordon | GiveTurn | Finish | Withdraw | Fail | Forget
"""Steps that are one patch of the node."""
Step = Change | Evict


def patch_of(step: Change, now: dt.datetime) -> dict[str, Any]:
    """The merge patch of the node. Raises `WireError` for text that UTF-8 cannot carry."""
    match step:
        case Cordon():
            note = Upgrade(to=step.to, phase=UpgradePhase.CORDONED, began=to_second(now))
            return _patch(step.view, {TURN: None, UPGRADE: state_text(note)}, unschedulable=True)
        case GiveTurn():
            seen = step.view.driver.outcome if step.view.driver else ""
            note = Upgrade(to=step.to, phase=UpgradePhase.UPDATING, began=to_second(now), seen=seen)
            return _patch(step.view, {TURN: step.to, UPGRADE: state_text(note)})
        case Finish() | Withdraw():
            return _patch(step.view, {TURN: None, UPGRADE: None}, unschedulable=None)
        case Fail():
            note = Upgrade(
                to=step.to, phase=UpgradePhase.FAILED, began=to_second(now), code=step.code, why=step.why
            )
            return _patch(step.view, {TURN: None, UPGRADE: state_text(note)}, unschedulable=None)
        case Forget():
            return _patch(step.view, dict.fromkeys(step.keys))


def _patch(view: NodeView, annotations: dict[str, str | None], **spec: bool | None) -> dict[str, Any]:
    change: dict[str, Any] = {"metadata": {"resourceVersion": view.version, "annotations": annotations}}
    return {**change, "spec": spec} if spec else change
