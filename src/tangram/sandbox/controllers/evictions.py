"""Pods on nodes with a NoExecute taint: they go at once, after the time they tolerate it, or never."""

from __future__ import annotations

from typing import Final

from tangram.kube.errors import NOT_FOUND, ApiError
from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.hands import Hands
from tangram.sandbox.controllers.pods import disrupted
from tangram.sandbox.controllers.pods_by_node import PodsByNode, node_of
from tangram.sandbox.controllers.reading import is_going, key_of, spec_of, uid_of
from tangram.sandbox.controllers.resources import NODES, PODS
from tangram.sandbox.controllers.taints import NO_EXECUTE, taints_of, tolerates
from tangram.sandbox.controllers.work import WorkQueue

COMPONENT: Final = "taint-eviction-controller"
NEVER: Final = float("inf")


class Evictions:
    def __init__(self, hands: Hands, pods: PodsByNode) -> None:
        self._hands = hands
        self._by_node = pods
        self._nodes = hands.copies.of(NODES)
        self._pods = hands.copies.of(PODS)
        self._since: dict[str, tuple[tuple[object, ...], float]] = {}
        """By uid of the pod: the taints it has to bear, and the moment it began to."""
        self.queue: Final = WorkQueue[Key](COMPONENT, self.look)
        self._nodes.listeners.append(self._node_changed)
        self._pods.listeners.append(self._pod_changed)

    def _node_changed(self, before: Object | None, after: Object | None) -> None:
        if after is not None and _marks(before) != _marks(after):
            for pod in self._by_node.on(after["metadata"]["name"]):
                self.queue.add(key_of(pod))

    def _pod_changed(self, before: Object | None, after: Object | None) -> None:
        if after is None:
            if before is not None:
                self._since.pop(uid_of(before), None)
                self.queue.forget(key_of(before))
        elif node_of(before) != node_of(after) or _tolerations(before) != _tolerations(after):
            self.queue.add(key_of(after))

    async def look(self, key: Key) -> None:
        pod = self._pods.get(key)
        node = None if pod is None else self._nodes.get(Key("", node_of(pod)))
        if pod is None or node is None or is_going(pod):
            return
        marks = _marks(node)
        patience = seconds_tolerated(pod, node) if marks else NEVER
        known = self._since.get(uid_of(pod))
        if patience == NEVER:
            if known is not None:
                del self._since[uid_of(pod)]
                self.queue.forget(key)
                self._tell(pod, f"Cancelling deletion of Pod {key.namespace}/{key.name}")
            return
        now = self._hands.clock().timestamp()
        if known is None or known[0] != marks:
            self._since[uid_of(pod)] = known = (marks, now)
        left = patience - (now - known[1])
        if left > 0:
            self.queue.add_after(key, left)
            return
        await self._evict(pod)

    async def _evict(self, pod: Object) -> None:
        key = key_of(pod)
        self._tell(pod, f"Marking for deletion Pod {key.namespace}/{key.name}")
        message = "Taint manager: deleting due to NoExecute taint"
        marked = disrupted(pod, "DeletionByTaintManager", message, self._hands.clock())
        try:
            pod = await self._hands.replace(self._pods, marked, "/status")
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            return
        self._since.pop(uid_of(pod), None)
        await self._hands.delete(self._pods, pod)

    def _tell(self, pod: Object, message: str) -> None:
        self._hands.tell(COMPONENT, PODS, pod, "TaintManagerEviction", message)


def seconds_tolerated(pod: Object, node: Object) -> float:
    """How long a pod bears the taints of its node: nothing if one is not tolerated, else the shortest time named."""
    shortest = NEVER
    for taint in taints_of(node):
        if taint.get("effect") != NO_EXECUTE:
            continue
        covering = [each for each in _tolerations(pod) if tolerates(each, taint)]
        if not covering:
            return 0.0
        named = [each["tolerationSeconds"] for each in covering if each.get("tolerationSeconds") is not None]
        shortest = min([shortest, *(max(float(each), 0.0) for each in named)])
    return shortest


def _tolerations(pod: Object | None) -> list[Object]:
    return [] if pod is None else spec_of(pod).get("tolerations") or []


def _marks(node: Object | None) -> tuple[object, ...]:
    found = [] if node is None else taints_of(node)
    return tuple((each["key"], each.get("value")) for each in found if each.get("effect") == NO_EXECUTE)
