"""The ReplicaSets of a Deployment, written: made, sized and forgotten, each with an event and a note of progress."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.kube.errors import CONFLICT, ApiError
from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.deployment_templates import (
    annotations_for,
    has_template,
    new_set,
    newest,
    sizes_noted,
    with_revision,
)
from tangram.sandbox.controllers.hands import Hands, copied, namespace_ends
from tangram.sandbox.controllers.reading import (
    annotations_of,
    condition_of,
    conditions_of,
    controller_of,
    generation_of,
    is_going,
    key_of,
    replicas_of,
    spec_of,
    status_of,
    uid_of,
)
from tangram.sandbox.controllers.resources import DEPLOYMENTS, REPLICA_SETS
from tangram.sandbox.controllers.rollout import REVISION, number_in
from tangram.sandbox.controllers.rollout_status import PROGRESSING, condition, has_deadline, with_condition

COMPONENT: Final = "deployment-controller"


class RolloutSets:
    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._deployments = hands.copies.of(DEPLOYMENTS)
        self._sets = hands.copies.of(REPLICA_SETS)

    async def with_revisions(
        self, found: Object, sets: Sequence[Object]
    ) -> tuple[Object, Object | None, list[Object]]:
        """The newest and the older ReplicaSets; the newest carries the highest revision, and the Deployment too."""
        new, olds = newest(found, sets)
        if new is None:
            return found, None, olds
        wanted = annotations_for(found, new, olds)
        ready = spec_of(found).get("minReadySeconds") or 0
        if wanted != annotations_of(new) or ready != (spec_of(new).get("minReadySeconds") or 0):
            changed = copied(new)
            changed["metadata"]["annotations"] = wanted
            changed["spec"]["minReadySeconds"] = ready
            new = await self._hands.replace(self._sets, changed)
        found = with_revision(found, annotations_of(new).get(REVISION, ""))
        status = status_of(found)
        if has_deadline(found) and condition_of(found, PROGRESSING) is None:
            message = f'Found new replica set "{new["metadata"]["name"]}"'
            told = condition(PROGRESSING, "True", "FoundNewReplicaSet", message, self._hands.clock())
            status = {**status, "conditions": with_condition(conditions_of(found), told)}
        return await self.write(found, status), new, olds

    async def create(self, found: Object, olds: list[Object]) -> tuple[Object, Object | None]:
        """The ReplicaSet of a new template, as large as it may be at once."""
        body = new_set(found, olds)
        name = body["metadata"]["name"]
        try:
            new = await self._hands.create(self._sets, body, found["metadata"]["namespace"])
        except ApiError as error:
            if error.status == CONFLICT:
                return await self._met(found, name, error)
            if not namespace_ends(error):
                await self._tell_failure(found, name, error)
            raise
        if replicas_of(new):
            self._tell(found, f"Scaled up replica set {name} from 0 to {replicas_of(new)}")
        found = with_revision(found, annotations_of(new)[REVISION])
        status = status_of(found)
        if has_deadline(found):
            message = f'Created new replica set "{name}"'
            told = condition(PROGRESSING, "True", "NewReplicaSetCreated", message, self._hands.clock())
            status = {**status, "conditions": with_condition(conditions_of(found), told)}
        return await self.write(found, status), new

    async def _met(self, found: Object, name: str, error: ApiError) -> tuple[Object, Object | None]:
        """There is one of this name: ours after all, or another template's, which gets us another name next time."""
        there = await self._hands.read(REPLICA_SETS, Key(found["metadata"]["namespace"], name))
        if there is not None:
            owner = controller_of(there)
            if owner is not None and owner["uid"] == uid_of(found) and has_template(found, there):
                self._sets.note(there)
                return found, there
            count = (status_of(found).get("collisionCount") or 0) + 1
            await self.write(found, {**status_of(found), "collisionCount": count})
        raise error

    async def _tell_failure(self, found: Object, name: str, error: ApiError) -> None:
        message = f'Failed to create new replica set "{name}": {error.message}'
        self._hands.tell(COMPONENT, DEPLOYMENTS, found, "ReplicaSetCreateError", message, bad=True)
        if has_deadline(found):
            told = condition(PROGRESSING, "False", "ReplicaSetCreateError", message, self._hands.clock())
            conditions = with_condition(conditions_of(found), told)
            await self.write(found, {**status_of(found), "conditions": conditions})

    async def scale(self, found: Object, each: Object, size: int, *, always: bool = False) -> Object:
        before = replicas_of(each)
        notes = annotations_of(each) | sizes_noted(found)
        if before == size and not (always and notes != annotations_of(each)):
            return each
        changed = copied(each)
        changed["spec"]["replicas"] = size
        changed["metadata"]["annotations"] = notes
        made = await self._hands.replace(self._sets, changed)
        if before != size:
            way = "up" if size > before else "down"
            self._tell(found, f"Scaled {way} replica set {each['metadata']['name']} from {before} to {size}")
        return made

    async def clean_up(self, found: Object, olds: list[Object]) -> None:
        limit = spec_of(found).get("revisionHistoryLimit")
        kept = [each for each in olds if not is_going(each)]
        if limit is None or len(kept) <= limit:
            return
        for each in sorted(kept, key=lambda one: number_in(one, REVISION) or 0)[: len(kept) - limit]:
            seen = status_of(each).get("observedGeneration") or 0
            if not replicas_of(each) and not status_of(each).get("replicas") and seen >= generation_of(each):
                await self._hands.delete(self._sets, each)

    async def write(self, found: Object, status: Object) -> Object:
        """Its status and, which the server allows on the same way, its revision."""
        known = self._deployments.get(key_of(found))
        if (
            known is not None
            and status_of(known) == status
            and annotations_of(known) == annotations_of(found)
        ):
            return found
        return copied(await self._hands.replace(self._deployments, {**found, "status": status}, "/status"))

    def _tell(self, found: Object, message: str) -> None:
        self._hands.tell(COMPONENT, DEPLOYMENTS, found, "ScalingReplicaSet", message)
