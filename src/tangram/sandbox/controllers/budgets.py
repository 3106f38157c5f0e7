"""Disruption budgets: how many pods of an application may be evicted now.

The eviction itself is granted or refused by the API server, from the number written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.budget_status import PATIENCE, status_after, status_in_doubt, still_expected
from tangram.sandbox.controllers.following import follow, owner_in
from tangram.sandbox.controllers.hands import Hands
from tangram.sandbox.controllers.reading import (
    controller_of,
    is_going,
    is_ready,
    key_of,
    labels_of,
    moment,
    part,
    replicas_of,
    spec_of,
)
from tangram.sandbox.controllers.resources import (
    BUDGETS,
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from tangram.sandbox.controllers.selecting import selects
from tangram.sandbox.controllers.served import Served
from tangram.sandbox.controllers.shares import is_percentage, share
from tangram.sandbox.controllers.work import WorkQueue

COMPONENT: Final = "controllermanager"


class CannotCount(Exception):  # noqa: N818 - says what is the case
    """How many pods there should be is not known; the text says of which."""


class Budgets:
    def __init__(self, hands: Hands, served: Served) -> None:
        self._hands = hands
        self._served = served
        self._budgets = hands.copies.of(BUDGETS)
        self._pods = hands.copies.of(PODS)
        self._sets = hands.copies.of(REPLICA_SETS)
        self._sized: Final = {
            each.kind: hands.copies.of(each)
            for each in (REPLICA_SETS, STATEFUL_SETS, REPLICATION_CONTROLLERS, DEPLOYMENTS)
        }
        self.queue: Final = WorkQueue[Key](COMPONENT, self.look)
        follow(self._budgets, self.queue)
        self._pods.listeners.append(self._pod_changed)
        for copy in self._sized.values():
            copy.listeners.append(self._size_changed)

    def _pod_changed(self, before: Object | None, after: Object | None) -> None:
        if before is not None and after is not None and _facts(before) == _facts(after):
            return
        for pod in filter(None, (before, after)):
            for budget in self._budgets.in_namespace(key_of(pod).namespace):
                if selects(spec_of(budget).get("selector"), labels_of(pod)):
                    self.queue.add(key_of(budget))

    def _size_changed(self, before: Object | None, after: Object | None) -> None:
        """Another size of a workload is another number of pods to expect."""
        seen = after if after is not None else before
        if seen is None or (
            before is not None and after is not None and replicas_of(before) == replicas_of(after)
        ):
            return
        for budget in self._budgets.in_namespace(key_of(seen).namespace):
            self.queue.add(key_of(budget))

    async def look(self, key: Key) -> None:
        budget = self._budgets.get(key)
        if budget is None:
            return
        selector = spec_of(budget).get("selector")
        pods = [pod for pod in self._pods.in_namespace(key.namespace) if selects(selector, labels_of(pod))]
        if not pods:
            self._tell(budget, "NoPods", "No matching pods found")
        now = self._hands.clock()
        try:
            expected, desired = await self._expected(budget, pods)
        except CannotCount as error:
            message = f"Failed to calculate the number of expected pods: {error}"
            self._tell(budget, "CalculateExpectedPodCountFailed", message, bad=True)
            await self._hands.write_status(self._budgets, budget, status_in_doubt(budget, str(error), now))
            return
        disrupted = still_expected(budget, pods, now)
        status = status_after(budget, pods, disrupted, now, expected=expected, desired=desired)
        await self._hands.write_status(self._budgets, budget, status)
        if disrupted:
            ends = [moment(text) for text in disrupted.values()]
            first = min((each for each in ends if each is not None), default=now)
            self.queue.add_after(key, (first + PATIENCE - now).total_seconds() + 0.01)

    async def _expected(self, budget: Object, pods: Sequence[Object]) -> tuple[int, int]:
        """How many pods there should be, and how many of them must be well."""
        spec = spec_of(budget)
        most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
        if most is not None:
            expected = await self._scale(budget, pods)
            return expected, max(expected - share(most, expected, up=True), 0)
        if is_percentage(least):
            expected = await self._scale(budget, pods)
            return expected, share(least, expected, up=True)
        return len(pods), share(least, len(pods), up=True)

    async def _scale(self, budget: Object, pods: Sequence[Object]) -> int:
        """The sum of the sizes of all that control these pods."""
        sizes: dict[str, int] = {}
        unmanaged = False
        for pod in pods:
            owner = controller_of(pod)
            if owner is None:
                unmanaged = True
            elif owner["uid"] not in sizes:
                uid, size = await self._size_of(pod, owner)
                sizes[uid] = size
        if unmanaged:
            message = (
                f"Pods selected by this PodDisruptionBudget (selector: {_shown(spec_of(budget).get('selector'))}) were "
                "found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may "
                'result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the '
                "PDB to an integer value."
            )
            self._tell(budget, "UnmanagedPods", message, bad=True)
        return sum(sizes.values())

    async def _size_of(self, pod: Object, owner: Object) -> tuple[str, int]:
        copy = self._sized.get(owner["kind"])
        found = None if copy is None else owner_in(copy, pod)
        if found is not None:
            above = owner_in(self._sized["Deployment"], found) if owner["kind"] == "ReplicaSet" else None
            top = found if above is None else above
            return top["metadata"]["uid"], replicas_of(top)
        scale = await self._scale_of(pod, owner) if copy is None else None
        if scale is None:
            raise CannotCount(f'found no controllers for pod "{pod["metadata"]["name"]}"')
        return owner["uid"], scale

    async def _scale_of(self, pod: Object, owner: Object) -> int | None:
        """Of an owner of any other kind, if it says so itself."""
        resource = self._served.of(owner["apiVersion"], owner["kind"])
        if resource is None:
            return None
        there = await self._hands.read(resource, Key(key_of(pod).namespace, owner["name"]))
        if there is None or there["metadata"]["uid"] != owner["uid"]:
            return None
        path = resource._replace(plural=f"{resource.plural}/{owner['name']}")
        scale = await self._hands.read(path, Key(key_of(pod).namespace, "scale"))
        if scale is None:
            group = f".{resource.group}" if resource.group else ""
            raise CannotCount(f"{resource.plural}{group} does not implement the scale subresource")
        return spec_of(scale).get("replicas") or 0

    def _tell(self, budget: Object, reason: str, message: str, *, bad: bool = False) -> None:
        self._hands.tell(COMPONENT, BUDGETS, budget, reason, message, bad=bad)


def _facts(pod: Object) -> tuple[object, ...]:
    return is_ready(pod), is_going(pod), labels_of(pod), controller_of(pod)


def _shown(selector: Object | None) -> str:
    parts = [f"{key}:{value}" for key, value in sorted(part(selector or {}, "matchLabels").items())]
    return f"map[{' '.join(parts)}]"
