"""What the loop writes on pods and in events, as kube-scheduler does: the condition, the nomination, the reasons.

A condition that would say the same again is not written, or the write itself would be news of the pod and have it
tried once more, for ever.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from tangram.kube.api import Api
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.objects import Object
from tangram.kube.recorder import About, Event, Recorder
from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.sentences import assigned, making_room, preempted
from tangram.wire.timestamps import to_second

STRATEGIC: Final = "application/strategic-merge-patch+json"
LONGEST_NOTE: Final = 1024
UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULER_ERROR: Final = "SchedulerError"

_log = logging.getLogger(__name__)


class Telling:
    def __init__(
        self,
        api: Api,
        recorders: Mapping[str, Recorder],
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        self._api = api
        self._recorders = recorders
        self._now = now

    def event(self, pod: Pod, by: str, reason: str, message: str, *, warning: bool = False) -> None:
        """`by` is the scheduler name that speaks."""
        about = About("Pod", pod.key.name, pod.key.namespace, pod.uid)
        self._recorders[by].record(Event(about, reason, _note(message), warning))

    def bound(self, pod: Pod, node: str) -> None:
        self.event(pod, pod.scheduler, "Scheduled", assigned(*pod.key, node))

    async def waits(self, pod: Pod, reason: str, message: str, nomination: str | None) -> None:
        """The pod has no place. `nomination` is its new one, None to leave it as it is."""
        self.event(pod, pod.scheduler, "FailedScheduling", message, warning=True)
        change = self._condition(pod, "PodScheduled", "False", reason, message)
        if nomination is not None and nomination != pod.nominated:
            change["nominatedNodeName"] = nomination or None
        if change:
            await self._patch(pod, change)

    async def unnominate(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            if pod.nominated:
                await self._patch(pod, {"nominatedNodeName": None})

    async def evict(self, victim: Pod, by: Pod, node: str) -> bool:
        """Mark and delete a victim. Whether it is gone or going."""
        message = making_room(by.scheduler)
        change = self._condition(victim, "DisruptionTarget", "True", "PreemptionByScheduler", message)
        try:
            if change:
                await self._send(victim, change)
            await self._api.delete(victim.path)
        except ApiError as error:
            if error.status != NOT_FOUND:
                _log.warning("%s/%s could not be evicted: %s", *victim.key, error)
                return False
        except ApiUnreachable as error:
            _log.warning("%s/%s could not be evicted: %s", *victim.key, error)
            return False
        else:
            self.event(victim, by.scheduler, "Preempted", preempted(by.uid, node))
        return True

    def _condition(self, pod: Pod, kind: str, status: str, reason: str, message: str) -> Object:
        """The change of the pod's status, empty where it says the same already."""
        conditions: list[Object] = pod.manifest.get("status", {}).get("conditions") or []
        old = next((each for each in conditions if each.get("type") == kind), Object())
        told = {"status": status, "reason": reason, "message": message}
        if all(old.get(name) == value for name, value in told.items()):
            return {}
        since = old.get("lastTransitionTime") if old.get("status") == status else None
        generation: Any = pod.manifest["metadata"].get("generation")
        written: Object = {"type": kind, **told, "lastTransitionTime": since or to_second(self._now())}
        if generation:
            written["observedGeneration"] = generation
        return {"conditions": [written]}

    async def _patch(self, pod: Pod, change: Object) -> None:
        try:
            await self._send(pod, change)
        except (ApiError, ApiUnreachable) as error:
            # It is told again with the next try; a pod that is gone needs nothing.
            _log.info("the status of %s/%s could not be written: %s", *pod.key, error)

    async def _send(self, pod: Pod, change: Object) -> None:
        body: Object = {"metadata": {"uid": pod.uid}, "status": change}
        await self._api.call("PATCH", f"{pod.path}/status", body, content=STRATEGIC)


def _note(message: str) -> str:
    data = message.encode()
    return (
        message if len(data) <= LONGEST_NOTE else data[: LONGEST_NOTE - 4].decode("utf-8", "ignore") + " ..."
    )
