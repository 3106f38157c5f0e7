"""ResourceQuotas: how much of each is used, counted anew whenever something in the namespace comes or goes.

Only counted: whether something may be made within a quota is decided where it is made.
"""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.copies import Copy, metadata_only
from tangram.sandbox.controllers.following import follow
from tangram.sandbox.controllers.hands import Hands
from tangram.sandbox.controllers.quota_usage import counted_resource, in_scopes, is_of_pods, pod_usage
from tangram.sandbox.controllers.reading import is_ended, is_going, key_of, part, spec_of, status_of
from tangram.sandbox.controllers.resources import PODS, RESOURCE_QUOTAS, Resource
from tangram.sandbox.controllers.served import Served
from tangram.sandbox.controllers.work import WorkQueue
from tangram.units.quantity import Quantity

PACE_S: Final = 0.5
"""A burst of pods is counted twice a second and not once for each."""


class Quotas:
    def __init__(self, hands: Hands, served: Served) -> None:
        self._hands = hands
        self._served = served
        self._quotas = hands.copies.of(RESOURCE_QUOTAS)
        self._pods = hands.copies.of(PODS)
        self._followed: set[int] = set()
        self.queue: Final = WorkQueue[Key]("resourcequota-controller", self.look, pace=PACE_S)
        follow(self._quotas, self.queue)
        self._pods.listeners.append(self._pod_changed)

    def _pod_changed(self, before: Object | None, after: Object | None) -> None:
        seen = after if after is not None else before
        same = before is not None and after is not None and is_ended(before) == is_ended(after)
        if seen is not None and (not same or spec_of(before or {}) != spec_of(seen)):
            self._wake(seen)

    def _thing_changed(self, before: Object | None, after: Object | None) -> None:
        seen = after if before is None else (before if after is None else None)
        if seen is not None:
            self._wake(seen)

    def _wake(self, seen: Object) -> None:
        for quota in self._quotas.in_namespace(key_of(seen).namespace):
            self.queue.add(key_of(quota))

    async def look(self, key: Key) -> None:
        quota = self._quotas.get(key)
        if quota is None or is_going(quota):
            return
        hard = part(spec_of(quota), "hard")
        pods = [pod for pod in self._pods.in_namespace(key.namespace) if in_scopes(quota, pod)]
        used = {name: str(amount) for name, amount in pod_usage(pods, filter(is_of_pods, hard)).items()}
        scoped = bool(spec_of(quota).get("scopes") or spec_of(quota).get("scopeSelector"))
        for name in hard:
            resource = None if scoped or is_of_pods(name) else counted_resource(name, self._resources())
            if resource is not None:
                used[name] = str(
                    Quantity.whole(sum(1 for _ in self._copy(resource).in_namespace(key.namespace)))
                )
        status = {"hard": dict(hard), "used": used}
        if {name: status_of(quota).get(name) for name in status} != status:
            await self._hands.write_status(self._quotas, quota, status)

    def _resources(self) -> list[Resource]:
        return [kind.resource for kind in self._served.kinds]

    def _copy(self, resource: Resource) -> Copy:
        """The copy of a kind, of which quotas want to hear from now on."""
        copy = self._hands.copies.of(resource, metadata_only)
        if id(copy) not in self._followed:
            self._followed.add(id(copy))
            copy.listeners.append(self._thing_changed)
        return copy
