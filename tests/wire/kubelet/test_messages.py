"""The numbers and types on the wire are the kubelet's, not ours: here they are written down a second time.

The tables below were read off the published API, and are compared with what the generated modules carry. A slip in a
`.proto` file would otherwise look right from this side of the socket and be garbage on the other.
"""

import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor, ServiceDescriptor
from google.protobuf.message import Message

from tangram.wire.kubelet import (
    deviceplugin,
    deviceplugin_v1beta1_pb2,
    podresources,
    podresources_v1_pb2,
)
from tangram.wire.kubelet.methods import Method

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path("tangram", "wire", "kubelet")

DEVICE_PLUGIN_MESSAGES = {
    "Empty": "",
    "RegisterRequest": "1 version string, 2 endpoint string, 3 resource_name string, 4 options DevicePluginOptions",
    "DevicePluginOptions": "1 pre_start_required bool, 2 get_preferred_allocation_available bool",
    "ListAndWatchResponse": "1 devices Device*",
    "Device": "1 ID string, 2 health string, 3 topology TopologyInfo",
    "TopologyInfo": "1 nodes NUMANode*",
    "NUMANode": "1 ID int64",
    "PreferredAllocationRequest": "1 container_requests ContainerPreferredAllocationRequest*",
    "ContainerPreferredAllocationRequest": (
        "1 available_deviceIDs string*, 2 must_include_deviceIDs string*, 3 allocation_size int32"
    ),
    "PreferredAllocationResponse": "1 container_responses ContainerPreferredAllocationResponse*",
    "ContainerPreferredAllocationResponse": "1 deviceIDs string*",
    "AllocateRequest": "1 container_requests ContainerAllocateRequest*",
    "ContainerAllocateRequest": "1 devices_ids string*",
    "AllocateResponse": "1 container_responses ContainerAllocateResponse*",
    "ContainerAllocateResponse": (
        "1 envs string->string, 2 mounts Mount*, 3 devices DeviceSpec*, 4 annotations string->string, "
        "5 cdi_devices CDIDevice*"
    ),
    "Mount": "1 container_path string, 2 host_path string, 3 read_only bool",
    "DeviceSpec": "1 container_path string, 2 host_path string, 3 permissions string",
    "CDIDevice": "1 name string",
    "PreStartContainerRequest": "1 devices_ids string*",
    "PreStartContainerResponse": "",
}
POD_RESOURCES_MESSAGES = {
    "ListPodResourcesRequest": "",
    "ListPodResourcesResponse": "1 pod_resources PodResources*",
    "GetPodResourcesRequest": "1 pod_name string, 2 pod_namespace string",
    "GetPodResourcesResponse": "1 pod_resources PodResources",
    "AllocatableResourcesRequest": "",
    "AllocatableResourcesResponse": "1 devices ContainerDevices*, 2 cpu_ids int64*, 3 memory ContainerMemory*",
    "PodResources": "1 name string, 2 namespace string, 3 containers ContainerResources*",
    "ContainerResources": (
        "1 name string, 2 devices ContainerDevices*, 3 cpu_ids int64*, 4 memory ContainerMemory*, "
        "5 dynamic_resources DynamicResource*"
    ),
    "ContainerDevices": "1 resource_name string, 2 device_ids string*, 3 topology TopologyInfo",
    "ContainerMemory": "1 memory_type string, 2 size uint64, 3 topology TopologyInfo",
    "TopologyInfo": "1 nodes NUMANode*",
    "NUMANode": "1 ID int64",
    "DynamicResource": "2 claim_name string, 3 claim_namespace string, 4 claim_resources ClaimResource*",
    "ClaimResource": (
        "1 cdi_devices CDIDevice*, 2 driver_name string, 3 pool_name string, 4 device_name string, 5 share_id string?"
    ),
    "CDIDevice": "1 name string",
}
DEVICE_PLUGIN_METHODS = {
    "/v1beta1.Registration/Register": "RegisterRequest -> Empty",
    "/v1beta1.DevicePlugin/GetDevicePluginOptions": "Empty -> DevicePluginOptions",
    "/v1beta1.DevicePlugin/ListAndWatch": "Empty -> ListAndWatchResponse*",
    "/v1beta1.DevicePlugin/GetPreferredAllocation": "PreferredAllocationRequest -> PreferredAllocationResponse",
    "/v1beta1.DevicePlugin/Allocate": "AllocateRequest -> AllocateResponse",
    "/v1beta1.DevicePlugin/PreStartContainer": "PreStartContainerRequest -> PreStartContainerResponse",
}
POD_RESOURCES_METHODS = {
    "/v1.PodResourcesLister/List": "ListPodResourcesRequest -> ListPodResourcesResponse",
    "/v1.PodResourcesLister/GetAllocatableResources": "AllocatableResourcesRequest -> AllocatableResourcesResponse",
    "/v1.PodResourcesLister/Get": "GetPodResourcesRequest -> GetPodResourcesResponse",
}

SCALARS = {
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_UINT64: "uint64",
}

APIS = [
    pytest.param(
        deviceplugin_v1beta1_pb2.DESCRIPTOR, DEVICE_PLUGIN_MESSAGES, DEVICE_PLUGIN_METHODS, id="device-plugin"
    ),
    pytest.param(
        podresources_v1_pb2.DESCRIPTOR, POD_RESOURCES_MESSAGES, POD_RESOURCES_METHODS, id="pod-resources"
    ),
]


def spelled(field: FieldDescriptor) -> str:
    """The type of a field: `*` for many, `->` for a map, `?` where absent and empty differ."""
    message: Descriptor | None = field.message_type
    if message is None:
        known = SCALARS[field.type]
        optional = field.has_presence
    else:
        known = message.name
        optional = False
        if message.GetOptions().map_entry:
            return "->".join(spelled(message.fields_by_name[part]) for part in ("key", "value"))
    return known + ("*" if field.is_repeated else "?" if optional else "")


def fields(message: Descriptor) -> str:
    return ", ".join(f"{field.number} {field.name} {spelled(field)}" for field in message.fields)


def signatures(service: ServiceDescriptor) -> dict[str, str]:
    return {
        f"/{service.full_name}/{method.name}": (
            f"{method.input_type.name} -> {method.output_type.name}{'*' if method.server_streaming else ''}"
        )
        for method in service.methods
        if not method.client_streaming
    }


@pytest.mark.parametrize(("api", "messages", "_methods"), APIS)
def test_every_field_has_the_kubelets_name_number_and_type(
    api: FileDescriptor, messages: dict[str, str], _methods: dict[str, str]
) -> None:
    assert {name: fields(message) for name, message in api.message_types_by_name.items()} == messages


@pytest.mark.parametrize(("api", "_messages", "methods"), APIS)
def test_every_method_has_the_kubelets_path_question_and_answer(
    api: FileDescriptor, _messages: dict[str, str], methods: dict[str, str]
) -> None:
    found: dict[str, str] = {}
    for service in api.services_by_name.values():
        found |= signatures(service)
    assert found == methods


@pytest.mark.parametrize(("api", "_messages", "_methods"), APIS)
def test_the_registry_knows_the_files_under_names_nobody_else_takes(
    api: FileDescriptor, _messages: dict[str, str], _methods: dict[str, str]
) -> None:
    assert api.name.startswith("tangram/wire/kubelet/")


@pytest.mark.parametrize(
    ("module", "methods"),
    [(deviceplugin, DEVICE_PLUGIN_METHODS), (podresources, POD_RESOURCES_METHODS)],
    ids=["device-plugin", "pod-resources"],
)
def test_the_typed_methods_say_what_the_descriptors_say(module: object, methods: dict[str, str]) -> None:
    values = cast("dict[str, object]", vars(module)).values()
    typed = [cast("Method[Message, Message]", value) for value in values if isinstance(value, Method)]
    assert {
        method.path: (
            f"{method.asks.DESCRIPTOR.name} -> {method.answers.DESCRIPTOR.name}{'*' if method.streams else ''}"
        )
        for method in typed
    } == methods


def test_the_checked_in_modules_are_what_the_compiler_makes_of_the_proto_files(tmp_path: Path) -> None:
    sources = sorted((ROOT / "proto" / FOLDER).glob("*.proto"))
    subprocess.run(
        [
            sys.executable,
            "-m",
            "grpc_tools.protoc",
            f"--proto_path={ROOT / 'proto'}",
            f"--python_out={tmp_path}",
            f"--pyi_out={tmp_path}",
            *map(str, sources),
        ],
        check=True,
        timeout=60,
    )
    made = {path.name: path.read_bytes() for path in (tmp_path / FOLDER).iterdir()}
    kept = {path.name: path.read_bytes() for path in (ROOT / "src" / FOLDER).glob("*_pb2.py*")}
    assert len(made) == 2 * len(sources)
    assert made == kept, "run `make protos`"
