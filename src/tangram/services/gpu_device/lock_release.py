"""Removing the node lock of peers as soon as the pod it was taken for needs it no more.

Not left to the survey: a peer's scheduler binds the next pod of this node only when the lock is gone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import Final

from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kubelet.news import News
from tangram.services.gpu_device.peers import lock_to_release
from tangram.services.gpu_device.publishing import OwnNode
from tangram.services.gpu_device.records import BoundPod
from tangram.units.ids import NodeName
from tangram.wire.nodelock import NODE_LOCK

RETRY_S: Final = 1.0

log = logging.getLogger("tangram.gpu-device")


class LockRelease:
    """`run` until cancelled. `served` are the pods that need the lock no more, `ours` is a lock that we hold."""

    def __init__(
        self,
        api: Api,
        node: NodeName,
        own: OwnNode,
        served: Callable[[], Iterable[BoundPod]],
        counted: Callable[[str], None] = lambda _thing: None,
        *,
        ours: Callable[[], str] = lambda: "",
    ) -> None:
        self._api = api
        self._node = node
        self._own = own
        self._served = served
        self._counted = counted
        self._ours = ours

    async def run(self, news: News, at_least: float) -> None:
        edition, settled = -1, True
        while True:
            # A node whose conditions alone have changed is no news, and yet our write came too late for it.
            await news.after(edition, at_least if settled else RETRY_S)
            edition = news.edition
            settled = await self.release()

    async def release(self) -> bool:
        """Whether nothing is left to release."""
        value = lock_to_release(self._own.annotations, self._node, self._served(), now=int(time.time()))
        if value is None or value == self._ours():
            return True
        change = {"metadata": {"resourceVersion": self._own.version, "annotations": {NODE_LOCK: None}}}
        try:
            await self._api.merge(f"/api/v1/nodes/{self._node}", change)
        except (ApiError, ApiUnreachable) as error:
            # Somebody else wrote the node meanwhile, or nobody answers: the next look tries again.
            log.info("the node lock was not released", extra={"error": str(error)})
            return False
        self._counted("lock")
        return True
