"""What a Deployment says of itself: its counts, whether enough of it works, and whether its rollout gets anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.controllers.reading import (
    Now,
    conditions_of,
    find_condition,
    generation_of,
    moment,
    replicas_of,
    spec_of,
    status_of,
)
from tangram.sandbox.controllers.rollout import allowances, available, total
from tangram.wire.timestamps import to_second

PROGRESSING: Final = "Progressing"
AVAILABLE: Final = "Available"
FAILURE: Final = "ReplicaFailure"
DONE: Final = "NewReplicaSetAvailable"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
PAUSED: Final = "DeploymentPaused"
NO_DEADLINE: Final = 2**31 - 1

_COUNTS: Final = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")


def condition(kind: str, status: str, reason: str, message: str, now: Now) -> Object:
    """A condition of a Deployment, from now on."""
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": to_second(now),
        "lastTransitionTime": to_second(now),
        "reason": reason,
        "message": message,
    }


def with_condition(conditions: Sequence[Object], new: Object) -> list[Object]:
    """The conditions with this one; nothing changes where its status and reason are the same already."""
    before = find_condition(conditions, new["type"])
    if before is not None and (before["status"], before.get("reason")) == (new["status"], new["reason"]):
        return list(conditions)
    if before is not None and before["status"] == new["status"]:
        new = {**new, "lastTransitionTime": before.get("lastTransitionTime")}
    return [*without_condition(conditions, new["type"]), new]


def without_condition(conditions: Sequence[Object], kind: str) -> list[Object]:
    """The conditions but for those of this type."""
    return [each for each in conditions if each["type"] != kind]


def has_deadline(deployment: Object) -> bool:
    """Whether a rollout can take too long."""
    return spec_of(deployment).get("progressDeadlineSeconds") not in (None, NO_DEADLINE)


def counts_of(deployment: Object, every: Sequence[Object], new: Object | None, now: Now) -> Object:
    """The status without its view of the rollout: numbers, and whether enough pods are available."""
    working = sum(map(available, every))
    numbers = {
        "replicas": _sum(every, "replicas"),
        "updatedReplicas": _sum([new] if new is not None else [], "replicas"),
        "readyReplicas": _sum(every, "readyReplicas"),
        "availableReplicas": working,
        "unavailableReplicas": max(total(every) - working, 0),
    }
    status: Object = {"observedGeneration": generation_of(deployment)}
    status |= {name: numbers[name] for name in _COUNTS if numbers[name]}
    status["terminatingReplicas"] = _sum(every, "terminatingReplicas")
    if status_of(deployment).get("collisionCount") is not None:
        status["collisionCount"] = status_of(deployment)["collisionCount"]
    if working >= replicas_of(deployment) - allowances(deployment)[1]:
        told = condition(
            AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", now
        )
    else:
        told = condition(
            AVAILABLE,
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
            now,
        )
    status["conditions"] = with_condition(conditions_of(deployment), told)
    return status


def status_in_rollout(deployment: Object, every: Sequence[Object], new: Object | None, now: Now) -> Object:
    """The whole status while pods are being replaced, or have been."""
    status = counts_of(deployment, every, new, now)
    conditions: list[Object] = status["conditions"]
    if not has_deadline(deployment):
        conditions = without_condition(conditions, PROGRESSING)
    else:
        conditions = _with_progress(deployment, status, new, conditions, now)
    failures = [
        each
        for one in ([new] if new is not None else []) + list(every)
        for each in conditions_of(one)
        if each["type"] == FAILURE
    ]
    if failures:
        first = failures[0]
        told = condition(FAILURE, first["status"], first.get("reason", ""), first.get("message", ""), now)
        conditions = with_condition(conditions, told)
    else:
        conditions = without_condition(conditions, FAILURE)
    return status | {"conditions": conditions}


def _with_progress(
    deployment: Object, status: Object, new: Object | None, conditions: list[Object], now: Now
) -> list[Object]:
    before = find_condition(conditions_of(deployment), PROGRESSING)
    at_rest = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    if at_rest and before is not None and before.get("reason") == DONE:
        return conditions
    what = f'Deployment "{deployment["metadata"]["name"]}"'
    if new is not None:
        what = f'ReplicaSet "{new["metadata"]["name"]}"'
    if is_complete(deployment, status):
        return with_condition(
            conditions, condition(PROGRESSING, "True", DONE, f"{what} has successfully progressed.", now)
        )
    if _got_further(status_of(deployment), status):
        told = condition(PROGRESSING, "True", "ReplicaSetUpdated", f"{what} is progressing.", now)
        if before is not None and before["status"] == "True":
            told["lastTransitionTime"] = before.get("lastTransitionTime")
        return [*without_condition(conditions, PROGRESSING), told]
    if is_overdue(deployment, before, now):
        return with_condition(
            conditions, condition(PROGRESSING, "False", TIMED_OUT, f"{what} has timed out progressing.", now)
        )
    return conditions


def is_complete(deployment: Object, status: Object) -> bool:
    """Whether every pod is of the newest template and works."""
    wanted = replicas_of(deployment)
    return (
        status.get("updatedReplicas", 0) == wanted
        and status.get("replicas", 0) == wanted
        and status.get("availableReplicas", 0) == wanted
        and status.get("observedGeneration", 0) >= generation_of(deployment)
    )


def _got_further(before: Object, after: Object) -> bool:
    def old_ones(status: Object) -> int:
        return status.get("replicas", 0) - status.get("updatedReplicas", 0)

    return old_ones(after) < old_ones(before) or any(
        after.get(name, 0) > before.get(name, 0)
        for name in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )


def is_overdue(deployment: Object, progress: Object | None, now: Now) -> bool:
    """Whether nothing has moved for longer than the Deployment allows."""
    if progress is None or progress.get("reason") == DONE:
        return False
    return progress.get("reason") == TIMED_OUT or (seconds_left(deployment, progress, now) or 0.0) < 0


def seconds_left(deployment: Object, progress: Object | None, now: Now) -> float | None:
    """Until the rollout counts as stuck; None where it cannot."""
    if not has_deadline(deployment) or progress is None or progress.get("reason") in (DONE, TIMED_OUT):
        return None
    since = moment(progress.get("lastUpdateTime"))
    return (
        None
        if since is None
        else spec_of(deployment)["progressDeadlineSeconds"] - (now - since).total_seconds()
    )


def _sum(sets: Sequence[Object], name: str) -> int:
    return sum(status_of(each).get(name) or 0 for each in sets)
