"""The kubelet's device checkpoint in a node's device plugins' directory: reading it, and writing one in its place."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import (
    CHECKPOINT_FILE,
    Checkpoint,
    CheckpointedAllocation,
    parse_checkpoint,
)
from tangram.wire.kubelet.spew import fnv1a_32, listed, mapped, typed
from testbed.errors import BedError


def read_checkpoint(directory: Path) -> Checkpoint:
    """What the kubelet last wrote; it replaces the file whole, so no half of one is ever seen."""
    path = directory / CHECKPOINT_FILE
    try:
        return parse_checkpoint(path.read_bytes())
    except OSError as error:
        raise BedError(
            f"'{path}' cannot be read ({error.strerror}): the kubelet writes it when a device plugin has registered"
        ) from error
    except WireError as error:
        raise BedError(f"'{path}': {error}") from error


def write_checkpoint(
    directory: Path, allocations: Sequence[CheckpointedAllocation], registered: Mapping[str, Sequence[str]]
) -> None:
    """Write what a kubelet would, checksum and all, in one step."""
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
    text = json.dumps({"Data": data, "Checksum": fnv1a_32(_dump(allocations, registered).encode())})
    unfinished = directory / f".{CHECKPOINT_FILE}.new"
    unfinished.write_text(text)
    unfinished.replace(directory / CHECKPOINT_FILE)


def _dump(allocations: Sequence[CheckpointedAllocation], registered: Mapping[str, Sequence[str]]) -> str:
    entries = listed([_entry_dump(each) for each in allocations])
    known = mapped([(resource, listed(list(ids))) for resource, ids in sorted(registered.items())])
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
