"""Deployments: a ReplicaSet for each template they ever had, and the walk from one to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.kube.errors import CONFLICT, ApiError
from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.following import follow, follow_children, owner_in
from tangram.sandbox.controllers.hands import Hands, copied, namespace_ends
from tangram.sandbox.controllers.pods import claimed, template_hash
from tangram.sandbox.controllers.reading import (
    annotations_of,
    condition_of,
    conditions_of,
    controller_of,
    generation_of,
    is_ended,
    is_going,
    key_of,
    part,
    replicas_of,
    spec_of,
    status_of,
    uid_of,
)
from tangram.sandbox.controllers.resources import DEPLOYMENTS, PODS, REPLICA_SETS
from tangram.sandbox.controllers.rollout import (
    DESIRED,
    MOST,
    REVISION,
    REVISIONS_BEFORE,
    active,
    allowances,
    by_age,
    is_resized,
    is_rolling,
    number_in,
    resize,
    shrink_old,
    size_of_new,
)
from tangram.sandbox.controllers.rollout_status import (
    PAUSED,
    PROGRESSING,
    TIMED_OUT,
    condition,
    counts_of,
    has_deadline,
    is_complete,
    seconds_left,
    status_in_rollout,
    with_condition,
)
from tangram.sandbox.controllers.work import WorkQueue

COMPONENT: Final = "deployment-controller"
HASH: Final = "pod-template-hash"
NOT_HANDED_ON: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        REVISIONS_BEFORE,
        DESIRED,
        MOST,
        "deprecated.deployment.rollback.to",
    }
)
LONGEST_NAME: Final = 253


class Deployments:
    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._deployments = hands.copies.of(DEPLOYMENTS)
        self._sets = hands.copies.of(REPLICA_SETS)
        self._pods = hands.copies.of(PODS)
        self.queue: Final = WorkQueue[Key](COMPONENT, self.look)
        follow(self._deployments, self.queue)
        follow_children(self._sets, self._deployments, self.queue)
        self._pods.listeners.append(self._pod_changed)

    def _pod_changed(self, before: Object | None, after: Object | None) -> None:
        """The last old pod of one that replaces all at once is gone: its new ones may come."""
        if before is None or after is not None:
            return
        replica_set = owner_in(self._sets, before)
        owner = None if replica_set is None else owner_in(self._deployments, replica_set)
        if owner is not None and not is_rolling(owner):
            self.queue.add(key_of(owner))

    async def look(self, key: Key) -> None:
        found = self._deployments.get(key)
        if found is None:
            return
        found = copied(found)
        sets = await claimed(self._hands, DEPLOYMENTS, found, self._sets)
        if is_going(found):
            new, olds = _newest(found, sets)
            await self._write(found, counts_of(found, [*olds, *_one(new)], new, self._hands.clock()))
            return
        found = await self._note_pause(found)
        found, new, olds = await self._with_revisions(found, sets)
        paused = spec_of(found).get("paused") or False
        if paused or is_resized(found, [*olds, *_one(new)]):
            await self._resize(found, new, olds, paused=paused)
        elif is_rolling(found):
            await self._roll(found, new, olds)
        else:
            await self._recreate(found, new, olds)

    # ---- the three ways to go on

    async def _resize(self, found: Object, new: Object | None, olds: list[Object], *, paused: bool) -> None:
        sizes = resize(found, new, olds)
        several = len(sizes) > 1
        for each, size in sizes:
            changed = await self._scale(found, each, size, always=several)
            new = changed if new is not None and uid_of(changed) == uid_of(new) else new
            olds = [changed if uid_of(changed) == uid_of(old) else old for old in olds]
        if paused:
            await self._clean_up(found, olds)
        await self._write(found, counts_of(found, [*olds, *_one(new)], new, self._hands.clock()))

    async def _roll(self, found: Object, new: Object | None, olds: list[Object]) -> None:
        if new is None:
            found, new = await self._create(found, olds)
            if new is None:
                return
        size = size_of_new(found, [*olds, new], replicas_of(new))
        if size != replicas_of(new):
            new = await self._scale(found, new, size)
        else:
            for old, smaller in shrink_old(found, new, olds):
                changed = await self._scale(found, old, smaller)
                olds = [changed if uid_of(changed) == uid_of(each) else each for each in olds]
        await self._end(found, new, olds)

    async def _recreate(self, found: Object, new: Object | None, olds: list[Object]) -> None:
        if active(olds):
            for old in active(olds):
                changed = await self._scale(found, old, 0)
                olds = [changed if uid_of(changed) == uid_of(each) else each for each in olds]
            await self._end(found, new, olds)
            return
        if self._old_pods_run(olds):
            await self._end(found, new, olds)
            return
        if new is None:
            found, new = await self._create(found, olds)
            if new is None:
                return
        new = await self._scale(found, new, replicas_of(found))
        await self._end(found, new, olds)

    async def _end(self, found: Object, new: Object | None, olds: list[Object]) -> None:
        if is_complete(found, status_of(found)):
            await self._clean_up(found, olds)
        now = self._hands.clock()
        written = await self._write(found, status_in_rollout(found, [*olds, *_one(new)], new, now))
        left = seconds_left(written, condition_of(written, PROGRESSING), now)
        if left is not None and not is_complete(written, status_of(written)):
            # A moment later than the deadline, or the look would come just too early.
            self.queue.add_after(key_of(found), left + 1.0)

    # ---- ReplicaSets

    async def _with_revisions(
        self, found: Object, sets: Sequence[Object]
    ) -> tuple[Object, Object | None, list[Object]]:
        """The newest and the older ReplicaSets; the newest carries the highest revision, and the Deployment too."""
        new, olds = _newest(found, sets)
        if new is None:
            return found, None, olds
        wanted = _annotations(found, new, _highest(olds) + 1)
        ready = spec_of(found).get("minReadySeconds") or 0
        if wanted != annotations_of(new) or ready != (spec_of(new).get("minReadySeconds") or 0):
            changed = copied(new)
            changed["metadata"]["annotations"] = wanted
            changed["spec"]["minReadySeconds"] = ready
            new = await self._hands.replace(self._sets, changed)
        found = _with_revision(found, annotations_of(new).get(REVISION, ""))
        status = status_of(found)
        if has_deadline(found) and condition_of(found, PROGRESSING) is None:
            message = f'Found new replica set "{new["metadata"]["name"]}"'
            told = condition(PROGRESSING, "True", "FoundNewReplicaSet", message, self._hands.clock())
            status = {**status, "conditions": with_condition(conditions_of(found), told)}
        return await self._write(found, status), new, olds

    async def _create(self, found: Object, olds: list[Object]) -> tuple[Object, Object | None]:
        body = self._new_set(found, olds)
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
        found = _with_revision(found, annotations_of(new)[REVISION])
        status = status_of(found)
        if has_deadline(found):
            message = f'Created new replica set "{name}"'
            told = condition(PROGRESSING, "True", "NewReplicaSetCreated", message, self._hands.clock())
            status = {**status, "conditions": with_condition(conditions_of(found), told)}
        return await self._write(found, status), new

    def _new_set(self, found: Object, olds: list[Object]) -> Object:
        spec = spec_of(found)
        template = copied(spec["template"])
        digest = template_hash(template, status_of(found).get("collisionCount"))
        template.setdefault("metadata", {}).setdefault("labels", {})[HASH] = digest
        selector = copied(spec["selector"])
        selector.setdefault("matchLabels", {})[HASH] = digest
        name = f"{found['metadata']['name'][: LONGEST_NAME - 1 - len(digest)]}-{digest}"
        body: Object = {
            "metadata": {
                "name": name,
                "namespace": found["metadata"]["namespace"],
                "labels": dict(template["metadata"]["labels"]),
                "ownerReferences": [DEPLOYMENTS.reference(found)],
            },
            "spec": {
                "replicas": size_of_new(found, olds, 0),
                "minReadySeconds": spec.get("minReadySeconds") or 0,
                "selector": selector,
                "template": template,
            },
        }
        body["metadata"]["annotations"] = _annotations(found, body, _highest(olds) + 1) | _sizes(found)
        return body

    async def _met(self, found: Object, name: str, error: ApiError) -> tuple[Object, Object | None]:
        """There is one of this name: ours after all, or another template's, which gets us another name next time."""
        there = await self._hands.read(REPLICA_SETS, Key(found["metadata"]["namespace"], name))
        if there is not None:
            owner = controller_of(there)
            if owner is not None and owner["uid"] == uid_of(found) and _same(found, there):
                self._sets.note(there)
                return found, there
            count = (status_of(found).get("collisionCount") or 0) + 1
            await self._write(found, {**status_of(found), "collisionCount": count})
        raise error

    async def _tell_failure(self, found: Object, name: str, error: ApiError) -> None:
        message = f'Failed to create new replica set "{name}": {error.message}'
        self._hands.tell(COMPONENT, DEPLOYMENTS, found, "ReplicaSetCreateError", message, bad=True)
        if has_deadline(found):
            told = condition(PROGRESSING, "False", "ReplicaSetCreateError", message, self._hands.clock())
            conditions = with_condition(conditions_of(found), told)
            await self._write(found, {**status_of(found), "conditions": conditions})

    async def _scale(self, found: Object, each: Object, size: int, *, always: bool = False) -> Object:
        before = replicas_of(each)
        notes = annotations_of(each) | _sizes(found)
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

    async def _clean_up(self, found: Object, olds: list[Object]) -> None:
        limit = spec_of(found).get("revisionHistoryLimit")
        kept = [each for each in olds if not is_going(each)]
        if limit is None or len(kept) <= limit:
            return
        for each in sorted(kept, key=lambda one: number_in(one, REVISION) or 0)[: len(kept) - limit]:
            seen = status_of(each).get("observedGeneration") or 0
            if not replicas_of(each) and not status_of(each).get("replicas") and seen >= generation_of(each):
                await self._hands.delete(self._sets, each)

    def _old_pods_run(self, olds: list[Object]) -> bool:
        if any(status_of(old).get("replicas") for old in olds):
            return True
        return any(not is_ended(pod) for old in olds for pod in self._pods.owned_by(uid_of(old)))

    # ---- the Deployment itself

    async def _note_pause(self, found: Object) -> Object:
        """Being paused is no lack of progress, and coming back from it starts the time anew."""
        before = condition_of(found, PROGRESSING) or {}
        paused = spec_of(found).get("paused") or False
        if (
            not has_deadline(found)
            or before.get("reason") == TIMED_OUT
            or paused == (before.get("reason") == PAUSED)
        ):
            return found
        reason, word = (PAUSED, "paused") if paused else ("DeploymentResumed", "resumed")
        told = condition(PROGRESSING, "Unknown", reason, f"Deployment is {word}", self._hands.clock())
        conditions = with_condition(conditions_of(found), told)
        return await self._write(found, {**status_of(found), "conditions": conditions})

    async def _write(self, found: Object, status: Object) -> Object:
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


def _newest(found: Object, sets: Sequence[Object]) -> tuple[Object | None, list[Object]]:
    new = next((each for each in by_age(sets) if _same(found, each)), None)
    return new, [each for each in sets if new is None or uid_of(each) != uid_of(new)]


def _same(found: Object, replica_set: Object) -> bool:
    """Whether a ReplicaSet has the Deployment's template, but for the label that tells the two apart."""
    return _bare(spec_of(found)["template"]) == _bare(spec_of(replica_set)["template"])


def _bare(template: Object) -> tuple[Object, Object]:
    metadata = {key: value for key, value in part(template, "metadata").items() if value is not None}
    labels = {key: value for key, value in part(metadata, "labels").items() if key != HASH}
    return {**metadata, "labels": labels}, part(template, "spec")


def _highest(sets: Sequence[Object]) -> int:
    return max((number_in(each, REVISION) or 0 for each in sets), default=0)


def _annotations(found: Object, new: Object, revision: int) -> dict[str, str]:
    handed = {key: value for key, value in annotations_of(found).items() if key not in NOT_HANDED_ON}
    merged = annotations_of(new) | handed
    before = number_in(new, REVISION)
    if before is None or before < revision:
        merged[REVISION] = str(revision)
        if before is not None:
            earlier = [each for each in merged.get(REVISIONS_BEFORE, "").split(",") if each]
            merged[REVISIONS_BEFORE] = ",".join([*earlier, str(before)])
    return merged


def _sizes(found: Object) -> dict[str, str]:
    wanted = replicas_of(found)
    return {DESIRED: str(wanted), MOST: str(wanted + allowances(found)[0])}


def _with_revision(found: Object, revision: str) -> Object:
    if not revision or annotations_of(found).get(REVISION) == revision:
        return found
    metadata = {**found["metadata"], "annotations": annotations_of(found) | {REVISION: revision}}
    return {**found, "metadata": metadata}


def _one(new: Object | None) -> list[Object]:
    return [] if new is None else [new]
