"""Which container of which pod holds which units: the part of a kubelet that its checkpoint is written from.

Keyed by pod UID, as the kubelet keys it. Pods that are over stay until somebody asks for units, or for the list; so
the book is always asked with the pods that live.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tangram.units.ids import PodUid
from tangram.wire.kubelet.checkpoint import CheckpointedAllocation

Slot = tuple[PodUid, str, str]
"""Pod, container, resource."""


class DeviceBook:
    def __init__(self, entries: Iterable[CheckpointedAllocation] = ()) -> None:
        self._entries: dict[Slot, CheckpointedAllocation] = {_slot(each): each for each in entries}

    def insert(self, entry: CheckpointedAllocation) -> None:
        self._entries[_slot(entry)] = entry

    def keep_only(self, living: Collection[PodUid]) -> bool:
        """Forget the pods that are over. Whether there were any."""
        gone = [slot for slot in self._entries if slot[0] not in living]
        for slot in gone:
            del self._entries[slot]
        return bool(gone)

    def all(self) -> tuple[CheckpointedAllocation, ...]:
        return tuple(self._entries.values())

    def held(self, pod: PodUid, container: str, resource: str) -> CheckpointedAllocation | None:
        return self._entries.get((pod, container, resource))

    def of_container(self, pod: PodUid, container: str) -> tuple[CheckpointedAllocation, ...]:
        return tuple(each for slot, each in self._entries.items() if slot[:2] == (pod, container))

    def has(self, pod: PodUid) -> bool:
        return any(slot[0] == pod for slot in self._entries)

    def taken(self) -> dict[str, set[str]]:
        """By resource, the ids that anybody holds."""
        ids: dict[str, set[str]] = {}
        for each in self._entries.values():
            ids.setdefault(each.resource, set()).update(each.ids)
        return ids

    def holders_of(self, units: Iterable[str]) -> list[PodUid]:
        """The pods with units of these ids, of whatever resource: the kubelet does not compare resources here."""
        owner: dict[str, PodUid] = {}
        for each in self._entries.values():
            for unit in each.ids:
                owner.setdefault(unit, each.pod_uid)
        return list(dict.fromkeys(owner[unit] for unit in units if unit in owner))


def _slot(entry: CheckpointedAllocation) -> Slot:
    return entry.pod_uid, entry.container, entry.resource
