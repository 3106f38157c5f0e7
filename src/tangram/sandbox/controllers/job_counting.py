"""Counting the pods of a Job exactly once, and writing the end of the Job when the last one is counted."""

from __future__ import annotations

from typing import Final

from tangram.kube.errors import NOT_FOUND, ApiError
from tangram.kube.objects import Object
from tangram.sandbox.controllers.hands import Hands, copied, in_batches
from tangram.sandbox.controllers.job_indexes import index_of, write_indexes
from tangram.sandbox.controllers.job_view import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_MET,
    TRACKING,
    JobView,
    condition,
    counts_as_failed,
    has_place,
    is_indexed,
    is_tracked,
)
from tangram.sandbox.controllers.reading import (
    finalizers_of,
    find_condition,
    is_going,
    part,
    phase_of,
    spec_of,
    uid_of,
)
from tangram.sandbox.controllers.resources import JOBS, PODS
from tangram.wire.timestamps import to_second

MOST_AT_ONCE: Final = 500
"""Uids in the status of a Job, which must not grow without bound."""


class JobCounting:
    def __init__(self, hands: Hands, component: str) -> None:
        self._hands = hands
        self._component = component
        self._jobs = hands.copies.of(JOBS)

    async def carry_out(self, view: JobView, end: Object | None, before: Object) -> None:
        """Count what has ended; `before` is the status that the server has."""
        job = view.job
        tracked = {uid_of(pod) for pod in view.pods if is_tracked(pod)}
        _move_counted(job["status"], tracked)
        to_release, all_seen = _tell_ended(view, end)
        if end is not None and find_condition(job["status"].get("conditions") or [], end["type"]) is None:
            job["status"]["conditions"] = [*(job["status"].get("conditions") or []), end]
        if job["status"] != before:
            job = view.job = await self._write(job)
        before = copied(job["status"])

        async def release(number: int) -> None:
            await untracked(self._hands, to_release[number])
            tracked.discard(uid_of(to_release[number]))

        _, failure = await in_batches(len(to_release), release)
        _move_counted(job["status"], tracked)
        ended = all_seen and failure is None and self._finish(view, end)
        if job["status"] != before:
            job = await self._write(job)
        if ended:
            self._tell_end(job, end or {})
        if failure is not None:
            raise failure

    def _finish(self, view: JobView, end: Object | None) -> bool:
        """The last word on a Job, once nobody is left to count and nobody is still ending."""
        status = view.job["status"]
        uncounted = status["uncountedTerminatedPods"]
        if end is None or uncounted.get("succeeded") or uncounted.get("failed") or view.terminating:
            return False
        now = self._hands.clock()
        kind = FAILED if end["type"] == FAILURE_TARGET else COMPLETE
        last = condition(kind, "True", end.get("reason", ""), end.get("message", ""), now)
        status["conditions"] = [*(status.get("conditions") or []), last]
        if kind == COMPLETE:
            status["completionTime"] = to_second(now)
        return True

    def _tell_end(self, job: Object, end: Object) -> None:
        if end["type"] == FAILURE_TARGET:
            self._hands.tell(self._component, JOBS, job, end["reason"], end["message"], bad=True)
            return
        completions = spec_of(job).get("completions")
        if completions is not None and (job["status"].get("succeeded") or 0) > completions:
            message = "Too many succeeded pods running after completion count reached"
            self._hands.tell(self._component, JOBS, job, "TooManySucceededPods", message, bad=True)
        self._hands.tell(self._component, JOBS, job, "Completed", "Job completed")

    async def _write(self, job: Object) -> Object:
        written_job = await self._hands.replace(self._jobs, job, "/status")
        answer = copied(written_job)
        answer["status"].setdefault("uncountedTerminatedPods", {})
        return answer


async def untracked(hands: Hands, pod: Object) -> None:
    """Let go of a pod that was counted, or need not be."""
    copy = hands.copies.of(PODS)
    left = [each for each in finalizers_of(pod) if each != TRACKING]
    if len(left) == len(finalizers_of(pod)):
        return
    try:
        await hands.merge(copy, pod, {"metadata": {"finalizers": left or None}})
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        copy.note_gone(pod)


def _tell_ended(view: JobView, end: Object | None) -> tuple[list[Object], bool]:
    """Name pods that have ended in the status. Those to let go of, and whether that was all of them."""
    job, status = view.job, view.job["status"]
    uncounted = status["uncountedTerminatedPods"]
    indexed = is_indexed(job)
    ordered = sorted(view.pods, key=lambda pod: index_of(pod) or 0) if indexed else view.pods
    over = is_going(job) or end is not None
    # Of a Job that has failed every pod that has not succeeded counts as failed.
    gave_up = end is not None and end["type"] != SUCCESS_MET
    to_release: list[Object] = []
    fresh: set[int] = set()
    all_seen = True
    for pod in filter(is_tracked, ordered):
        failed = counts_as_failed(pod, job)
        succeeded = phase_of(pod) == "Succeeded"
        if not (over or succeeded or failed):
            continue
        if len(fresh) + sum(map(len, uncounted.values())) >= MOST_AT_ONCE:
            all_seen = False
            break
        to_release.append(pod)
        uid = uid_of(pod)
        if succeeded and uid not in uncounted.get("failed", []):
            if indexed and has_place(pod, job):
                fresh.add(index_of(pod) or 0)
            elif not indexed and uid not in uncounted.get("succeeded", []):
                uncounted["succeeded"] = [*uncounted.get("succeeded", []), uid]
        elif (failed or gave_up) and uid not in uncounted.get("failed", []) and has_place(pod, job):
            uncounted["failed"] = [*uncounted.get("failed", []), uid]
    if indexed:
        done = view.done_before | fresh
        put(status, "completedIndexes", write_indexes(done))
        put(status, "succeeded", len(done))
    return to_release, all_seen


def _move_counted(status: Object, tracked: set[str]) -> None:
    """Pods without a finalizer are counted, and need not be named any more."""
    uncounted = status["uncountedTerminatedPods"] = dict(part(status, "uncountedTerminatedPods"))
    for name in ("succeeded", "failed"):
        named: list[str] = uncounted.get(name) or []
        left = [uid for uid in named if uid in tracked]
        if len(left) != len(named):
            status[name] = (status.get(name) or 0) + len(named) - len(left)
        put(uncounted, name, left)


def put(holder: Object, name: str, value: object) -> None:
    """What is nothing is not written."""
    if value:
        holder[name] = value
    else:
        holder.pop(name, None)
