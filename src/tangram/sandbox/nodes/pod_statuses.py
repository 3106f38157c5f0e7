"""A pod's status from what its containers are doing, in the words of a kubelet. Pure.

Only what a kubelet owns is made. Conditions are merged by type where they are written, so those of others stay; the
time of a condition changes only when the condition does.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.nodes.containers import Ended
from tangram.sandbox.nodes.pod_specs import ALWAYS, NEVER, Container, restart_policy
from tangram.wire import loose
from tangram.wire.timestamps import to_second

PENDING: Final = "Pending"
RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
CREATING: Final = "ContainerCreating"
INITIALIZING: Final = "PodInitializing"
BACK_OFF: Final = "CrashLoopBackOff"


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """One container now. Exactly one of waiting, running and ended counts, in the order ended, running, waiting."""

    container: Container
    waiting: str = CREATING
    message: str = ""
    id: str = ""
    running_since: dt.datetime | None = None
    ended: Ended | None = None
    last: Ended | None = None
    restarts: int = 0
    devices: Mapping[str, Sequence[tuple[str, bool]]] = {}
    """By resource, the ids it holds and whether each is well."""

    @property
    def running(self) -> bool:
        return self.running_since is not None and self.ended is None

    @property
    def succeeded(self) -> bool:
        return self.ended is not None and self.ended.exit_code == 0


class _How(msgspec.Struct, frozen=True, kw_only=True):
    holds: bool
    reason: str = ""
    message: str = ""


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """What surrounds the containers of a pod."""

    host_ip: str
    pod_ip: str = ""
    started_at: dt.datetime
    over: bool = False
    """Nothing of the pod will run again: it was deleted, ended by its deadline, or is complete."""
    reason: str = ""
    message: str = ""


def phase_of(pod: Object, sights: Sequence[Sight], frame: Frame) -> str:
    """The phase of the pod."""
    apps = [each for each in sights if not each.container.init]
    inits = [each for each in sights if each.container.ends_first]
    if frame.reason:
        return FAILED
    if frame.over:
        failed = [each for each in (*inits, *apps) if not each.succeeded]
        return FAILED if failed else SUCCEEDED
    if any(not each.succeeded for each in inits) and not any(each.restarts or each.running for each in apps):
        return PENDING
    if any(each.running for each in apps):
        return RUNNING
    if any(each.ended is None and each.last is None for each in apps):
        return PENDING
    policy = restart_policy(pod)
    done = all(each.succeeded for each in apps)
    sidecars = [each for each in sights if each.container.init and not each.container.ends_first]
    if policy == ALWAYS or any(each.ended is None for each in apps) or any(each.running for each in sidecars):
        return RUNNING
    if done:
        return SUCCEEDED
    return FAILED if policy == NEVER else RUNNING


def status_of(
    pod: Object, sights: Sequence[Sight], frame: Frame, before: Sequence[Object], now: dt.datetime
) -> Object:
    """The status to write. `before` are the conditions that were written last."""
    phase = phase_of(pod, sights, frame)
    status: Object = {
        "phase": phase,
        "conditions": _conditions(sights, frame, phase, before, now),
        "hostIP": frame.host_ip,
        "hostIPs": [{"ip": frame.host_ip}],
        "startTime": to_second(frame.started_at),
        "containerStatuses": [_container(each) for each in sights if not each.container.init],
    }
    inits = [_container(each) for each in sights if each.container.init]
    if inits:
        status["initContainerStatuses"] = inits
    if frame.pod_ip:
        status |= {"podIP": frame.pod_ip, "podIPs": [{"ip": frame.pod_ip}]}
    if frame.reason:
        status |= {"reason": frame.reason, "message": frame.message}
    return status


def rejected_status(reason: str, message: str) -> Object:
    """The status of a pod that its node did not take."""
    return {"phase": FAILED, "reason": reason, "message": f"Pod was rejected: {message}"}


def _container(seen: Sight) -> Object:
    name, image = seen.container.name, seen.container.image
    ready = seen.running or (seen.container.ends_first and seen.succeeded)
    status: Object = {
        "name": name,
        "image": image,
        "imageID": _image_id(image) if seen.id else "",
        "ready": ready,
        "started": seen.running,
        "restartCount": seen.restarts,
        "state": _state(seen),
        "lastState": {} if seen.last is None else {"terminated": _terminated(seen.last)},
    }
    if seen.id:
        status["containerID"] = f"containerd://{seen.id}"
    if seen.devices and not seen.container.init:
        status["allocatedResourcesStatus"] = [
            {
                "name": resource,
                "resources": [
                    {"resourceID": unit, "health": "Healthy" if well else "Unhealthy"} for unit, well in units
                ],
            }
            for resource, units in seen.devices.items()
        ]
    return status


def _image_id(image: str) -> str:
    folder, slash, name = image.rpartition("/")
    bare = name.partition("@")[0].partition(":")[0]
    return f"{folder}{slash}{bare}@sha256:{hashlib.sha256(image.encode()).hexdigest()}"


def _state(seen: Sight) -> Object:
    if seen.ended is not None:
        return {"terminated": _terminated(seen.ended)}
    if seen.running_since is not None:
        return {"running": {"startedAt": to_second(seen.running_since)}}
    waiting: Object = {"reason": seen.waiting}
    if seen.message:
        waiting["message"] = seen.message
    return {"waiting": waiting}


def _terminated(end: Ended) -> Object:
    told: Object = {
        "exitCode": end.exit_code,
        "reason": end.reason,
        "startedAt": to_second(end.started_at),
        "finishedAt": to_second(end.finished_at),
        "containerID": f"containerd://{end.id}",
    }
    if end.message:
        told["message"] = end.message
    return told


def _conditions(
    sights: Sequence[Sight], frame: Frame, phase: str, before: Sequence[Object], now: dt.datetime
) -> list[Object]:
    late = [each.container.name for each in sights if each.container.init and not _initialized(each)]
    unready = [each.container.name for each in sights if not each.container.ends_first and not each.running]
    initialized = _How(holds=True, reason="PodCompleted" if phase == SUCCEEDED else "")
    if late and phase in (PENDING, FAILED):
        words = f"containers with incomplete status: [{' '.join(late)}]"
        initialized = _How(holds=False, reason="ContainersNotInitialized", message=words)
    ready = _How(holds=True)
    if phase in (SUCCEEDED, FAILED):
        ready = _How(holds=False, reason="PodCompleted" if phase == SUCCEEDED else "PodFailed")
    elif unready:
        words = f"containers with unready status: [{' '.join(unready)}]"
        ready = _How(holds=False, reason="ContainersNotReady", message=words)
    wanted = {
        "PodReadyToStartContainers": _How(holds=bool(frame.pod_ip) and not frame.over),
        "Initialized": initialized,
        "Ready": ready,
        "ContainersReady": ready,
        "PodScheduled": _How(holds=True),
    }
    known = {loose.text(each.get("type")): each for each in before}
    return [_condition(kind, how, known.get(kind), now) for kind, how in wanted.items()]


def _initialized(seen: Sight) -> bool:
    return seen.running if seen.container.sidecar else seen.succeeded


def _condition(kind: str, how: _How, before: Object | None, now: dt.datetime) -> Object:
    status = "True" if how.holds else "False"
    made: Object = {"type": kind, "status": status, "lastProbeTime": None}
    same = before is not None and before.get("status") == status
    made["lastTransitionTime"] = (
        before["lastTransitionTime"] if before is not None and same else to_second(now)
    )
    for key, value in (("reason", how.reason), ("message", how.message)):
        if value:
            made[key] = value
        elif before is not None and before.get(key):
            # Conditions are merged by type: null takes away what an earlier write said.
            made[key] = None
    return made
