"""Allocate on nodes whose container runtime knows no CDI: everything must be in the answer, before the pod is named.

Whole cards are in the ids themselves. For slices the pod has to be found: the one that HAMi's node lock names, or the
only one that waits for exactly this. Between two nothing is given, and the container is refused when it starts.

The kubelet often hears of a pod before we do, and a container that was answered for nobody stays refused until its pod
is made again. So here, and only here, Allocate waits for the API server's news, for a moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tangram.kubelet.news import News
from tangram.model.refusals import Refusal
from tangram.services.gpu_device.bound_pods import BoundPods
from tangram.services.gpu_device.giving import Giving
from tangram.services.gpu_device.grants import Edits
from tangram.services.gpu_device.kubelet_view import KubeletView, Sight
from tangram.services.gpu_device.peers import Waiting, candidate, lock_holder
from tangram.services.gpu_device.records import Inventory, Starting
from tangram.services.gpu_device.refusing import Refused
from tangram.services.gpu_device.resources import WHOLE

LATE_S: Final = 2.0
"""How long a pod is waited for that the kubelet knows and we do not; it admits no other meanwhile."""


class Directly:
    def __init__(
        self,
        *,
        stock: Callable[[], Inventory],
        pods: BoundPods,
        kubelet: KubeletView,
        giving: Giving,
        node_annotations: Callable[[], Mapping[str, str]],
        news: News,
    ) -> None:
        self._stock = stock
        self._pods = pods
        self._kubelet = kubelet
        self._giving = giving
        self._node_annotations = node_annotations
        self._news = news

    async def edits(self, resource: str, ids: Sequence[str]) -> Edits:
        """What the container with these ids is given. Raises `Refused`."""
        inventory = self._stock()
        if resource in WHOLE:
            return self._giving.whole_edits(inventory, ids)
        found = await self._meant(resource, len(ids))
        starting = Starting(
            bound=found.bound, resource=resource, ids=tuple(ids), containers=(found.container,)
        )
        shares, slices = await self._giving.sliced(starting, inventory)
        return self._giving.slice_edits(starting, inventory, shares[0], slices)

    async def _meant(self, resource: str, count: int) -> Waiting:
        loop = asyncio.get_running_loop()
        until = loop.time() + LATE_S
        while True:
            edition = self._news.edition
            sight = Sight(notes=await self._kubelet.notes(), held=None)
            served = {
                (each.pod_uid, each.container) for each in sight.allocations if each.resource == resource
            }
            found = candidate(
                resource, count, self._pods.all(), served, lock_holder(self._node_annotations())
            )
            if isinstance(found, Waiting):
                return found
            if isinstance(found, Refusal):
                raise Refused(found)
            left = until - loop.time()
            if left <= 0:
                raise Refused(found.refusal)
            await self._news.after(edition, left)
