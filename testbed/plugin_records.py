"""What a scripted device plugin offers, hears and answers, as records; and their way into the kubelet's messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from tangram.wire.kubelet import deviceplugin

MethodName = Literal[
    "GetDevicePluginOptions",
    "ListAndWatch",
    "GetPreferredAllocation",
    "Allocate",
    "PreStartContainer",
]
Outcome = Literal["answered", "failed", "cancelled"]

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PluginDevice:
    """One device as the kubelet counts them."""

    id: str
    healthy: bool = True
    numa: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Preference:
    """What the kubelet offers to choose from for one container."""

    available: tuple[str, ...]
    must_include: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Call:
    """A call at the moment it came in."""

    order: int
    """Counted over all plugins of the process, so that calls of two resources can be told apart in time."""
    at: float
    """Monotonic seconds."""
    method: MethodName
    ids: tuple[tuple[str, ...], ...] = ()
    """Of Allocate: the device ids per container asked for. Of PreStartContainer: one entry."""
    preferences: tuple[Preference, ...] = ()
    """Of GetPreferredAllocation, per container."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a call ended. `cancelled` means that the other side, or the server's end, cut it off."""

    call: Call
    at: float
    outcome: Outcome
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Registration:
    """One attempt to register, as it ended."""

    asked_at: float
    answered_at: float
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class DeviceFile:
    host_path: str
    container_path: str
    permissions: str = "rw"


@dataclass(frozen=True, slots=True)
class HostMount:
    host_path: str
    container_path: str
    read_only: bool = True


@dataclass(frozen=True, slots=True)
class Grant:
    """What one container gets."""

    cdi_names: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    device_files: tuple[DeviceFile, ...] = ()
    mounts: tuple[HostMount, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=lambda: _NOTHING)


def devices_named(*ids: str, numa: tuple[int, ...] = ()) -> tuple[PluginDevice, ...]:
    """Healthy devices of these ids."""
    return tuple(PluginDevice(device_id, numa=numa) for device_id in ids)


def listing(devices: Iterable[PluginDevice]) -> deviceplugin.ListAndWatchResponse:
    """The message that replaces the kubelet's list. Devices without NUMA nodes have no topology at all."""
    return deviceplugin.ListAndWatchResponse(devices=[_device(device) for device in devices])


def allocation(grants: Iterable[Grant]) -> deviceplugin.AllocateResponse:
    """The answer to Allocate, one grant per container asked for."""
    return deviceplugin.AllocateResponse(container_responses=[_granted(grant) for grant in grants])


def preferences_in(asked: deviceplugin.PreferredAllocationRequest) -> tuple[Preference, ...]:
    """What GetPreferredAllocation offers, per container."""
    return tuple(
        Preference(
            tuple(container.available_deviceIDs),
            tuple(container.must_include_deviceIDs),
            container.allocation_size,
        )
        for container in asked.container_requests
    )


def _device(device: PluginDevice) -> deviceplugin.Device:
    nodes = [deviceplugin.NUMANode(ID=number) for number in device.numa]
    return deviceplugin.Device(
        ID=device.id,
        health=deviceplugin.HEALTHY if device.healthy else deviceplugin.UNHEALTHY,
        topology=deviceplugin.TopologyInfo(nodes=nodes) if nodes else None,
    )


def _granted(grant: Grant) -> deviceplugin.ContainerAllocateResponse:
    return deviceplugin.ContainerAllocateResponse(
        envs=grant.env,
        mounts=[
            deviceplugin.Mount(
                container_path=mount.container_path, host_path=mount.host_path, read_only=mount.read_only
            )
            for mount in grant.mounts
        ],
        devices=[
            deviceplugin.DeviceSpec(
                container_path=file.container_path, host_path=file.host_path, permissions=file.permissions
            )
            for file in grant.device_files
        ],
        annotations=grant.annotations,
        cdi_devices=[deviceplugin.CDIDevice(name=name) for name in grant.cdi_names],
    )
