"""Deployments: a ReplicaSet for each template they ever had, and the walk from one to the next."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.deployment_templates import newest
from tangram.sandbox.controllers.following import follow, follow_children, owner_in
from tangram.sandbox.controllers.hands import Hands, copied
from tangram.sandbox.controllers.pods import claimed
from tangram.sandbox.controllers.reading import (
    condition_of,
    conditions_of,
    is_ended,
    is_going,
    key_of,
    replicas_of,
    spec_of,
    status_of,
    uid_of,
)
from tangram.sandbox.controllers.resources import DEPLOYMENTS, PODS, REPLICA_SETS
from tangram.sandbox.controllers.rollout import (
    active,
    is_resized,
    is_rolling,
    resize,
    shrink_old,
    size_of_new,
)
from tangram.sandbox.controllers.rollout_sets import COMPONENT, RolloutSets
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


class Deployments:
    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._deployments = hands.copies.of(DEPLOYMENTS)
        self._sets = hands.copies.of(REPLICA_SETS)
        self._pods = hands.copies.of(PODS)
        self._rollout = RolloutSets(hands)
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
            new, olds = newest(found, sets)
            await self._rollout.write(found, counts_of(found, [*olds, *_one(new)], new, self._hands.clock()))
            return
        found = await self._note_pause(found)
        found, new, olds = await self._rollout.with_revisions(found, sets)
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
            changed = await self._rollout.scale(found, each, size, always=several)
            new = changed if new is not None and uid_of(changed) == uid_of(new) else new
            olds = _with(olds, changed)
        if paused:
            await self._rollout.clean_up(found, olds)
        await self._rollout.write(found, counts_of(found, [*olds, *_one(new)], new, self._hands.clock()))

    async def _roll(self, found: Object, new: Object | None, olds: list[Object]) -> None:
        if new is None:
            found, new = await self._rollout.create(found, olds)
            if new is None:
                return
        size = size_of_new(found, [*olds, new], replicas_of(new))
        if size != replicas_of(new):
            new = await self._rollout.scale(found, new, size)
        else:
            for old, smaller in shrink_old(found, new, olds):
                changed = await self._rollout.scale(found, old, smaller)
                olds = _with(olds, changed)
        await self._end(found, new, olds)

    async def _recreate(self, found: Object, new: Object | None, olds: list[Object]) -> None:
        if active(olds):
            for old in active(olds):
                changed = await self._rollout.scale(found, old, 0)
                olds = _with(olds, changed)
            await self._end(found, new, olds)
            return
        if self._old_pods_run(olds):
            await self._end(found, new, olds)
            return
        if new is None:
            found, new = await self._rollout.create(found, olds)
            if new is None:
                return
        new = await self._rollout.scale(found, new, replicas_of(found))
        await self._end(found, new, olds)

    async def _end(self, found: Object, new: Object | None, olds: list[Object]) -> None:
        if is_complete(found, status_of(found)):
            await self._rollout.clean_up(found, olds)
        now = self._hands.clock()
        written = await self._rollout.write(found, status_in_rollout(found, [*olds, *_one(new)], new, now))
        left = seconds_left(written, condition_of(written, PROGRESSING), now)
        if left is not None and not is_complete(written, status_of(written)):
            # A moment later than the deadline, or the look would come just too early.
            self.queue.add_after(key_of(found), left + 1.0)

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
        return await self._rollout.write(found, {**status_of(found), "conditions": conditions})


def _one(new: Object | None) -> list[Object]:
    return [] if new is None else [new]


def _with(sets: list[Object], changed: Object) -> list[Object]:
    """The same, one of them as it is now."""
    return [changed if uid_of(each) == uid_of(changed) else each for each in sets]
