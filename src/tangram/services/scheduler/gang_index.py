"""Which pods belong together, and which of them have a node."""

from __future__ import annotations

from collections.abc import Mapping

from tangram.services.scheduler.seen import Seen
from tangram.units.ids import PodUid
from tangram.wire.queueing import Gang


class GangIndex:
    def __init__(self) -> None:
        self._members: dict[tuple[str, str], dict[PodUid, bool]] = {}

    def members(self, gang: Gang) -> Mapping[PodUid, bool]:
        """The pods of a gang, and whether each has a node."""
        return self._members.get((gang.namespace, gang.name), {})

    def note(self, pod: Seen, *, has_node: bool) -> None:
        """A pod that is there; nothing for one that belongs to no gang."""
        if pod.gang is not None:
            self._members.setdefault((pod.gang.namespace, pod.gang.name), {})[pod.ref.uid] = has_node

    def leave(self, pod: Seen) -> None:
        """The pod is gone, and with its last member the gang."""
        if pod.gang is None:
            return
        name = pod.gang.namespace, pod.gang.name
        members = self._members.get(name, {})
        members.pop(pod.ref.uid, None)
        if not members:
            self._members.pop(name, None)
