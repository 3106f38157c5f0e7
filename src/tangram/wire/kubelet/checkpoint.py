"""The kubelet's own notebook of device allocations, `kubelet_internal_checkpoint` in the device plugins' directory.

It is the only place that names pods by UID and that knows ordinary init containers, which the PodResources API hides.
It is also nobody's API and carries no version. What it does carry is a checksum over the names and types of the Go
structures it was written from: a checksum that agrees proves that the file says what this reader takes it to say, and
every other file is refused whole, because half an understanding of who holds which card is worse than none.

Form and checksum are the same in Kubernetes 1.28 to 1.36.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from google.protobuf.message import DecodeError

from tangram.units.ids import PodUid
from tangram.wire.errors import WireError, shown
from tangram.wire.kubelet.deviceplugin import ContainerAllocateResponse
from tangram.wire.kubelet.spew import fnv1a_32, listed, mapped, typed

CHECKPOINT_FILE: Final = "kubelet_internal_checkpoint"

NO_NUMA: Final = -1
"""The node under which the kubelet files devices that belong to none."""


class NumaIds(msgspec.Struct, frozen=True):
    numa: int
    ids: tuple[str, ...]


class CheckpointedAllocation(msgspec.Struct, frozen=True, kw_only=True):
    """What one container holds of one resource."""

    pod_uid: PodUid
    container: str
    resource: str
    by_numa: tuple[NumaIds, ...]
    """A device of two NUMA nodes is listed under both."""
    answer: bytes
    """The plugin's answer to Allocate for this container, as the kubelet will replay it."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The device ids, each once."""
        return tuple(dict.fromkeys(device for group in self.by_numa for device in group.ids))

    def response(self) -> ContainerAllocateResponse:
        """The answer as a message. It was seen to be one when the checkpoint was read."""
        return ContainerAllocateResponse.FromString(self.answer)


class RegisteredResource(msgspec.Struct, frozen=True):
    """A resource with the ids that were healthy when the checkpoint was written."""

    resource: str
    ids: tuple[str, ...]


class Checkpoint(msgspec.Struct, frozen=True):
    allocations: tuple[CheckpointedAllocation, ...]
    registered: tuple[RegisteredResource, ...]


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pod_uid: str = msgspec.field(name="PodUID")
    container: str = msgspec.field(name="ContainerName")
    resource: str = msgspec.field(name="ResourceName")
    devices: dict[int, list[str] | None] | None = msgspec.field(name="DeviceIDs")
    answer: bytes | None = msgspec.field(name="AllocResp")


class _Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    entries: list[_Entry] | None = msgspec.field(name="PodDeviceEntries")
    registered: dict[str, list[str] | None] | None = msgspec.field(name="RegisteredDevices")


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    data: _Data = msgspec.field(name="Data")
    checksum: Annotated[int, msgspec.Meta(ge=0)] = msgspec.field(name="Checksum")


_decoder = msgspec.json.Decoder(_File)


def parse_checkpoint(content: bytes) -> Checkpoint:
    """Everything the file says, or a `WireError`: it is never read in part."""
    try:
        file = _decoder.decode(content)
    except (ValueError, RecursionError) as error:
        raise WireError(
            "checkpoint-unknown",
            f"the kubelet's device checkpoint has a form that is not known ({error}): known is the one of Kubernetes "
            "1.28 to 1.36, so look for a release of Tangram that names the kubelet's version",
        ) from error
    checksum = fnv1a_32(_dump(file.data).encode())
    if checksum != file.checksum:
        raise WireError(
            "checkpoint-checksum",
            f"the kubelet's device checkpoint has checksum {shown(file.checksum)} and its content gives {checksum}: "
            "it is damaged, or written by a kubelet whose form is not known",
        )
    return Checkpoint(
        tuple(_allocation(entry) for entry in file.data.entries or ()),
        tuple(
            RegisteredResource(resource, tuple(ids or ()))
            for resource, ids in sorted((file.data.registered or {}).items())
        ),
    )


def _allocation(entry: _Entry) -> CheckpointedAllocation:
    answer = entry.answer or b""
    try:
        ContainerAllocateResponse.FromString(answer)
    except DecodeError as error:
        raise WireError(
            "checkpoint-answer",
            f"the kubelet's device checkpoint holds an answer for {shown(entry.resource)} of pod "
            f"{shown(entry.pod_uid)} that is no answer to Allocate",
        ) from error
    return CheckpointedAllocation(
        pod_uid=PodUid(entry.pod_uid),
        container=entry.container,
        resource=entry.resource,
        by_numa=tuple(NumaIds(numa, tuple(ids or ())) for numa, ids in sorted((entry.devices or {}).items())),
        answer=answer,
    )


def _dump(data: _Data) -> str:
    """The text whose hash is the checksum: the structures as the kubelet's library prints them, names and types too."""
    entries = None if data.entries is None else listed([_entry_dump(entry) for entry in data.entries])
    registered = None
    if data.registered is not None:
        # Go compares texts by their bytes.
        in_order = sorted(data.registered.items(), key=lambda item: item[0].encode())
        registered = mapped([(resource, _texts(ids)) for resource, ids in in_order])
    return (
        "(checkpoint.checkpointData){"
        f"PodDeviceEntries:{typed('[]checkpoint.PodDevicesEntry', entries)} "
        f"RegisteredDevices:{typed('map[string][]string', registered)}"
        "}"
    )


def _entry_dump(entry: _Entry) -> str:
    devices = None
    if entry.devices is not None:
        devices = mapped([(str(numa), _texts(ids)) for numa, ids in sorted(entry.devices.items())])
    answer = None if entry.answer is None else listed([str(byte) for byte in entry.answer])
    return (
        "{"
        f"PodUID:{typed('string', entry.pod_uid)} "
        f"ContainerName:{typed('string', entry.container)} "
        f"ResourceName:{typed('string', entry.resource)} "
        f"DeviceIDs:{typed('checkpoint.DevicesPerNUMA', devices)} "
        f"AllocResp:{typed('[]uint8', answer)}"
        "}"
    )


def _texts(ids: list[str] | None) -> str | None:
    return None if ids is None else listed(ids)
