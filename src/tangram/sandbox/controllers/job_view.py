"""What a Job and its pods amount to: how many succeeded and failed, how many should run, and whether it is over.

Pods carry a finalizer until they are counted, so that none is counted twice and none is lost, however late anybody
looks: first the pod's uid is written into the Job's status as not yet counted, then its finalizer goes, then it counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.controllers.job_indexes import index_of, read_indexes
from tangram.sandbox.controllers.reading import (
    Now,
    conditions_of,
    finalizers_of,
    find_condition,
    is_active,
    is_ended,
    is_going,
    items,
    moment,
    part,
    phase_of,
    spec_of,
    status_of,
    uid_of,
)
from tangram.wire.timestamps import to_second

TRACKING: Final = "batch.kubernetes.io/job-tracking"
COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
SUCCESS_MET, FAILURE_TARGET = "SuccessCriteriaMet", "FailureTarget"
UNSUPPORTED: Final = ("podFailurePolicy", "successPolicy", "backoffLimitPerIndex")
"""Fields that would change how a Job ends and that are not carried out here."""


def condition(kind: str, status: str, reason: str, message: str, now: Now) -> Object:
    """A condition of a Job, from now on."""
    moment_now = to_second(now)
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": moment_now,
        "lastTransitionTime": moment_now,
        "reason": reason,
        "message": message,
    }


def is_finished(job: Object) -> bool:
    """Whether the last word on a Job is spoken."""
    return any(each["type"] in (COMPLETE, FAILED) and each["status"] == "True" for each in conditions_of(job))


def is_indexed(job: Object) -> bool:
    """Whether each of its pods has a number."""
    return spec_of(job).get("completionMode") == "Indexed"


def is_suspended(job: Object) -> bool:
    """Whether it is to have no pods for now."""
    return spec_of(job).get("suspend") or False


def is_tracked(pod: Object) -> bool:
    """Whether a pod has yet to be counted."""
    return TRACKING in finalizers_of(pod)


def replaces_only_failed(job: Object) -> bool:
    """Whether a pod is replaced only once it has really ended."""
    return spec_of(job).get("podReplacementPolicy") == "Failed"


def counts_as_failed(pod: Object, job: Object) -> bool:
    """A pod that is being deleted will not succeed any more, unless its Job wants to wait for its end."""
    if phase_of(pod) == "Failed":
        return True
    return is_going(pod) and phase_of(pod) != "Succeeded" and not replaces_only_failed(job)


def has_place(pod: Object, job: Object) -> bool:
    """Whether a pod of an Indexed Job has an index that the Job has."""
    if not is_indexed(job):
        return True
    index = index_of(pod)
    return index is not None and index < (spec_of(job).get("completions") or 0)


@dataclass(slots=True)
class JobView:
    """One look at a Job."""

    job: Object
    pods: list[Object]
    active: list[Object] = field(default_factory=list[Object])
    new_succeeded: list[Object] = field(default_factory=list[Object])
    new_failed: list[Object] = field(default_factory=list[Object])
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    done_before: set[int] = field(default_factory=set[int])
    """Indexes that the status names."""
    done: set[int] = field(default_factory=set[int])
    """The same and those of pods that succeeded since."""


def view_of(job: Object, pods: Sequence[Object]) -> JobView:
    """Count the pods of a Job as they are now."""
    status = status_of(job)
    uncounted = part(status, "uncountedTerminatedPods")
    told_succeeded: list[str] = uncounted.get("succeeded") or []
    told_failed: list[str] = uncounted.get("failed") or []
    view = JobView(job, list(pods))
    view.active = [pod for pod in pods if is_active(pod)]
    view.terminating = sum(is_going(pod) and not is_ended(pod) for pod in pods)
    for pod in pods:
        if not is_tracked(pod) or not has_place(pod, job):
            continue
        if phase_of(pod) == "Succeeded" and uid_of(pod) not in told_succeeded:
            view.new_succeeded.append(pod)
        elif counts_as_failed(pod, job) and uid_of(pod) not in told_failed:
            view.new_failed.append(pod)
    view.failed = (status.get("failed") or 0) + len(view.new_failed) + len(told_failed)
    if is_indexed(job):
        view.done_before = read_indexes(
            status.get("completedIndexes") or "", spec_of(job).get("completions") or 0
        )
        indexes = (index_of(pod) for pod in view.new_succeeded)
        view.done = view.done_before | {index for index in indexes if index is not None}
        view.succeeded = len(view.done)
    else:
        view.succeeded = (status.get("succeeded") or 0) + len(view.new_succeeded) + len(told_succeeded)
    return view


def wanted_active(view: JobView) -> int:
    """How many pods should run at once now."""
    spec = spec_of(view.job)
    parallelism = spec.get("parallelism", 1)
    completions = spec.get("completions")
    if completions is None:
        # Of a work queue nobody new comes once one has said that the queue is empty.
        return len(view.active) if view.succeeded else parallelism
    return max(min(completions - view.succeeded, parallelism), 0)


def is_complete(view: JobView, active: int) -> bool:
    """Whether enough pods have succeeded and none is left running."""
    completions = spec_of(view.job).get("completions")
    if active:
        return False
    return view.succeeded > 0 if completions is None else view.succeeded >= completions


def end_of(view: JobView, now: Now) -> Object | None:
    """The condition by which a Job is known to end, decided before or just now; None while it goes on."""
    met = find_condition(conditions_of(view.job), SUCCESS_MET)
    if met is not None and met["status"] == "True":
        return met
    target = find_condition(conditions_of(view.job), FAILURE_TARGET)
    if target is not None and target["status"] == "True":
        return target
    limit = spec_of(view.job).get("backoffLimit", 6)
    if view.failed > limit or _restarted_too_often(view, limit):
        message = "Job has reached the specified backoff limit"
        return condition(FAILURE_TARGET, "True", "BackoffLimitExceeded", message, now)
    left = seconds_left(view.job, now)
    if left is not None and left <= 0:
        message = "Job was active longer than specified deadline"
        return condition(FAILURE_TARGET, "True", "DeadlineExceeded", message, now)
    return None


def seconds_left(job: Object, now: Now) -> float | None:
    """Until its deadline; None where it has none, has not started or is suspended."""
    limit, started = spec_of(job).get("activeDeadlineSeconds"), moment(status_of(job).get("startTime"))
    if limit is None or started is None or is_suspended(job):
        return None
    return limit - (now - started).total_seconds()


def _restarted_too_often(view: JobView, limit: int) -> bool:
    spec = part(spec_of(view.job), "template", "spec")
    if spec.get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        each.get("restartCount") or 0
        for pod in view.pods
        if phase_of(pod) in ("Running", "Pending")
        for kind in ("initContainerStatuses", "containerStatuses")
        for each in items(status_of(pod), kind)
    )
    return restarts > 0 if limit == 0 else restarts >= limit


def finished_at(pod: Object) -> float:
    """When a pod ended, from the best witness there is."""
    ends = [
        part(each, "state", "terminated").get("finishedAt")
        for each in items(status_of(pod), "containerStatuses")
    ]
    ready = find_condition(conditions_of(pod), "Ready") or {}
    candidates = [
        max(filter(None, ends)) if ends and all(ends) else None,
        ready.get("lastTransitionTime") if ready.get("status") == "False" else None,
        pod["metadata"].get("deletionTimestamp"),
        pod["metadata"].get("creationTimestamp"),
    ]
    found = next((read for each in candidates if (read := moment(each)) is not None), None)
    return found.timestamp() if found else 0.0
