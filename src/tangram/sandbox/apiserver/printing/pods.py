"""The row of a pod: how many containers are ready, and the one word that says best what the pod is doing.

That word is no field. The phase comes first; then whatever an init container is stuck at; then, once those are through,
whatever a container is waiting for or ended with; and being deleted outdoes all of it. The order of these rules is what
people read states like `Init:0/2` and `CrashLoopBackOff` from, so it is kept exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.printing.ages import human, moment
from tangram.sandbox.apiserver.printing.columns import (
    AGE,
    NAME,
    Cells,
    Heading,
    Printer,
    Printers,
    age_of,
    wide,
)
from tangram.sandbox.apiserver.printing.reading import (
    NONE,
    Members,
    at,
    condition,
    each,
    is_going,
    is_true,
    name_of,
    number,
    text,
    truth,
)
from tangram.wire import loose

_ENDINGS: Final = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}
_LOST: Final = "NodeLost"
_GATED: Final = "SchedulingGated"


@dataclass(slots=True)
class _Restarts:
    times: int = 0
    last: datetime | None = None

    def add(self, container: Members) -> None:
        self.times += number(container, "restartCount")
        ended = moment(at(container, "lastState", "terminated", "finishedAt"))
        if ended and (self.last is None or self.last < ended):
            self.last = ended

    def told(self, now: datetime) -> str:
        if not self.times or self.last is None:
            return str(self.times)
        return f"{self.times} ({human((now - self.last).total_seconds())} ago)"


@dataclass(slots=True)
class _Look:
    """What the containers looked at so far have shown."""

    reason: str
    ready: int = 0
    restarts: _Restarts = field(default_factory=_Restarts)
    stuck: bool = False
    """An init container has not done its work."""


def _pod(pod: Object, now: datetime) -> Cells:
    inits = each(pod, "spec", "initContainers")
    sidecars = {text(one, "name") for one in inits if one.get("restartPolicy") == "Always"}
    look = _Look(_opening(pod))
    of_sidecars = _look_at_inits(pod, sidecars, len(inits), look)
    if not look.stuck or is_true(condition(pod, "Initialized")):
        # What ran before the pod began is no longer counted.
        look.restarts = of_sidecars
        _look_at_containers(pod, look)
    total = len(each(pod, "spec", "containers")) + sum(one.get("restartPolicy") == "Always" for one in inits)
    return [
        name_of(pod),
        f"{look.ready}/{total}",
        _last_word(pod, look.reason),
        look.restarts.told(now),
        age_of(pod, now),
        *_where(pod),
    ]


def _opening(pod: Object) -> str:
    scheduled = [one for one in each(pod, "status", "conditions") if one.get("type") == "PodScheduled"]
    if any(one.get("reason") == _GATED for one in scheduled):
        return _GATED
    return text(pod, "status", "reason") or text(pod, "status", "phase")


def _look_at_inits(pod: Object, sidecars: set[str], total: int, look: _Look) -> _Restarts:
    """Answers the restarts of those that keep running beside the containers."""
    of_sidecars = _Restarts()
    for place, container in enumerate(each(pod, "status", "initContainerStatuses")):
        stays = text(container, "name") in sidecars
        look.restarts.add(container)
        if stays:
            of_sidecars.add(container)
        ended = _state(container, "terminated")
        if ended is not None and not number(ended, "exitCode"):
            continue
        if stays and truth(container, "started"):
            look.ready += truth(container, "ready")
            continue
        look.reason = "Init:" + (_stuck_at(container, ended) or f"{place}/{total}")
        look.stuck = True
        break
    return of_sidecars


def _stuck_at(container: Members, ended: Members | None) -> str:
    if ended is not None:
        return _ending(ended)
    waiting = text(container, "state", "waiting", "reason")
    return "" if waiting == "PodInitializing" else waiting


def _look_at_containers(pod: Object, look: _Look) -> None:
    failed, running = "", False
    # The first container has the last word.
    for container in reversed(each(pod, "status", "containerStatuses")):
        look.restarts.add(container)
        ended = _state(container, "terminated")
        if waiting := text(container, "state", "waiting", "reason"):
            look.reason = waiting
        elif ended is not None:
            look.reason = _ending(ended)
            if number(ended, "exitCode"):
                failed = look.reason
        elif truth(container, "ready") and _state(container, "running") is not None:
            running = True
            look.ready += 1
    if look.reason == "Completed":
        # One container has ended well, which says little about a pod of several.
        if running and is_true(condition(pod, "Ready")):
            look.reason = "Running"
        else:
            look.reason = failed or ("NotReady" if running else look.reason)


def _ending(ended: Members) -> str:
    if signal := number(ended, "signal"):
        return text(ended, "reason") or f"Signal:{signal}"
    return text(ended, "reason") or f"ExitCode:{number(ended, 'exitCode')}"


def _last_word(pod: Object, reason: str) -> str:
    if not is_going(pod):
        return reason
    if text(pod, "status", "reason") == _LOST:
        return "Unknown"
    return reason if text(pod, "status", "phase") in _ENDINGS else "Terminating"


def _where(pod: Object) -> Cells:
    addresses = each(pod, "status", "podIPs")
    gates = each(pod, "spec", "readinessGates")
    open_gates = sum(is_true(condition(pod, text(gate, "conditionType"))) for gate in gates)
    return [
        (text(addresses[0], "ip") if addresses else "") or NONE,
        text(pod, "spec", "nodeName") or NONE,
        text(pod, "status", "nominatedNodeName") or NONE,
        f"{open_gates}/{len(gates)}" if gates else NONE,
    ]


def _state(container: Members, name: str) -> Mapping[str, object] | None:
    found = at(container, "state", name)
    return loose.members(found) if loose.is_object(found) else None


def _ended(pod: Object) -> list[Object]:
    phase = text(pod, "status", "phase")
    if phase not in _ENDINGS:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _ENDINGS[phase]}]


PRINTERS: Final[Printers] = {
    ("", "Pod"): Printer(
        (
            NAME,
            Heading("Ready"),
            Heading("Status"),
            Heading("Restarts"),
            AGE,
            wide("IP"),
            wide("Node"),
            wide("Nominated Node"),
            wide("Readiness Gates"),
        ),
        _pod,
        _ended,
    ),
}
