"""What a node that is gone leaves behind: its pods and its lease; and pods that go without ever having had a node."""

from __future__ import annotations

from typing import Final

from tangram.kube.errors import NOT_FOUND, ApiError
from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.hands import Hands
from tangram.sandbox.controllers.heartbeats import lease_key
from tangram.sandbox.controllers.pods import disrupted
from tangram.sandbox.controllers.pods_by_node import PodsByNode, node_of
from tangram.sandbox.controllers.reading import is_ended, is_going, key_of, owners_of, uid_of
from tangram.sandbox.controllers.resources import LEASES, NODES, PODS
from tangram.sandbox.controllers.work import WorkQueue

QUARANTINE_S: Final = 40.0
"""A node that is there again within this time keeps its pods."""


class NodeLeftovers:
    def __init__(self, hands: Hands, pods: PodsByNode, *, quarantine: float = QUARANTINE_S) -> None:
        self._hands = hands
        self._by_node = pods
        self._quarantine = quarantine
        self._nodes = hands.copies.of(NODES)
        self._pods = hands.copies.of(PODS)
        self._missing: dict[str, float] = {}
        """When each node was missed first."""
        self.queue: Final = WorkQueue[str]("pods of missing nodes", self.look)
        self.waiting: Final = WorkQueue[Key]("pods without a node", self.end)
        self._nodes.listeners.append(self._node_changed)
        self._pods.listeners.append(self._pod_changed)

    def _node_changed(self, before: Object | None, after: Object | None) -> None:
        if before is not None and after is None:
            self.queue.add(before["metadata"]["name"])
        elif after is not None and before is None:
            self._missing.pop(after["metadata"]["name"], None)

    def _pod_changed(self, before: Object | None, after: Object | None) -> None:
        if after is None:
            return
        node = node_of(after)
        if node and node_of(before) != node and self._nodes.get(Key("", node)) is None:
            self.queue.add(node)
        elif not node and is_going(after):
            self.waiting.add(key_of(after))

    async def end(self, key: Key) -> None:
        """Nobody else ends a pod that no kubelet has."""
        pod = self._pods.get(key)
        if pod is not None and is_going(pod) and not node_of(pod):
            await self._hands.delete(self._pods, pod, grace=0)

    async def look(self, name: str) -> None:
        if self._nodes.get(Key("", name)) is not None:
            return
        await self._remove_lease(name)
        if not self._by_node.on(name):
            self._missing.pop(name, None)
            return
        now = self._hands.clock().timestamp()
        left = self._missing.setdefault(name, now) + self._quarantine - now
        if left > 0:
            self.queue.add_after(name, left)
            return
        if await self._hands.read(NODES, Key("", name)) is not None:
            return
        for pod in self._by_node.on(name):
            await self._fail_and_delete(pod)
        self._missing.pop(name, None)

    async def _fail_and_delete(self, pod: Object) -> None:
        try:
            if not is_ended(pod):
                message = "PodGC: node no longer exists"
                marked = disrupted(pod, "DeletionByPodGC", message, self._hands.clock())
                marked["status"]["phase"] = "Failed"
                pod = await self._hands.replace(self._pods, marked, "/status")
            await self._hands.delete(self._pods, pod, grace=0)
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise

    async def _remove_lease(self, node: str) -> None:
        lease = await self._hands.read(LEASES, lease_key(node))
        owners = [] if lease is None else owners_of(lease)
        if lease is None or not any(each["kind"] == "Node" and each["name"] == node for each in owners):
            return
        there = await self._hands.read(NODES, Key("", node))
        if there is not None and any(each["uid"] == uid_of(there) for each in owners):
            return
        options: Object = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": uid_of(lease)},
        }
        try:
            await self._hands.api.delete(LEASES.path(lease_key(node)), options)
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
