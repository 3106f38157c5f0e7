"""The PodResources API v1: messages under their own names and the lister's methods."""

from __future__ import annotations

from typing import Final

from tangram.wire.kubelet.methods import Method
from tangram.wire.kubelet.podresources_v1_pb2 import (
    AllocatableResourcesRequest,
    AllocatableResourcesResponse,
    CDIDevice,
    ClaimResource,
    ContainerDevices,
    ContainerMemory,
    ContainerResources,
    DynamicResource,
    GetPodResourcesRequest,
    GetPodResourcesResponse,
    ListPodResourcesRequest,
    ListPodResourcesResponse,
    NUMANode,
    PodResources,
    TopologyInfo,
)

__all__ = [
    "GET",
    "GET_ALLOCATABLE_RESOURCES",
    "LIST",
    "POD_RESOURCES_LISTER",
    "AllocatableResourcesRequest",
    "AllocatableResourcesResponse",
    "CDIDevice",
    "ClaimResource",
    "ContainerDevices",
    "ContainerMemory",
    "ContainerResources",
    "DynamicResource",
    "GetPodResourcesRequest",
    "GetPodResourcesResponse",
    "ListPodResourcesRequest",
    "ListPodResourcesResponse",
    "NUMANode",
    "PodResources",
    "TopologyInfo",
]

POD_RESOURCES_LISTER: Final = "v1.PodResourcesLister"

LIST: Final = Method(
    service=POD_RESOURCES_LISTER,
    name="List",
    asks=ListPodResourcesRequest,
    answers=ListPodResourcesResponse,
)
GET_ALLOCATABLE_RESOURCES: Final = Method(
    service=POD_RESOURCES_LISTER,
    name="GetAllocatableResources",
    asks=AllocatableResourcesRequest,
    answers=AllocatableResourcesResponse,
)
GET: Final = Method(
    service=POD_RESOURCES_LISTER,
    name="Get",
    asks=GetPodResourcesRequest,
    answers=GetPodResourcesResponse,
)
