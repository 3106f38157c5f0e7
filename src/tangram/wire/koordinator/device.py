"""The `Device` object: one per node, cluster scoped, named after the node, listing its cards.

It has no status subresource and no validation beyond types, but its conditions are checked: one reason with a space
in it makes the API server refuse the whole update, and the card stays "healthy" in the cluster. So reasons are made
safe here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from tangram.units.ids import NodeName
from tangram.wire import loose
from tangram.wire.errors import Problem, WireError, shown
from tangram.wire.koordinator import names
from tangram.wire.koordinator.conditions import Condition, condition_object, read_condition

API_VERSION: Final = "scheduling.koordinator.sh/v1alpha1"
KIND: Final = "Device"

_LARGEST_MINOR = 2**31 - 1
_OUR_LABELS = (names.LABEL_VENDOR, names.LABEL_MODEL, names.LABEL_PARTITION_POLICY)


class DevicePlace(msgspec.Struct, frozen=True):
    """Where a card sits on its host."""

    socket: int = -1
    numa: int = -1
    pcie: str = ""
    """The PCIe root complex, such as `pci0000:0a`, as koord-device-daemon reports it."""
    bus_id: str = ""


class VirtualFunction(msgspec.Struct, frozen=True):
    minor: int
    bus_id: str = ""


class VirtualFunctionGroup(msgspec.Struct, frozen=True):
    labels: dict[str, str] = {}
    functions: tuple[VirtualFunction, ...] = ()


class DeviceEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One card of a `Device`."""

    id: str
    minor: int
    health: bool
    kind: str = names.GPU
    resources: dict[str, str] = {}
    labels: dict[str, str] = {}
    module_id: int | None = None
    place: DevicePlace | None = None
    function_groups: tuple[VirtualFunctionGroup, ...] = ()
    conditions: tuple[Condition, ...] = ()


class Device(msgspec.Struct, frozen=True, kw_only=True):
    node: NodeName
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    entries: tuple[DeviceEntry, ...] = ()


def device_object(device: Device, *, node_uid: str) -> dict[str, object]:
    """The object to send, owned by its Node so that it goes when the node goes."""
    owner = {
        "apiVersion": "v1",
        "kind": "Node",
        "name": device.node,
        "uid": node_uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata: dict[str, object] = {"name": device.node, "ownerReferences": [owner]}
    if device.labels:
        metadata["labels"] = dict(device.labels)
    if device.annotations:
        metadata["annotations"] = dict(device.annotations)
    ordered = sorted(device.entries, key=lambda entry: (entry.kind, entry.minor))
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        "spec": {"devices": [_entry_object(entry) for entry in ordered]},
    }


def changes_device(present: Mapping[str, object] | None, wanted: Mapping[str, object]) -> bool:
    """Whether applying the object would change one that exists, in the fields that `device_object` writes.

    Labels and annotations of other people are theirs, and so is the status, which nobody writes.
    """
    if present is None or present.get("spec") != wanted.get("spec"):
        return True
    theirs, ours = loose.members(present.get("metadata")), loose.members(wanted.get("metadata"))
    owners = loose.elements(theirs.get("ownerReferences"))
    return (
        any(owner not in owners for owner in loose.elements(ours.get("ownerReferences")))
        or _differ(theirs.get("labels"), ours.get("labels"), _OUR_LABELS)
        or _differ(theirs.get("annotations"), ours.get("annotations"), (names.GPU_PARTITIONS,))
    )


def read_device(manifest: Mapping[str, object]) -> tuple[Device, tuple[Problem, ...]]:
    """The node's cards, and what was wrong with those left out.

    Raises `WireError` only for an object that is no `Device` of any node.
    """
    metadata = loose.members(manifest.get("metadata"))
    name = loose.text(metadata.get("name"))
    if manifest.get("kind") not in (KIND, None) or not name:
        raise WireError(
            "device-malformed",
            f"an object of kind {shown(manifest.get('kind'))} named {shown(metadata.get('name'))} is no {KIND}",
        )
    entries: list[DeviceEntry] = []
    problems: list[Problem] = []
    for position, row in enumerate(loose.elements(loose.members(manifest.get("spec")).get("devices"))):
        entry = _read_entry(loose.members(row))
        if entry is None:
            sentence = (
                f"Device {name} has an entry {position} without an id and a minor from 0; it is left out"
            )
            problems.append(Problem("device-entry", sentence))
        else:
            entries.append(entry)
    device = Device(
        node=NodeName(name),
        labels=loose.text_map(metadata.get("labels")),
        annotations=loose.text_map(metadata.get("annotations")),
        entries=tuple(entries),
    )
    return device, tuple(problems)


def read_place(written: object) -> DevicePlace | None:
    """A topology block, whether its numbers are numbers or, as in the device-info file, texts."""
    if not loose.is_object(written):
        return None
    place = loose.members(written)
    socket, numa = loose.integer(place.get("socketID")), loose.integer(place.get("nodeID"))
    return DevicePlace(
        socket=-1 if socket is None else socket,
        numa=-1 if numa is None else numa,
        pcie=loose.text(place.get("pcieID")),
        bus_id=loose.text(place.get("busID")),
    )


def _differ(present: object, wanted: object, keys: Iterable[str]) -> bool:
    return any(loose.members(present).get(key) != loose.members(wanted).get(key) for key in keys)


def _entry_object(entry: DeviceEntry) -> dict[str, object]:
    written: dict[str, object] = {"type": entry.kind}
    if entry.labels:
        written["labels"] = dict(entry.labels)
    written |= {"id": entry.id, "minor": entry.minor}
    if entry.module_id is not None:
        written["moduleID"] = entry.module_id
    written["health"] = entry.health
    if entry.resources:
        written["resources"] = dict(sorted(entry.resources.items()))
    if entry.place is not None:
        written["topology"] = _place_object(entry.place)
    if entry.function_groups:
        written["vfGroups"] = [_group_object(group) for group in entry.function_groups]
    if entry.conditions:
        written["conditions"] = [condition_object(condition) for condition in entry.conditions]
    return written


def _place_object(place: DevicePlace) -> dict[str, object]:
    written: dict[str, object] = {"socketID": place.socket, "nodeID": place.numa, "pcieID": place.pcie}
    if place.bus_id:
        written["busID"] = place.bus_id
    return written


def _group_object(group: VirtualFunctionGroup) -> dict[str, object]:
    functions: list[dict[str, object]] = [
        {"minor": each.minor, "busID": each.bus_id} if each.bus_id else {"minor": each.minor}
        for each in group.functions
    ]
    return {"labels": dict(group.labels), "vfs": functions} if group.labels else {"vfs": functions}


def _read_entry(row: Mapping[str, object]) -> DeviceEntry | None:
    identity, minor = loose.text(row.get("id")), loose.integer(row.get("minor"))
    if not identity or minor is None or not 0 <= minor <= _LARGEST_MINOR:
        return None
    return DeviceEntry(
        id=identity,
        minor=minor,
        health=loose.flag(row.get("health")) is True,
        kind=loose.text(row.get("type")),
        resources=loose.text_map(row.get("resources")),
        labels=loose.text_map(row.get("labels")),
        module_id=loose.integer(row.get("moduleID")),
        place=read_place(row.get("topology")),
        function_groups=tuple(_read_group(group) for group in loose.elements(row.get("vfGroups"))),
        conditions=tuple(
            read_condition(loose.members(each)) for each in loose.elements(row.get("conditions"))
        ),
    )


def _read_group(written: object) -> VirtualFunctionGroup:
    group = loose.members(written)
    functions = (loose.members(each) for each in loose.elements(group.get("vfs")))
    return VirtualFunctionGroup(
        loose.text_map(group.get("labels")),
        tuple(
            VirtualFunction(loose.integer(each.get("minor")) or 0, loose.text(each.get("busID")))
            for each in functions
        ),
    )
