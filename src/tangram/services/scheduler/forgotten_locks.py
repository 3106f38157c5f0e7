"""Locks that a scheduler took and did not live to use.

If it dies between lock and Binding and its pod then goes elsewhere, the node is locked for nobody. Whoever is next to
bind there takes such a lock over; but until somebody comes it would stand, and a peer would respect it for minutes. So
the active scheduler looks for them every now and then. Only locks of our own are touched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from tangram.kube.errors import ApiError
from tangram.kube.informer import Key
from tangram.services.scheduler.locks import NodeLocks, Waits
from tangram.wire.nodes import NodeReading

LOOK_EVERY_S: Final = 5.0


class ForgottenLocks:
    def __init__(
        self, nodes: Mapping[Key, NodeReading], locks: NodeLocks, waits: Waits, may: Callable[[], bool]
    ) -> None:
        self._nodes = nodes
        self._locks = locks
        self._waits = waits
        self._may = may

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            if self._may():
                await self.look()

    async def look(self) -> None:
        """Give back every lock of ours whose pod does not need it any more."""
        locked = [(reading.node.name, reading.locked_for) for reading in self._nodes.values()]
        for node, pod in locked:
            if pod is not None and not self._waits(str(pod.namespace), str(pod.name), pod.uid, node):
                try:
                    await self._locks.release(node, pod)
                except ApiError:
                    # The node is gone, or somebody was faster; the next look shows.
                    continue
