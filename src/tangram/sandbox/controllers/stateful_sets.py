"""StatefulSets: pods with names that stay, made and ended in order, each with its own claims.

Differences from the real controller, on purpose: claims are kept for ever (`persistentVolumeClaimRetentionPolicy` is
stored and not acted on), and an update replaces one pod at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.kube.errors import CONFLICT, ApiError
from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.following import follow, follow_children
from tangram.sandbox.controllers.hands import Hands, in_batches, namespace_ends
from tangram.sandbox.controllers.pods import claimed
from tangram.sandbox.controllers.reading import (
    Now,
    is_available,
    is_ended,
    is_going,
    items,
    key_of,
    labels_of,
    next_to_be_available,
    part,
    phase_of,
    replicas_of,
    spec_of,
    status_of,
)
from tangram.sandbox.controllers.resources import PODS, STATEFUL_SETS, VOLUME_CLAIMS
from tangram.sandbox.controllers.revisions import HASH, Revisions
from tangram.sandbox.controllers.stateful_pods import (
    claim_name,
    first_place,
    number_of,
    numbered_pod,
    place_of,
    status_after,
)
from tangram.sandbox.controllers.work import WorkQueue

COMPONENT: Final = "statefulset-controller"
REVISION_LABEL: Final = "controller.kubernetes.io/hash"


class StatefulSets:
    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._sets = hands.copies.of(STATEFUL_SETS)
        self._pods = hands.copies.of(PODS)
        self._revisions = Revisions(hands, STATEFUL_SETS, REVISION_LABEL)
        self.queue: Final = WorkQueue[Key](COMPONENT, self.look)
        follow(self._sets, self.queue)
        follow_children(self._pods, self._sets, self.queue)

    async def look(self, key: Key) -> None:
        owner = self._sets.get(key)
        if owner is None:
            return
        pods = await self._own_pods(owner)
        update, others = await self._revisions.current(owner)
        named = {each["metadata"]["name"]: each for each in (update, *others)}
        current = named.get(status_of(owner).get("currentRevision") or "", update)
        failure: Exception | None = None
        if not is_going(owner):
            try:
                await self._move(owner, pods, current, update)
            except ApiError as error:
                failure = error
        pods = await self._own_pods(owner)
        owner = self._sets.get(key)
        if owner is None:
            return
        now = self._hands.clock()
        await self._hands.write_status(self._sets, owner, status_after(owner, pods, current, update, now))
        live = {labels_of(pod).get(HASH, "") for pod in pods} | {current["metadata"]["name"]}
        spare = [each for each in others if each["metadata"]["name"] not in live]
        await self._revisions.shorten(owner, spare, live)
        self._note_next(owner, pods, now)
        if failure is not None:
            raise failure

    async def _own_pods(self, owner: Object) -> list[Object]:
        """Its pods are those with its labels and a name made of its own and a number."""
        pods = await claimed(self._hands, STATEFUL_SETS, owner, self._pods)
        return sorted(
            (pod for pod in pods if number_of(owner, pod) is not None), key=lambda pod: place_of(owner, pod)
        )

    async def _move(self, owner: Object, pods: Sequence[Object], current: Object, update: Object) -> None:
        """One step: make the next pod, end the last one too many, or replace one of an old template."""
        first, ordered = first_place(owner), spec_of(owner).get("podManagementPolicy") != "Parallel"
        places = range(first, first + replicas_of(owner))
        there = {place_of(owner, pod): pod for pod in pods}
        if ordered:
            for place in places:
                if not await self._settle(owner, place, there.get(place), current, update):
                    return
        else:

            async def settle(number: int) -> None:
                await self._settle(owner, places[number], there.get(places[number]), current, update)

            failure = (await in_batches(len(places), settle))[1]
            if failure is not None:
                raise failure
        condemned = [pod for place, pod in sorted(there.items(), reverse=True) if place not in places]
        if condemned and not await self._condemn(owner, condemned, ordered=ordered):
            return
        if part(spec_of(owner), "updateStrategy").get("type") != "OnDelete":
            await self._replace_one(owner, [there[place] for place in places if place in there], update)

    async def _settle(
        self, owner: Object, place: int, pod: Object | None, current: Object, update: Object
    ) -> bool:
        """Whether the pod of this number is there and well, so that the next may come."""
        if pod is None:
            await self._create(owner, place, current, update)
            return False
        if is_ended(pod):
            if not is_going(pod):
                await self._end(owner, pod)
            return False
        return not is_going(pod) and self._works(owner, pod)

    async def _condemn(self, owner: Object, condemned: list[Object], *, ordered: bool) -> bool:
        """End those beyond the wanted number, the highest first. Whether nothing is left to do about them."""
        if not ordered:
            for pod in condemned:
                if not is_going(pod):
                    await self._end(owner, pod)
            return True
        highest = condemned[0]
        broken = [pod for pod in condemned if not self._works(owner, pod)]
        # A broken one among them goes only in its turn, and one that works does not wait for it.
        if not is_going(highest) and (self._works(owner, highest) or broken == [highest]):
            await self._end(owner, highest)
        return False

    async def _replace_one(self, owner: Object, pods: list[Object], update: Object) -> None:
        partition: int = part(spec_of(owner), "updateStrategy", "rollingUpdate").get("partition") or 0
        for pod in reversed(pods[partition:]):
            if labels_of(pod).get(HASH) != update["metadata"]["name"] and not is_going(pod):
                await self._end(owner, pod)
                return
            if is_going(pod) or not self._works(owner, pod):
                return

    def _works(self, owner: Object, pod: Object) -> bool:
        least = spec_of(owner).get("minReadySeconds") or 0
        return phase_of(pod) == "Running" and is_available(pod, least, self._hands.clock())

    async def _create(self, owner: Object, place: int, current: Object, update: Object) -> None:
        rolling = part(spec_of(owner), "updateStrategy").get("rollingUpdate")
        if rolling is None:
            old = place < first_place(owner) + (status_of(owner).get("currentReplicas") or 0)
        else:
            old = place < first_place(owner) + (rolling.get("partition") or 0)
        pod = numbered_pod(owner, place, current if old else update)
        name, title = pod["metadata"]["name"], owner["metadata"]["name"]
        try:
            await self._create_claims(owner, place)
            await self._hands.create(self._pods, pod, owner["metadata"]["namespace"])
        except ApiError as error:
            if namespace_ends(error):
                return
            message = f"create Pod {name} in StatefulSet {title} failed error: {error.message}"
            self._hands.tell(COMPONENT, STATEFUL_SETS, owner, "FailedCreate", message, bad=True)
            raise
        message = f"create Pod {name} in StatefulSet {title} successful"
        self._hands.tell(COMPONENT, STATEFUL_SETS, owner, "SuccessfulCreate", message)

    async def _create_claims(self, owner: Object, place: int) -> None:
        path = VOLUME_CLAIMS.collection(owner["metadata"]["namespace"])
        for template in items(spec_of(owner), "volumeClaimTemplates"):
            labels = part(spec_of(owner), "selector", "matchLabels")
            metadata: Object = {**template["metadata"], "name": claim_name(owner, template, place)}
            metadata["labels"] = part(metadata, "labels") | labels
            body = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": metadata,
                "spec": template["spec"],
            }
            try:
                await self._hands.api.create(path, body)
            except ApiError as error:
                if error.status != CONFLICT:
                    raise

    async def _end(self, owner: Object, pod: Object) -> None:
        if await self._hands.delete(self._pods, pod):
            what = (
                f"delete Pod {pod['metadata']['name']} in StatefulSet {owner['metadata']['name']} successful"
            )
            self._hands.tell(COMPONENT, STATEFUL_SETS, owner, "SuccessfulDelete", what)

    def _note_next(self, owner: Object, pods: list[Object], now: Now) -> None:
        least = spec_of(owner).get("minReadySeconds") or 0
        wait = next_to_be_available(pods, least, now)
        if wait is not None:
            self.queue.add_after(key_of(owner), wait)
