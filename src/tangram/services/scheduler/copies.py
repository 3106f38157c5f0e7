"""The copies of the cluster that the scheduler decides from, and the order in which they are first filled.

Nodes come before pods: what a pod holds is read against the cards of its node. Pods that have ended hold nothing and
are not asked for at all, which in a cluster that runs jobs is most of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from tangram.daemon.memory import filling
from tangram.daemon.running import Supervisor
from tangram.kube.api import Api, Object
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.informer import Change, Informer
from tangram.services.scheduler.device_copy import DeviceCopy
from tangram.services.scheduler.leadership import Leadership
from tangram.services.scheduler.rereading import PODS, read_pods_of
from tangram.services.scheduler.seen import Seen
from tangram.services.scheduler.state import State
from tangram.units.ids import NodeName
from tangram.wire import loose
from tangram.wire.disruption import Budget, read_budget
from tangram.wire.koordinator.device import Device
from tangram.wire.nodes import NodeReading

NODES: Final = "/api/v1/nodes"
QUOTAS: Final = "/api/v1/resourcequotas"
BUDGETS: Final = "/apis/policy/v1/poddisruptionbudgets"
NOT_ENDED: Final = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
REREAD_PAUSE_S: Final = 1.0

_log = logging.getLogger(__name__)


class Copies:
    def __init__(
        self,
        api: Api,
        state: State,
        leadership: Leadership,
        quota_changed: Callable[[Change[Object]], None],
        budget_changed: Callable[[Change[Budget]], None],
    ) -> None:
        self._api = api
        self._state = state
        self._leadership = leadership
        self.nodes: Final = Informer(
            api, NODES, self._node_changed, keep=state.read_node, troubled=_trouble("nodes")
        )
        self.pods: Final = Informer(
            api, PODS, self._pod_changed, keep=state.read_pod, query=NOT_ENDED, troubled=_trouble("pods")
        )
        self.quotas: Final = Informer(
            api, QUOTAS, quota_changed, keep=_quota_facts, troubled=_trouble("quotas")
        )
        self.budgets: Final = Informer(
            api, BUDGETS, budget_changed, keep=read_budget, troubled=_trouble("disruption budgets")
        )
        self.devices: Final = DeviceCopy(api, self._device_changed)
        self.node_listeners: list[Callable[[], None]] = []
        self.pod_listeners: list[Callable[[Change[Seen]], None]] = []
        self._to_reread: asyncio.Queue[NodeName] = asyncio.Queue()
        state.reread = self._to_reread.put_nowait
        state.heard = lambda: self.pods.version

    async def fill(self, supervisor: Supervisor) -> None:
        """Begin to follow everything; returns once each copy was complete."""
        supervisor.vital("copy of devices", self.devices.run())
        await self.devices.looked.wait()
        first = {"nodes": self.nodes, "quotas": self.quotas, "budgets": self.budgets}
        with filling():
            for name, copy in first.items():
                supervisor.vital(f"copy of {name}", copy.run())
            for copy in first.values():
                await copy.synced.wait()
            supervisor.vital("copy of pods", self.pods.run())
            await self.pods.synced.wait()
        self._leadership.copies = {"nodes": self.nodes, "pods": self.pods}
        self._leadership.synced = True
        supervisor.lasting("pods of changed nodes", self._reread)
        _log.info("the cluster is read: %d nodes, %d pods", len(self.nodes.objects), len(self.pods.objects))

    def _node_changed(self, change: Change[NodeReading]) -> None:
        self._state.node_changed(change)
        for listener in self.node_listeners:
            listener()

    def _pod_changed(self, change: Change[Seen]) -> None:
        self._state.pod_changed(change)
        for listener in self.pod_listeners:
            listener(change)

    def _device_changed(self, node: NodeName, device: Device | None) -> None:
        self._state.put_device(node, device)
        for listener in self.node_listeners:
            listener()

    async def _reread(self) -> None:
        while True:
            node = await self._to_reread.get()
            try:
                await read_pods_of(self._api, self._state, node)
            except (ApiError, ApiUnreachable) as error:
                _log.warning("the pods of %s could not be read again: %s", node, error)
                await asyncio.sleep(REREAD_PAUSE_S)
                self._to_reread.put_nowait(node)


def _quota_facts(quota: Object) -> Object:
    """Of a quota only its limits are of interest."""
    hard = loose.members(loose.members(quota.get("spec")).get("hard"))
    return {"metadata": {"name": quota["metadata"]["name"]}, "spec": {"hard": dict(hard)}}


def _trouble(what: str) -> Callable[[str], None]:
    def tell(sentence: str) -> None:
        _log.warning("the copy of %s: %s", what, sentence)

    return tell
