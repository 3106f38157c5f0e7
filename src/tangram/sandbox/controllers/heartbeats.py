"""Nodes that fall silent: their kubelet renews a lease, and when it is too old nobody knows how the node is.

Leases are not followed, because that would be the busiest thing in an idle cluster. They are read when the first of
them could be too old, which with kubelets that are well is every half minute. The age is taken from the lease's own
time, so kubelets on other machines need a clock as right as ours.
"""

from __future__ import annotations

from typing import Final

from tangram.kube.errors import NOT_FOUND, ApiError
from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.hands import Hands, copied
from tangram.sandbox.controllers.pods_by_node import PodsByNode
from tangram.sandbox.controllers.reading import (
    Now,
    condition_of,
    conditions_of,
    find_condition,
    is_ready,
    items,
    moment,
    spec_of,
    status_of,
    uid_of,
)
from tangram.sandbox.controllers.resources import LEASES, NODES, PODS
from tangram.sandbox.controllers.work import WorkQueue
from tangram.wire.timestamps import to_second

COMPONENT: Final = "node-controller"
LEASE_NAMESPACE: Final = "kube-node-lease"
GRACE_S: Final = 50.0
STARTUP_GRACE_S: Final = 60.0
SHORTEST_S: Final = 1.0
WATCHED: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


class Heartbeats:
    def __init__(self, hands: Hands, pods: PodsByNode, *, grace: float = GRACE_S) -> None:
        self._hands = hands
        self._by_node = pods
        self._grace = grace
        self._nodes = hands.copies.of(NODES)
        self._pods = hands.copies.of(PODS)
        self._heard: dict[str, tuple[str, Now]] = {}
        """By uid: the sign of life seen last, and when it was given."""
        self.queue: Final = WorkQueue[str]("heartbeats of nodes", self.look)
        self._nodes.listeners.append(self._changed)

    def _changed(self, before: Object | None, after: Object | None) -> None:
        if before is None and after is not None:
            self._tell(after, "RegisteredNode", _event(after, "Registered Node {} in Controller"))
            self.queue.add("all")
        elif after is None and before is not None:
            self._heard.pop(uid_of(before), None)
            self._tell(before, "RemovingNode", _event(before, "Removing Node {} from Controller"))
        elif before is not None and after is not None and not is_ready(before) and is_ready(after):
            # A node that is well again has to be watched again.
            self._heard[uid_of(after)] = (_sign(after, None), self._hands.clock())
            self.queue.add("all")

    async def look(self, _all: str) -> None:
        """Read every lease once, mark the silent, and say when to look again."""
        if not self._nodes.things:
            return
        leases = await self._leases()
        next_look: float | None = None
        for node in list(self._nodes.things.values()):
            left = self._seconds_left(node, leases.get(node["metadata"]["name"]))
            ready = condition_of(node, "Ready")
            if left > 0:
                next_look = left if next_look is None else min(next_look, left)
            elif ready is None or ready["status"] != "Unknown":
                await self._mark_silent(node)
        if next_look is not None:
            self.queue.add_after("all", max(next_look, SHORTEST_S))

    def _seconds_left(self, node: Object, lease: Object | None) -> float:
        """Until a node counts as silent, if nothing more is heard of it."""
        now, uid, sign = self._hands.clock(), uid_of(node), _sign(node, lease)
        known = self._heard.get(uid)
        if known is None or known[0] != sign:
            renewed = moment(spec_of(lease or {}).get("renewTime"))
            when = min(renewed, now) if renewed is not None and known is not None else now
            self._heard[uid] = known = (sign, when)
        grace = self._grace if condition_of(node, "Ready") else max(self._grace, STARTUP_GRACE_S)
        return grace - (now - known[1]).total_seconds()

    async def _leases(self) -> dict[str, Object]:
        try:
            answer = await self._hands.api.get(LEASES.collection(LEASE_NAMESPACE))
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            return {}
        return {lease["metadata"]["name"]: lease for lease in items(answer, "items")}

    async def _mark_silent(self, node: Object) -> None:
        """Nobody knows how it is, nor how its pods are."""
        status = {**status_of(node), "conditions": conditions_in_silence(node, self._hands.clock())}
        try:
            await self._hands.replace(self._nodes, {**node, "status": status}, "/status")
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            return
        self._tell(node, "NodeNotReady", f"Node {node['metadata']['name']} status is now: NodeNotReady")
        for pod in self._by_node.on(node["metadata"]["name"]):
            if is_ready(pod):
                await self._mark_pod(pod)

    async def _mark_pod(self, pod: Object) -> None:
        changed = copied(pod)
        for each in changed["status"]["conditions"]:
            if each["type"] == "Ready":
                each["status"], each["lastTransitionTime"] = "False", to_second(self._hands.clock())
        try:
            await self._hands.replace(self._pods, changed, "/status")
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            return
        self._hands.tell(COMPONENT, PODS, pod, "NodeNotReady", "Node is not ready", bad=True)

    def _tell(self, node: Object, reason: str, message: str) -> None:
        self._hands.tell(COMPONENT, NODES, node, reason, message)


def conditions_in_silence(node: Object, now: Now) -> list[Object]:
    """The conditions of a node that nobody has heard of for too long: all that its kubelet reports are unknown."""
    made = [each for each in conditions_of(node) if each["type"] not in WATCHED]
    for kind in WATCHED:
        before = find_condition(conditions_of(node), kind)
        fresh: Object = {"type": kind, "status": "Unknown", "lastTransitionTime": to_second(now)}
        if before is None:
            fresh |= {"reason": "NodeStatusNeverUpdated", "message": "Kubelet never posted node status."}
            fresh["lastHeartbeatTime"] = node["metadata"].get("creationTimestamp")
        elif before["status"] != "Unknown":
            fresh |= {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
            fresh["lastHeartbeatTime"] = before.get("lastHeartbeatTime")
        else:
            fresh = before
        made.append(fresh)
    return made


def _sign(node: Object, lease: Object | None) -> str:
    renewed = spec_of(lease or {}).get("renewTime") or ""
    ready = condition_of(node, "Ready") or {}
    return f"{renewed} {ready.get('lastHeartbeatTime') or ''}"


def _event(node: Object, words: str) -> str:
    name = node["metadata"]["name"]
    return f"Node {name} event: {words.format(name)}"


def lease_key(node: str) -> Key:
    """Where the kubelet of a node says that it is alive."""
    return Key(LEASE_NAMESPACE, node)
