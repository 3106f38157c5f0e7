"""The status of the one object: made from what was judged, written when it says something new.

What was said before is read from the object itself, so a new leader goes on where the last one stopped: a condition
keeps the moment of its last change, and `Installed` stays true once it was.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from msgspec.structs import replace

from tangram.kube.api import Object
from tangram.services.operator.readiness import Judgement
from tangram.wire import loose
from tangram.wire.errors import WireError
from tangram.wire.operator.status import (
    LONGEST_MESSAGE,
    Condition,
    ConditionType,
    State,
    Status,
    UpgradeStatus,
    condition_of,
    read_status,
    status_object,
    with_condition,
)
from tangram.wire.timestamps import to_second

REFUSED: Final = "SpecRefused"
_REASONS: Final = {
    State.READY: "AllReady",
    State.DEPLOYING: "NotAllReady",
    State.ERROR: "PartFailed",
    State.REMOVING: "Removing",
    State.INIT: "NothingApplied",
}


def status_now(thing: Object) -> Status:
    """What the object says now; an empty status where that cannot be read."""
    try:
        return read_status(thing)
    except WireError:
        return Status()


def is_installed(thing: Object) -> bool:
    """Whether all of it was ready once."""
    condition = condition_of(status_now(thing), ConditionType.INSTALLED)
    return condition is not None and condition.status == "True"


def judged(thing: Object, found: Judgement, upgrade: UpgradeStatus | None, now: dt.datetime) -> Status:
    """The status that follows from a judgement."""
    reason = "Upgrading" if found.upgrading else _REASONS[found.state]
    ready = (found.state is State.READY, reason, found.message)
    degraded = (bool(found.degraded), "NodesFail" if found.degraded else "NoProblem", found.degraded)
    moving = upgrade is not None and bool(upgrade.updating or (upgrade.waiting and not upgrade.paused))
    told = upgrade.message if upgrade is not None else ""
    upgrading = (moving, "DriverUpgrade" if moving else "NoUpgrade", told)
    installed = (True, "AllReadyOnce", "everything was ready") if found.complete else None
    status = _with_conditions(
        thing,
        {
            ConditionType.READY: ready,
            ConditionType.DEGRADED: degraded,
            ConditionType.UPGRADING: upgrading,
            ConditionType.INSTALLED: installed or (False, "NotAllReady", found.message),
        },
        now,
    )
    return replace(
        status,
        state=found.state,
        message=_short(found.message),
        ready_nodes=found.ready_nodes,
        parts=tuple(replace(part, message=_short(part.message)) for part in found.parts),
        nodes=replace(
            found.nodes,
            problems=tuple(replace(each, message=_short(each.message)) for each in found.nodes.problems),
        ),
        upgrade_status=replace(upgrade, message=_short(upgrade.message)) if upgrade is not None else None,
    )


def refused(thing: Object, sentence: str, now: dt.datetime) -> Status:
    """The spec has no meaning: what was said of parts and nodes stays, because they stay as they are."""
    told = {
        ConditionType.READY: (False, REFUSED, sentence),
        ConditionType.INSTALLED: (False, REFUSED, sentence),
    }
    status = _with_conditions(thing, told, now)
    return replace(status, state=State.ERROR, message=_short(sentence))


def removing(thing: Object, sentence: str, now: dt.datetime) -> Status:
    """The object is being deleted."""
    status = _with_conditions(thing, {ConditionType.READY: (False, _REASONS[State.REMOVING], sentence)}, now)
    return replace(status, state=State.REMOVING, message=_short(sentence))


def patch_for(thing: Object, status: Status) -> dict[str, Any] | None:
    """The merge patch that makes the object say so; None where it does already."""
    old, new = loose.members(thing.get("status")), status_object(status)
    return {"status": merge_patch(old, new)} if old != new else None


def merge_patch(old: Any, new: Any) -> Any:  # noqa: ANN401 - any JSON
    """What turns one JSON value into another as RFC 7386 has it: lists whole, null for members that go."""
    if not loose.is_object(old) or not loose.is_object(new):
        return new
    before, after = loose.members(old), loose.members(new)
    gone: dict[str, object] = {key: None for key in before if key not in after}
    return gone | {
        key: merge_patch(before.get(key), value) for key, value in after.items() if before.get(key) != value
    }


def _with_conditions(
    thing: Object, told: dict[ConditionType, tuple[bool, str, str]], now: dt.datetime
) -> Status:
    status = status_now(thing)
    generation = loose.integer(loose.members(thing.get("metadata")).get("generation")) or 0
    conditions = status.conditions
    latched = is_installed(thing)
    for kind, (is_so, reason, message) in told.items():
        if kind is ConditionType.INSTALLED and latched:
            continue
        new = Condition(
            type=kind.value,
            status="True" if is_so else "False",
            reason=reason,
            message=_short(message),
            observed_generation=generation,
        )
        conditions = with_condition(conditions, new, to_second(now))
    return replace(status, conditions=conditions, observed_generation=generation)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else f"{text[: LONGEST_MESSAGE - 3]}..."
