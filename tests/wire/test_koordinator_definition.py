"""The kind `Device` as we bring it: the file for people is the same, and objects of ours pass where faulty ones do not.

That fields, types, bounds and defaults are Koordinator's is stated here field by field, so that nobody changes one by
accident: components of Koordinator read these objects, and a field that is not in the schema is dropped in silence.
"""

import os
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from builders.controlled import ISSUED
from tangram.kube.api import Api, Object
from tangram.kube.errors import ApiError
from tangram.model.cards import Card, Vendor
from tangram.model.nodes import Node
from tangram.sandbox.apiserver.server import serving_api
from tangram.sandbox.kinds import install_kinds
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import from_gib
from tangram.wire.koordinator.definition import FILE, NAME, device_definition
from tangram.wire.koordinator.device import Device, DeviceEntry, DevicePlace, device_object, read_device
from tangram.wire.koordinator.device import VirtualFunction as Function
from tangram.wire.koordinator.device import VirtualFunctionGroup as Functions
from tangram.wire.koordinator.reporting import device_of

ROOT = Path(__file__).resolve().parents[2]
DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
NOW = "2026-11-15T21:15:10Z"

HEAD = (
    "# The kind Device, for clusters without Koordinator; where Koordinator is installed it has brought its own.\n"
    "# Made from src/tangram/wire/koordinator/definition.py: a test holds the two equal.\n"
)


def as_file() -> str:
    return HEAD + yaml.safe_dump(device_definition(), sort_keys=False, width=110)


def test_the_file_for_people_is_the_definition() -> None:
    file = ROOT / FILE
    if os.environ.get("TANGRAM_REFRESH") == "1":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(as_file(), "utf-8")
    assert file.read_text("utf-8") == as_file()


def leaves(schema: Mapping[str, Any], path: str = "") -> dict[str, str]:
    """By place in the object, its type with everything that bounds it."""
    bounds = {
        key: value
        for key, value in schema.items()
        if key not in ("properties", "items", "description", "type")
    }
    extra = bounds.pop("additionalProperties", None)
    told = " ".join(
        [cast("str", schema.get("type", "any")), *(f"{key}={bounds[key]}" for key in sorted(bounds))]
    )
    found = {path or ".": told}
    for name, inner in schema.get("properties", {}).items():
        found |= leaves(inner, f"{path}.{name}")
    if "items" in schema:
        found |= leaves(schema["items"], f"{path}[]")
    if extra is not None:
        found |= leaves(extra, f"{path}{{}}")
    return found


QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
CONDITION_TYPE = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
KOORDINATORS = {
    ".": "object",
    ".apiVersion": "string",
    ".kind": "string",
    ".metadata": "object",
    ".spec": "object",
    ".spec.devices": "array",
    ".spec.devices[]": "object required=['health']",
    ".spec.devices[].conditions": "array",
    ".spec.devices[].conditions[]": (
        "object required=['lastTransitionTime', 'message', 'reason', 'status', 'type']"
    ),
    ".spec.devices[].conditions[].lastTransitionTime": "string format=date-time",
    ".spec.devices[].conditions[].message": "string maxLength=32768",
    ".spec.devices[].conditions[].observedGeneration": "integer format=int64 minimum=0",
    ".spec.devices[].conditions[].reason": (
        "string maxLength=1024 minLength=1 pattern=^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
    ),
    ".spec.devices[].conditions[].status": "string enum=['True', 'False', 'Unknown']",
    ".spec.devices[].conditions[].type": f"string maxLength=316 pattern={CONDITION_TYPE}",
    ".spec.devices[].health": "boolean default=False",
    ".spec.devices[].id": "string",
    ".spec.devices[].labels": "object",
    ".spec.devices[].labels{}": "string",
    ".spec.devices[].minor": "integer format=int32",
    ".spec.devices[].moduleID": "integer format=int32",
    ".spec.devices[].resources": "object",
    ".spec.devices[].resources{}": (
        f"any anyOf=[{{'type': 'integer'}}, {{'type': 'string'}}] pattern={QUANTITY} x-kubernetes-int-or-string=True"
    ),
    ".spec.devices[].topology": "object required=['nodeID', 'pcieID', 'socketID']",
    ".spec.devices[].topology.busID": "string",
    ".spec.devices[].topology.nodeID": "integer format=int32",
    ".spec.devices[].topology.pcieID": "string",
    ".spec.devices[].topology.socketID": "integer format=int32",
    ".spec.devices[].type": "string",
    ".spec.devices[].vfGroups": "array",
    ".spec.devices[].vfGroups[]": "object",
    ".spec.devices[].vfGroups[].labels": "object",
    ".spec.devices[].vfGroups[].labels{}": "string",
    ".spec.devices[].vfGroups[].vfs": "array",
    ".spec.devices[].vfGroups[].vfs[]": "object required=['minor']",
    ".spec.devices[].vfGroups[].vfs[].busID": "string",
    ".spec.devices[].vfGroups[].vfs[].minor": "integer format=int32",
    ".status": "object",
    ".status.allocations": "array",
    ".status.allocations[]": "object",
    ".status.allocations[].entries": "array",
    ".status.allocations[].entries[]": "object",
    ".status.allocations[].entries[].minors": "array",
    ".status.allocations[].entries[].minors[]": "integer format=int32",
    ".status.allocations[].entries[].name": "string",
    ".status.allocations[].entries[].namespace": "string",
    ".status.allocations[].entries[].uuid": "string",
    ".status.allocations[].type": "string",
}


def test_the_kind_is_koordinators() -> None:
    spec = device_definition()["spec"]
    (version,) = spec["versions"]
    assert device_definition()["metadata"]["name"] == NAME == "devices.scheduling.koordinator.sh"
    assert (spec["group"], spec["scope"]) == ("scheduling.koordinator.sh", "Cluster")
    assert spec["names"] == {
        "kind": "Device",
        "listKind": "DeviceList",
        "plural": "devices",
        "singular": "device",
    }
    assert set(version) == {"name", "served", "storage", "schema"}, "no status subresource and no columns"
    assert (version["name"], version["served"], version["storage"]) == ("v1alpha1", True, True)
    assert leaves(version["schema"]["openAPIV3Schema"]) == KOORDINATORS


def card(index: int, *, healthy: bool = True, vendor: Vendor = Vendor.METAX) -> Card:
    return Card(
        uuid=CardUuid(f"GPU-{index}"),
        index=index,
        vendor=vendor,
        memory=from_gib(64),
        product="C500" if vendor is Vendor.METAX else "MTT S4000",
        numa=index // 2,
        healthy=healthy,
        health_reason="" if healthy else "ECC error",
        bdf=f"0000:{index + 10:02x}:00.0",
    )


FULL = Device(
    node=NodeName("full"),
    entries=(
        DeviceEntry(
            id="GPU-0",
            minor=0,
            health=True,
            module_id=3,
            labels={"slot": "left"},
            resources={"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "64Gi"},
            place=DevicePlace(socket=-1, numa=-1, pcie="pci0000:0a", bus_id="0000:0a:00.0"),
            function_groups=(Functions({"plane": "data"}, (Function(0, "0000:0a:00.1"), Function(1))),),
        ),
    ),
)


@pytest.fixture
async def api() -> AsyncGenerator[Api]:
    async with serving_api(issued=ISSUED) as running, Api(running.connection()) as api:
        await install_kinds(api)
        yield api


def of_node(*cards: Card) -> Device:
    return device_of(Node(name=NodeName("n1"), cards=cards), now=NOW)


@pytest.mark.parametrize(
    "device",
    [
        pytest.param(of_node(), id="no-cards"),
        pytest.param(of_node(card(0), card(1, healthy=False)), id="metax-with-a-sick-one"),
        pytest.param(of_node(card(0, vendor=Vendor.MTHREADS)), id="mthreads"),
        pytest.param(FULL, id="every-field"),
    ],
)
async def test_what_we_write_comes_back_whole(api: Api, device: Device) -> None:
    written = device_object(device, node_uid="a-uid")
    await api.create(DEVICES, written)
    kept = await api.get(f"{DEVICES}/{device.node}")
    assert kept["spec"] == written["spec"]
    assert read_device(kept) == (device, ())


async def test_health_that_is_not_said_is_made_false_and_what_nobody_knows_is_dropped(api: Api) -> None:
    made = {"id": "GPU-0", "minor": 0, "colour": "red"}
    await api.create(DEVICES, manifest("n1", made))
    kept = await api.get(f"{DEVICES}/n1")
    assert kept["spec"]["devices"] == [{"id": "GPU-0", "minor": 0, "health": False}]


def manifest(name: str, *entries: Object) -> Object:
    kind = {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device"}
    return {**kind, "metadata": {"name": name}, "spec": {"devices": list(entries)}}


def entry(**more: object) -> Object:
    return {"id": "GPU-0", "minor": 0, "type": "gpu", "health": True, **more}


def condition(**changes: object) -> Object:
    told = {
        "type": "Healthy",
        "status": "False",
        "reason": "ECCError",
        "message": "",
        "lastTransitionTime": NOW,
    }
    return entry(conditions=[{**told, **changes}])


@pytest.mark.parametrize(
    ("faulty", "where"),
    [
        pytest.param(condition(reason="ECC error"), "conditions[0].reason", id="reason-with-a-space"),
        pytest.param(condition(reason="-8001"), "conditions[0].reason", id="reason-that-is-a-number"),
        pytest.param(condition(reason=""), "conditions[0].reason", id="no-reason"),
        pytest.param(condition(status="Sick"), "conditions[0].status", id="status"),
        pytest.param(condition(type="a b"), "conditions[0].type", id="condition-type"),
        pytest.param(condition(lastTransitionTime="today"), "lastTransitionTime", id="time"),
        pytest.param(entry(topology={"nodeID": 0, "pcieID": ""}), "topology.socketID", id="half-a-place"),
        pytest.param(entry(minor="0"), "devices[0].minor", id="minor-as-text"),
        pytest.param(entry(health="yes"), "devices[0].health", id="health"),
        pytest.param(entry(resources={"koordinator.sh/gpu-memory": "64 GB"}), "gpu-memory", id="amount"),
        pytest.param(
            entry(vfGroups=[{"vfs": [{"busID": "x"}]}]), "vfs[0].minor", id="function-without-number"
        ),
    ],
)
async def test_what_is_faulty_is_refused_as_a_whole(api: Api, faulty: Object, where: str) -> None:
    with pytest.raises(ApiError) as refused:
        await api.create(DEVICES, manifest("n1", faulty))
    assert refused.value.status == 422
    assert where in str(refused.value)
