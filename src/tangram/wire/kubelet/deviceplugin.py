"""The device plugin API v1beta1: messages under their own names, the two services' methods, and the words it uses."""

from __future__ import annotations

from typing import Final

from tangram.wire.kubelet.deviceplugin_v1beta1_pb2 import (
    AllocateRequest,
    AllocateResponse,
    CDIDevice,
    ContainerAllocateRequest,
    ContainerAllocateResponse,
    ContainerPreferredAllocationRequest,
    ContainerPreferredAllocationResponse,
    Device,
    DevicePluginOptions,
    DeviceSpec,
    Empty,
    ListAndWatchResponse,
    Mount,
    NUMANode,
    PreferredAllocationRequest,
    PreferredAllocationResponse,
    PreStartContainerRequest,
    PreStartContainerResponse,
    RegisterRequest,
    TopologyInfo,
)
from tangram.wire.kubelet.methods import Method

__all__ = [
    "ALLOCATE",
    "DEVICE_PLUGIN",
    "GET_DEVICE_PLUGIN_OPTIONS",
    "GET_PREFERRED_ALLOCATION",
    "HEALTHY",
    "KUBELET_SOCKET",
    "LIST_AND_WATCH",
    "PRE_START_CONTAINER",
    "REGISTER",
    "REGISTRATION",
    "UNHEALTHY",
    "VERSION",
    "AllocateRequest",
    "AllocateResponse",
    "CDIDevice",
    "ContainerAllocateRequest",
    "ContainerAllocateResponse",
    "ContainerPreferredAllocationRequest",
    "ContainerPreferredAllocationResponse",
    "Device",
    "DevicePluginOptions",
    "DeviceSpec",
    "Empty",
    "ListAndWatchResponse",
    "Mount",
    "NUMANode",
    "PreStartContainerRequest",
    "PreStartContainerResponse",
    "PreferredAllocationRequest",
    "PreferredAllocationResponse",
    "RegisterRequest",
    "TopologyInfo",
]

VERSION: Final = "v1beta1"
KUBELET_SOCKET: Final = "kubelet.sock"
"""In the device plugins' directory. The kubelet makes it anew at every start, after removing all sockets there."""
HEALTHY: Final = "Healthy"
UNHEALTHY: Final = "Unhealthy"

REGISTRATION: Final = "v1beta1.Registration"
DEVICE_PLUGIN: Final = "v1beta1.DevicePlugin"

REGISTER: Final = Method(service=REGISTRATION, name="Register", asks=RegisterRequest, answers=Empty)

GET_DEVICE_PLUGIN_OPTIONS: Final = Method(
    service=DEVICE_PLUGIN, name="GetDevicePluginOptions", asks=Empty, answers=DevicePluginOptions
)
LIST_AND_WATCH: Final = Method(
    service=DEVICE_PLUGIN, name="ListAndWatch", asks=Empty, answers=ListAndWatchResponse, streams=True
)
GET_PREFERRED_ALLOCATION: Final = Method(
    service=DEVICE_PLUGIN,
    name="GetPreferredAllocation",
    asks=PreferredAllocationRequest,
    answers=PreferredAllocationResponse,
)
ALLOCATE: Final = Method(
    service=DEVICE_PLUGIN, name="Allocate", asks=AllocateRequest, answers=AllocateResponse
)
PRE_START_CONTAINER: Final = Method(
    service=DEVICE_PLUGIN,
    name="PreStartContainer",
    asks=PreStartContainerRequest,
    answers=PreStartContainerResponse,
)
