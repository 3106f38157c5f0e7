"""Jobs: pods that run until enough of them succeed, or too many fail.

`podFailurePolicy`, `successPolicy` and `backoffLimitPerIndex` are not carried out. A Job that asks for one of them gets
an event that names it and no pods, because a Job that silently ends otherwise than it says would be worse.
"""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.following import follow, follow_children
from tangram.sandbox.controllers.hands import Hands, copied, in_batches
from tangram.sandbox.controllers.job_backoff import JobBackoff, seconds_to_wait
from tangram.sandbox.controllers.job_counting import JobCounting, put, untracked
from tangram.sandbox.controllers.job_expiry import JobExpiry
from tangram.sandbox.controllers.job_indexes import first_free, index_of
from tangram.sandbox.controllers.job_pods import job_pod, to_remove
from tangram.sandbox.controllers.job_view import (
    SUCCESS_MET,
    SUSPENDED,
    TRACKING,
    UNSUPPORTED,
    JobView,
    condition,
    end_of,
    is_complete,
    is_finished,
    is_indexed,
    is_suspended,
    is_tracked,
    replaces_only_failed,
    seconds_left,
    view_of,
    wanted_active,
)
from tangram.sandbox.controllers.pods import claimed, create_pod, delete_pod
from tangram.sandbox.controllers.reading import (
    conditions_of,
    controller_of,
    find_condition,
    is_going,
    is_ready,
    key_of,
    spec_of,
    status_of,
    uid_of,
)
from tangram.sandbox.controllers.resources import JOBS, PODS
from tangram.sandbox.controllers.work import WorkQueue
from tangram.wire.timestamps import to_second

COMPONENT: Final = "job-controller"
MOST_IN_ONE_LOOK: Final = 500


class Jobs:
    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._jobs = hands.copies.of(JOBS)
        self._pods = hands.copies.of(PODS)
        self._backoff = JobBackoff()
        self._counting = JobCounting(hands, COMPONENT)
        self._expiry = JobExpiry(hands)
        self.queue: Final = WorkQueue[Key](COMPONENT, self.look)
        self.orphans: Final = WorkQueue[Key](f"{COMPONENT}: orphans", self.release_orphan)
        follow(self._jobs, self.queue)
        follow_children(self._pods, self._jobs, self.queue)
        self._jobs.listeners.append(self._job_changed)
        self._pods.listeners.append(self._pod_changed)

    def _job_changed(self, before: Object | None, after: Object | None) -> None:
        if before is not None and after is None:
            self._backoff.forget(uid_of(before))
            for pod in self._pods.owned_by(uid_of(before)):
                self.orphans.add(key_of(pod))

    def _pod_changed(self, _before: Object | None, after: Object | None) -> None:
        """A pod that waits to be counted by a Job that is over, or gone, waits for nobody."""
        if after is None or not is_tracked(after):
            return
        owner = controller_of(after)
        if owner is None or owner["kind"] == "Job":
            job = None if owner is None else self._jobs.get(Key(key_of(after).namespace, owner["name"]))
            if job is None or owner is None or uid_of(job) != owner["uid"] or is_finished(job):
                self.orphans.add(key_of(after))

    async def release_orphan(self, key: Key) -> None:
        pod = self._pods.get(key)
        if pod is None or not is_tracked(pod):
            return
        owner = controller_of(pod)
        if owner is not None:
            if owner["kind"] != "Job":
                return
            job = await self._hands.read(JOBS, Key(key.namespace, owner["name"]))
            if job is not None and uid_of(job) == owner["uid"] and not is_finished(job):
                return
        await untracked(self._hands, pod)

    async def look(self, key: Key) -> None:
        job = self._jobs.get(key)
        if (
            job is None
            or spec_of(job).get("managedBy", "kubernetes.io/job-controller") != "kubernetes.io/job-controller"
        ):
            return
        if is_finished(job):
            self._backoff.forget(uid_of(job))
            await self._expiry.look(job, self.queue)
            return
        refused = [name for name in UNSUPPORTED if spec_of(job).get(name) is not None]
        if refused:
            message = (
                f"spec.{refused[0]} is not carried out by this controller: remove it, or run the Job on a cluster "
                "with kube-controller-manager"
            )
            self._hands.tell(COMPONENT, JOBS, job, "UnsupportedField", message, bad=True)
            return
        job = copied(job)
        pods = await claimed(self._hands, JOBS, job, self._pods, finalizer=TRACKING)
        await self._advance(job, pods)

    async def _advance(self, job: Object, pods: list[Object]) -> None:
        now = self._hands.clock()
        view = view_of(job, pods)
        status = job["status"] = status_of(job)
        before = copied(status)
        if not status.get("startTime") and not is_suspended(job):
            status["startTime"] = to_second(now)
        record = self._backoff.after(uid_of(job), view.new_succeeded, view.new_failed)
        end, failure = end_of(view, now), None
        if end is not None:
            failure = await self._end_pods(job, view.active, counted=True)
            active, ready = 0, 0
            view.terminating += len(view.active)
            if failure is not None:
                raise failure
        else:
            left = seconds_left(job, now)
            if left is not None:
                self.queue.add_after(key_of(job), left)
            active, ready = len(view.active), sum(map(is_ready, view.active))
            if not is_going(job):
                active, ready, failure = await self._manage(view, record)
            if is_complete(view, active):
                message = "Reached expected number of succeeded pods"
                end = condition(SUCCESS_MET, "True", "CompletionsReached", message, now)
            elif not is_going(job):
                self._note_suspension(job)
        put(status, "active", active)
        status["ready"], status["terminating"] = ready, view.terminating
        await self._counting.carry_out(view, end, before)
        self._backoff.keep(uid_of(job), record)
        if failure is not None:
            raise failure

    # ---- pods

    async def _manage(self, view: JobView, record: tuple[int, float]) -> tuple[int, int, Exception | None]:
        """Bring the number of running pods to what is wanted. How many are active and ready then."""
        job, active = view.job, view.active
        ready = sum(map(is_ready, active))
        wanted = 0 if is_suspended(job) else wanted_active(view)
        doomed = to_remove(view, max(len(active) - wanted, 0))[:MOST_IN_ONE_LOOK]
        if doomed:
            failure = await self._end_pods(job, doomed, counted=False)
            view.terminating += len(doomed)
            return len(active) - len(doomed), ready - sum(map(is_ready, doomed)), failure
        missing = wanted - len(active) - (view.terminating if replaces_only_failed(job) else 0)
        if missing <= 0:
            return len(active), ready, None
        wait = seconds_to_wait(record, self._hands.clock().timestamp())
        if wait > 0:
            self.queue.add_after(key_of(job), wait)
            return len(active), ready, None
        made, failure = await self._create_pods(view, min(missing, MOST_IN_ONE_LOOK))
        return len(active) + made, ready, failure

    async def _create_pods(self, view: JobView, count: int) -> tuple[int, Exception | None]:
        job = view.job
        indexes: list[int] = []
        if is_indexed(job):
            busy = view.active + (
                [pod for pod in view.pods if is_going(pod)] if replaces_only_failed(job) else []
            )
            taken = view.done | {index for pod in busy if (index := index_of(pod)) is not None}
            indexes = first_free(count, spec_of(job).get("completions") or 0, taken)
            count = len(indexes)
        made = 0

        async def make(number: int) -> None:
            nonlocal made
            pod = job_pod(job, indexes[number] if indexes else None)
            made += await create_pod(self._hands, COMPONENT, JOBS, job, pod) is not None

        _, failure = await in_batches(count, make)
        return made, failure

    async def _end_pods(self, job: Object, pods: list[Object], *, counted: bool) -> Exception | None:
        """End pods; those that are not to count as failures are let go of first."""

        async def end(number: int) -> None:
            if not counted:
                await untracked(self._hands, pods[number])
            await delete_pod(self._hands, COMPONENT, JOBS, job, pods[number])

        return (await in_batches(len(pods), end))[1]

    # ---- the Job itself

    def _note_suspension(self, job: Object) -> None:
        now, suspended = self._hands.clock(), is_suspended(job)
        before = find_condition(conditions_of(job), SUSPENDED)
        if (before is None and not suspended) or (
            before is not None and (before["status"] == "True") == suspended
        ):
            return
        word = "suspended" if suspended else "resumed"
        reason = f"Job{word.capitalize()}"
        told = condition(SUSPENDED, "True" if suspended else "False", reason, f"Job {word}", now)
        others = [each for each in conditions_of(job) if each["type"] != SUSPENDED]
        job["status"]["conditions"] = [*others, told]
        # Its time begins anew when it goes on.
        job["status"].pop("startTime", None)
        if not suspended:
            job["status"]["startTime"] = to_second(now)
        self._hands.tell(COMPONENT, JOBS, job, word.capitalize(), f"Job {word}")
