"""Where each pod is, kept beside the picture and moved along with it.

A page about one pod asks on every change whether that pod is another now. Looking through every card of thousands of
nodes for each open page would cost more than everything else together, so the way from pod to node is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from weakref import WeakKeyDictionary

from tangram.reports.status_shape import NodeStatus
from tangram.reports.view_shape import WaitingPod
from tangram.web.picture import Change, Picture


class Whereabouts:
    def __init__(self, picture: Picture) -> None:
        self._nodes: dict[str, dict[str, None]] = {}
        self._waiting: dict[str, WaitingPod] = {}
        for node in picture.nodes.values():
            self._put(node)
        for pod in picture.waiting.values():
            self._waiting[pod.pod] = pod
        picture.listeners.append(self._move)

    def nodes_of(self, pod: str) -> tuple[str, ...]:
        """Where a pod, by its `namespace/name`, holds cards; more than one only while a namesake ends."""
        return tuple(self._nodes.get(pod, ()))

    def waiting(self, pod: str) -> WaitingPod | None:
        """What is told of it while it waits."""
        return self._waiting.get(pod)

    def _move(self, change: Change) -> None:
        for before, after in change.nodes:
            if before is not None:
                self._take(before)
            if after is not None:
                self._put(after)
        for before, after in change.waiting:
            if before is not None:
                self._waiting.pop(before.pod, None)
            if after is not None:
                self._waiting[after.pod] = after

    def _put(self, node: NodeStatus) -> None:
        for pod in _pods_on(node):
            self._nodes.setdefault(pod, {})[node.node] = None

    def _take(self, node: NodeStatus) -> None:
        for pod in _pods_on(node):
            places = self._nodes.get(pod)
            if places is not None:
                places.pop(node.node, None)
                if not places:
                    del self._nodes[pod]


def _pods_on(node: NodeStatus) -> Iterator[str]:
    return (holder.pod for card in node.cards for holder in card.holders)


_KEPT: Final[WeakKeyDictionary[Picture, Whereabouts]] = WeakKeyDictionary()


def whereabouts(picture: Picture) -> Whereabouts:
    """Of that picture, made at the first question."""
    found = _KEPT.get(picture)
    if found is None:
        found = _KEPT[picture] = Whereabouts(picture)
    return found
