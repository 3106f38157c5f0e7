"""The kubelet's device checkpoint as it writes it, checksum and all: for those who stand in for a kubelet.

Reading is done elsewhere and by other code, so that the two can prove each other wrong.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence

from tangram.wire.kubelet.checkpoint import CheckpointedAllocation
from tangram.wire.kubelet.spew import fnv1a_32, listed, mapped, typed


def checkpoint_text(
    allocations: Sequence[CheckpointedAllocation], registered: Mapping[str, Sequence[str]]
) -> str:
    """The file's content. `registered` are the healthy ids of every resource that a plugin has registered."""
    entries = [
        {
            "PodUID": each.pod_uid,
            "ContainerName": each.container,
            "ResourceName": each.resource,
            "DeviceIDs": {str(group.numa): list(group.ids) for group in each.by_numa},
            "AllocResp": base64.b64encode(each.answer).decode(),
        }
        for each in allocations
    ]
    data = {
        "PodDeviceEntries": entries,
        "RegisteredDevices": {key: list(ids) for key, ids in registered.items()},
    }
    return json.dumps({"Data": data, "Checksum": fnv1a_32(_dump(allocations, registered).encode())})


def _dump(allocations: Sequence[CheckpointedAllocation], registered: Mapping[str, Sequence[str]]) -> str:
    """What the kubelet's library prints of the structures before it hashes them; Go compares texts by their bytes."""
    entries = listed([_entry_dump(each) for each in allocations])
    in_order = sorted(registered.items(), key=lambda item: item[0].encode())
    known = mapped([(resource, listed(list(ids))) for resource, ids in in_order])
    return (
        "(checkpoint.checkpointData){"
        f"PodDeviceEntries:{typed('[]checkpoint.PodDevicesEntry', entries)} "
        f"RegisteredDevices:{typed('map[string][]string', known)}"
        "}"
    )


def _entry_dump(entry: CheckpointedAllocation) -> str:
    devices = mapped([(str(group.numa), listed(list(group.ids))) for group in entry.by_numa])
    return (
        "{"
        f"PodUID:{typed('string', entry.pod_uid)} "
        f"ContainerName:{typed('string', entry.container)} "
        f"ResourceName:{typed('string', entry.resource)} "
        f"DeviceIDs:{typed('checkpoint.DevicesPerNUMA', devices)} "
        f"AllocResp:{typed('[]uint8', listed([str(byte) for byte in entry.answer]))}"
        "}"
    )
