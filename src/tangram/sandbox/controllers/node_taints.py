"""Taints that follow from what a node says of itself: not ready, unreachable, short of something, or cordoned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.kube.errors import NOT_FOUND, ApiError
from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers import taints
from tangram.sandbox.controllers.following import follow
from tangram.sandbox.controllers.hands import Hands
from tangram.sandbox.controllers.reading import Now, condition_of, conditions_of, spec_of
from tangram.sandbox.controllers.resources import NODES
from tangram.sandbox.controllers.taints import NO_EXECUTE, NO_SCHEDULE, taints_of
from tangram.sandbox.controllers.work import WorkQueue
from tangram.wire.timestamps import to_second

_BY_CONDITION: Final = {
    ("Ready", "False"): taints.NOT_READY,
    ("Ready", "Unknown"): taints.UNREACHABLE,
    ("MemoryPressure", "True"): taints.MEMORY_PRESSURE,
    ("DiskPressure", "True"): taints.DISK_PRESSURE,
    ("PIDPressure", "True"): taints.PID_PRESSURE,
    ("NetworkUnavailable", "True"): taints.NETWORK_UNAVAILABLE,
}
_OURS: Final = frozenset(
    [(key, NO_SCHEDULE) for key in (*_BY_CONDITION.values(), taints.UNSCHEDULABLE)]
    + [(taints.NOT_READY, NO_EXECUTE), (taints.UNREACHABLE, NO_EXECUTE)]
)


class NodeTaints:
    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._nodes = hands.copies.of(NODES)
        self.queue: Final = WorkQueue[Key]("node taints", self.look)
        follow(self._nodes, self.queue)

    async def look(self, key: Key) -> None:
        node = self._nodes.get(key)
        if node is None:
            return
        after = taints_after(node, self._hands.clock())
        if after == taints_of(node):
            return
        try:
            await self._hands.merge(self._nodes, node, {"spec": {"taints": after or None}}, strict=True)
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise


def wanted_taints(node: Object) -> list[tuple[str, str]]:
    """The taints that a node's conditions call for, as (key, effect)."""
    found = [
        (key, NO_SCHEDULE)
        for each in conditions_of(node)
        if (key := _BY_CONDITION.get((each["type"], each["status"]))) is not None
    ]
    if spec_of(node).get("unschedulable"):
        found.append((taints.UNSCHEDULABLE, NO_SCHEDULE))
    ready = (condition_of(node, "Ready") or {}).get("status")
    if ready == "False":
        found.append((taints.NOT_READY, NO_EXECUTE))
    elif ready == "Unknown":
        found.append((taints.UNREACHABLE, NO_EXECUTE))
    return found


def taints_after(node: Object, now: Now) -> Sequence[Object]:
    """All taints of a node: other people's as they are, ours as its state calls for."""
    wanted = wanted_taints(node)
    kept: list[Object] = []
    have: set[tuple[str, str]] = set()
    for taint in taints_of(node):
        mark = (taint["key"], taint.get("effect", ""))
        if mark not in _OURS or mark in wanted:
            kept.append(taint)
            have.add(mark)
    fresh: list[Object] = [
        {"key": key, "effect": effect, "timeAdded": to_second(now)}
        for key, effect in wanted
        if (key, effect) not in have
    ]
    return kept + fresh
