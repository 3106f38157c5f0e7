"""Jobs that are over and are not to stay: `ttlSecondsAfterFinished`."""

from __future__ import annotations

from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.hands import FOREGROUND, Hands
from tangram.sandbox.controllers.reading import conditions_of, is_going, key_of, moment, spec_of
from tangram.sandbox.controllers.resources import JOBS
from tangram.sandbox.controllers.work import WorkQueue


class JobExpiry:
    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._jobs = hands.copies.of(JOBS)

    async def look(self, job: Object, queue: WorkQueue[Key]) -> None:
        """Delete a Job that is over once its time to be looked at is."""
        keep = spec_of(job).get("ttlSecondsAfterFinished")
        if keep is None or is_going(job):
            return
        ends = [
            moment(each.get("lastTransitionTime"))
            for each in conditions_of(job)
            if each["type"] in ("Complete", "Failed")
        ]
        finished = max((each for each in ends if each is not None), default=None)
        if finished is None:
            return
        left = keep - (self._hands.clock() - finished).total_seconds()
        if left > 0:
            queue.add_after(key_of(job), left)
        else:
            await self._hands.delete(self._jobs, job, how=FOREGROUND)
