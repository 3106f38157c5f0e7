"""ReplicaSets: so many pods of one template, no more and no fewer."""

from __future__ import annotations

from collections import Counter
from typing import Final

from tangram.kube.errors import ApiError
from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.following import follow, follow_children
from tangram.sandbox.controllers.hands import Hands, in_batches
from tangram.sandbox.controllers.pods import claimed, create_pod, delete_pod, first_to_go, pod_from
from tangram.sandbox.controllers.reading import (
    Now,
    conditions_of,
    controller_of,
    find_condition,
    generation_of,
    is_active,
    is_available,
    is_ended,
    is_going,
    is_ready,
    key_of,
    labels_of,
    next_to_be_available,
    part,
    replicas_of,
    spec_of,
    status_of,
    uid_of,
)
from tangram.sandbox.controllers.resources import PODS, REPLICA_SETS
from tangram.sandbox.controllers.work import WorkQueue
from tangram.wire.timestamps import to_second

COMPONENT: Final = "replicaset-controller"
MOST_IN_ONE_LOOK: Final = 500
FAILURE: Final = "ReplicaFailure"


class ReplicaSets:
    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._sets = hands.copies.of(REPLICA_SETS)
        self._pods = hands.copies.of(PODS)
        self.queue: Final = WorkQueue[Key](COMPONENT, self.look)
        follow(self._sets, self.queue)
        follow_children(self._pods, self._sets, self.queue)

    async def look(self, key: Key) -> None:
        """Make what is missing, end what is too much, write what there is."""
        found = self._sets.get(key)
        if found is None:
            return
        pods = await claimed(self._hands, REPLICA_SETS, found, self._pods)
        failure = (
            None if is_going(found) else await self._adjust(found, [pod for pod in pods if is_active(pod)])
        )
        found = self._sets.get(key)
        if found is None:
            return
        pods = self._pods.owned_by(uid_of(found))
        now = self._hands.clock()
        await self._hands.write_status(self._sets, found, status_after(found, pods, failure, now))
        self._note_next(found, pods, now)
        if failure is not None:
            raise failure

    async def _adjust(self, found: Object, active: list[Object]) -> Exception | None:
        missing = replicas_of(found) - len(active)
        if missing > 0:
            template = part(spec_of(found), "template")

            async def make(_number: int) -> None:
                pod = pod_from(template, REPLICA_SETS, found)
                await create_pod(self._hands, COMPONENT, REPLICA_SETS, found, pod)

            return (await in_batches(min(missing, MOST_IN_ONE_LOOK), make))[1]
        if missing < 0:
            doomed = first_to_go(active, self._crowds(found))[: min(-missing, MOST_IN_ONE_LOOK)]

            async def end(number: int) -> None:
                await delete_pod(self._hands, COMPONENT, REPLICA_SETS, found, doomed[number])

            return (await in_batches(len(doomed), end))[1]
        return None

    def _crowds(self, found: Object) -> dict[str, int]:
        """How many active pods of the whole family (of a Deployment) each node has."""
        family = [found]
        parent = controller_of(found)
        if parent is not None:
            family = self._sets.owned_by(parent["uid"])
        pods = (pod for each in family for pod in self._pods.owned_by(uid_of(each)) if is_active(pod))
        return Counter(spec_of(pod).get("nodeName") or "" for pod in pods)

    def _note_next(self, found: Object, pods: list[Object], now: Now) -> None:
        least = spec_of(found).get("minReadySeconds") or 0
        wait = next_to_be_available(filter(is_active, pods), least, now)
        if wait is not None:
            self.queue.add_after(key_of(found), wait)


def status_after(found: Object, pods: list[Object], failure: Exception | None, now: Now) -> Object:
    """What a ReplicaSet with these pods says of itself."""
    active = [pod for pod in pods if is_active(pod)]
    least = spec_of(found).get("minReadySeconds") or 0
    labels = part(spec_of(found), "template", "metadata", "labels")
    status = dict(status_of(found))
    counts = {
        "replicas": len(active),
        "fullyLabeledReplicas": sum(labels.items() <= labels_of(pod).items() for pod in active),
        "readyReplicas": sum(map(is_ready, active)),
        "availableReplicas": sum(is_available(pod, least, now) for pod in active),
    }
    terminating = sum(is_going(pod) and not is_ended(pod) for pod in pods)
    status = {key: value for key, value in status.items() if key not in counts}
    status |= {key: value for key, value in counts.items() if value or key == "replicas"}
    status["terminatingReplicas"] = terminating
    status["observedGeneration"] = generation_of(found)
    conditions = _conditions(found, len(active), failure, now)
    status.pop("conditions", None)
    return status | ({"conditions": conditions} if conditions else {})


def _conditions(found: Object, active: int, failure: Exception | None, now: Now) -> list[Object]:
    others = [each for each in conditions_of(found) if each["type"] != FAILURE]
    if failure is None:
        return others
    before = find_condition(conditions_of(found), FAILURE)
    if before is not None:
        return [*others, before]
    told = failure.message if isinstance(failure, ApiError) else str(failure)
    reason = "FailedCreate" if active < replicas_of(found) else "FailedDelete"
    made = {
        "type": FAILURE,
        "status": "True",
        "lastTransitionTime": to_second(now),
        "reason": reason,
        "message": told,
    }
    return [*others, made]
