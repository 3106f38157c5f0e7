"""CronJobs: a Job at each moment of a schedule, and the last few of them kept to look at."""

from __future__ import annotations

import datetime as dt
from typing import Final

from tangram.kube.errors import CONFLICT, ApiError
from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.cron_schedule import Schedule, Unreadable, read_schedule
from tangram.sandbox.controllers.following import follow, follow_children
from tangram.sandbox.controllers.hands import Hands, copied, namespace_ends
from tangram.sandbox.controllers.job_view import COMPLETE, is_finished
from tangram.sandbox.controllers.reading import (
    Now,
    created_at,
    holds,
    is_going,
    items,
    key_of,
    moment,
    part,
    spec_of,
    status_of,
    uid_of,
)
from tangram.sandbox.controllers.resources import CRON_JOBS, JOBS
from tangram.sandbox.controllers.work import WorkQueue
from tangram.wire.timestamps import to_second

COMPONENT: Final = "cronjob-controller"
SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class CronJobs:
    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._crons = hands.copies.of(CRON_JOBS)
        self._jobs = hands.copies.of(JOBS)
        self.queue: Final = WorkQueue[Key](COMPONENT, self.look)
        follow(self._crons, self.queue)
        follow_children(self._jobs, self._crons, self.queue)

    async def look(self, key: Key) -> None:
        cron = self._crons.get(key)
        if cron is None or is_going(cron):
            return
        jobs = self._jobs.owned_by(uid_of(cron))
        await self._remove_old(cron, jobs)
        status = self._status(cron, jobs)
        cron = copied(await self._hands.write_status(self._crons, cron, status))
        if spec_of(cron).get("suspend"):
            return
        try:
            schedule = read_schedule(spec_of(cron)["schedule"], spec_of(cron).get("timeZone") or "")
        except Unreadable as error:
            self._tell(
                cron,
                "UnparseableSchedule",
                f"unparseable schedule: {spec_of(cron)['schedule']!r} : {error}",
                bad=True,
            )
            return
        await self._start_due(cron, schedule)

    async def _start_due(self, cron: Object, schedule: Schedule) -> None:
        now = self._hands.clock()
        due = self._last_due(cron, schedule, now)
        if due is not None:
            await self._start(cron, due)
        coming = schedule.after(now)
        if coming is not None:
            self.queue.add_after(key_of(cron), (coming - now).total_seconds() + 0.1)

    def _last_due(self, cron: Object, schedule: Schedule, now: Now) -> Now | None:
        """The last moment that has passed without its Job."""
        since = moment(status_of(cron).get("lastScheduleTime")) or moment(created_at(cron)) or now
        deadline = spec_of(cron).get("startingDeadlineSeconds")
        if deadline is not None:
            since = max(since, now - dt.timedelta(seconds=deadline))
        first = schedule.after(since)
        if first is None or first > now:
            return None
        # After a long absence the last one is looked for near its end, further and further back.
        back = dt.timedelta(hours=2)
        while now - back > first:
            found = last_before(schedule, now - back, now)
            if found is not None:
                return found
            back *= 4
        return last_before(schedule, since, now)

    async def _start(self, cron: Object, due: Now) -> None:
        policy = spec_of(cron).get("concurrencyPolicy", "Allow")
        active = [
            job for job in self._jobs.owned_by(uid_of(cron)) if not is_finished(job) and not is_going(job)
        ]
        if policy == "Forbid" and active:
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._tell(cron, "JobAlreadyActive", message)
            return
        if policy == "Replace":
            for job in active:
                await self._delete(cron, job)
        try:
            made = await self._hands.create(self._jobs, job_for(cron, due), cron["metadata"]["namespace"])
        except ApiError as error:
            if namespace_ends(error):
                return
            if error.status != CONFLICT:
                self._tell(cron, "FailedCreate", f"Error creating job: {error.message}", bad=True)
                raise
            # Made already, but the status was not written.
        else:
            self._tell(cron, "SuccessfulCreate", f"Created job {made['metadata']['name']}")
        jobs = self._jobs.owned_by(uid_of(cron))
        status = self._status(cron, jobs) | {"lastScheduleTime": to_second(due)}
        await self._hands.write_status(self._crons, cron, status)

    def _status(self, cron: Object, jobs: list[Object]) -> Object:
        """Which Jobs run, and when the last one succeeded; those that have just ended are told of."""
        status = copied(status_of(cron))
        before = {each["uid"] for each in items(status, "active")}
        running = sorted((job for job in jobs if not is_finished(job)), key=created_at)
        for job in jobs:
            if is_finished(job) and uid_of(job) in before:
                how = "Complete" if holds(job, COMPLETE) else "Failed"
                self._tell(
                    cron, "SawCompletedJob", f"Saw completed job: {job['metadata']['name']}, condition: {how}"
                )
        done = [status_of(job).get("completionTime") for job in jobs if holds(job, COMPLETE)]
        last = max([each for each in (*done, status.get("lastSuccessfulTime")) if each], default="")
        status.pop("active", None)
        if running:
            status["active"] = [_reference(job) for job in running]
        return status | ({"lastSuccessfulTime": last} if last else {})

    async def _remove_old(self, cron: Object, jobs: list[Object]) -> None:
        spec = spec_of(cron)
        for good, limit in (
            (True, spec.get("successfulJobsHistoryLimit", 3)),
            (False, spec.get("failedJobsHistoryLimit", 1)),
        ):
            ended = [
                job for job in jobs if is_finished(job) and not is_going(job) and holds(job, COMPLETE) == good
            ]
            ended.sort(key=lambda job: (str(status_of(job).get("startTime") or ""), job["metadata"]["name"]))
            for job in ended[: max(len(ended) - limit, 0)]:
                await self._delete(cron, job)

    async def _delete(self, cron: Object, job: Object) -> None:
        if await self._hands.delete(self._jobs, job):
            self._tell(cron, "SuccessfulDelete", f"Deleted job {job['metadata']['name']}")

    def _tell(self, cron: Object, reason: str, message: str, *, bad: bool = False) -> None:
        self._hands.tell(COMPONENT, CRON_JOBS, cron, reason, message, bad=bad)


def job_for(cron: Object, due: Now) -> Object:
    """The Job of one moment; its name is made of that moment, so it cannot be made twice."""
    template = copied(spec_of(cron)["jobTemplate"])
    metadata = part(template, "metadata")
    return {
        "metadata": {
            "name": f"{cron['metadata']['name']}-{int(due.timestamp()) // 60}",
            "namespace": cron["metadata"]["namespace"],
            "labels": dict(metadata.get("labels") or {}),
            "annotations": {**(metadata.get("annotations") or {}), SCHEDULED: to_second(due)},
            "ownerReferences": [CRON_JOBS.reference(cron)],
        },
        "spec": template["spec"],
    }


def last_before(schedule: Schedule, since: Now, now: Now) -> Now | None:
    """The last moment of a schedule within a span of time."""
    found, coming = None, schedule.after(since)
    while coming is not None and coming <= now:
        found, coming = coming, schedule.after(coming)
    return found


def _reference(job: Object) -> Object:
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "name": job["metadata"]["name"],
        "namespace": job["metadata"]["namespace"],
        "resourceVersion": job["metadata"]["resourceVersion"],
        "uid": uid_of(job),
    }
