"""What a disruption budget says of itself: how many pods are well, how many must be, and how many may go."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.controllers.hands import copied
from tangram.sandbox.controllers.reading import (
    Now,
    conditions_of,
    find_condition,
    generation_of,
    is_going,
    is_ready,
    moment,
    part,
    status_of,
)
from tangram.wire.timestamps import to_second

ALLOWED: Final = "DisruptionAllowed"
PATIENCE: Final = dt.timedelta(minutes=2)
"""An eviction that was granted must have led to a deletion by then."""


def still_expected(budget: Object, pods: Sequence[Object], now: Now) -> dict[str, str]:
    """Pods whose eviction was granted and that are still there, unless that was too long ago to believe in."""
    granted = part(status_of(budget), "disruptedPods")
    found: dict[str, str] = {}
    for pod in pods:
        name = pod["metadata"]["name"]
        when = moment(granted.get(name))
        if when is not None and not is_going(pod) and when + PATIENCE >= now:
            found[name] = granted[name]
    return found


def status_after(
    budget: Object,
    pods: Sequence[Object],
    disrupted: Mapping[str, str],
    now: Now,
    *,
    expected: int,
    desired: int,
) -> Object:
    """What a budget over these pods says of itself."""
    healthy = sum(
        is_ready(pod) and not is_going(pod) and pod["metadata"]["name"] not in disrupted for pod in pods
    )
    allowed = max(healthy - desired, 0) if expected > 0 else 0
    generation = generation_of(budget)
    reason = "SufficientPods" if allowed else "InsufficientPods"
    told = _condition(budget, "True" if allowed else "False", (reason, ""), generation, now)
    status: Object = {
        "conditions": _with(budget, told),
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "expectedPods": expected,
        "observedGeneration": generation,
    }
    return status | ({"disruptedPods": dict(disrupted)} if disrupted else {})


def status_in_doubt(budget: Object, why: str, now: Now) -> Object:
    """Nothing is allowed while nobody knows how many pods there should be."""
    status = copied(status_of(budget))
    for name in ("currentHealthy", "desiredHealthy", "expectedPods"):
        status.setdefault(name, 0)
    status["disruptionsAllowed"] = 0
    told = _condition(budget, "False", ("SyncFailed", why), status.get("observedGeneration") or 0, now)
    return status | {"conditions": _with(budget, told)}


def _condition(budget: Object, status: str, told: tuple[str, str], generation: int, now: Now) -> Object:
    before = find_condition(conditions_of(budget), ALLOWED)
    reason, message = told
    since = before["lastTransitionTime"] if before and before["status"] == status else to_second(now)
    made: Object = {
        "type": ALLOWED,
        "status": status,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    return made | ({"observedGeneration": generation} if generation else {})


def _with(budget: Object, told: Object) -> list[Object]:
    return [*(each for each in conditions_of(budget) if each["type"] != ALLOWED), told]
