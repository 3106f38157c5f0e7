"""Whether koord-scheduler places pods on the same cards, and what a bind of ours then does besides.

koord-scheduler chooses cards from its own memory, writes them down while binding, and looks at nothing again. What it
does respect is the node lock, for every MetaX pod, and what it does count is `device-allocated` on bound pods. So on a
node that has a `Device`, and as long as pods of its are known that ask for cards of ours, a bind of ours takes the lock
whoever serves the node, and then reads the node's pods from the API server before it relies on what was promised: a pod
that was bound under the lock before ours is there by then. That it has begun with a pod is not enough to count it: a
pod without a node holds nothing, whatever is written on it.

Between its choice and its lock koord-scheduler can still be overtaken. The node's agent is the last word there.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from tangram.model.nodes import Node
from tangram.model.pods import Pod
from tangram.services.scheduler.settings import KOORDINATOR_NAME
from tangram.units.ids import PodUid
from tangram.wire.koordinator.names import DEVICE_ALLOCATED


def placed_by_koordinator(pod: Pod, served: Collection[str]) -> bool:
    """Whether a pod that asks for cards is koord-scheduler's to place: by its name, or by what it wrote.

    A koord-scheduler may go by any name; one that is served here is ours, whatever it is called.
    """
    if pod.scheduler_name in served:
        return False
    return pod.scheduler_name == KOORDINATOR_NAME or DEVICE_ALLOCATED in pod.annotations


class Coexistence:
    """Pods with cards that koord-scheduler places, for as long as there are any."""

    def __init__(self) -> None:
        self._pods: Final[set[PodUid]] = set()

    def note(self, uid: PodUid, *, koordinators: bool) -> None:
        """A pod is there."""
        if koordinators:
            self._pods.add(uid)
        else:
            self._pods.discard(uid)

    def forget(self, uid: PodUid) -> None:
        """A pod has ended or is gone."""
        self._pods.discard(uid)

    def on(self, node: Node) -> bool:
        """Whether koord-scheduler may place pods on this node."""
        return node.described and bool(self._pods)
