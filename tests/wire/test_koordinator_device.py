import re

import pytest
from msgspec.structs import replace

from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.topology import Link, LinkKind, PcieLevel, Topology
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import Bytes, from_gib
from tangram.wire.errors import WireError
from tangram.wire.koordinator.cards import cards_of
from tangram.wire.koordinator.conditions import health_condition, safe_reason
from tangram.wire.koordinator.device import Device, DeviceEntry, DevicePlace, device_object, read_device
from tangram.wire.koordinator.device_info import decode_device_infos, encode_device_infos
from tangram.wire.koordinator.node_resources import KNOWN_RESOURCES, node_labels, node_resources
from tangram.wire.koordinator.reporting import device_infos_of, device_of
from tangram.wire.nodes import read_node
from wire.manifests import Json, device, device_entry
from wire.manifests import node as node_manifest

NOW, LATER = "2026-11-15T21:15:10Z", "2026-11-15T22:00:00Z"
REASON = re.compile(r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")


def card(index: int, *, healthy: bool = True, cordoned: bool = False, vendor: Vendor = Vendor.METAX) -> Card:
    return Card(
        uuid=CardUuid(f"GPU-{index}"),
        index=index,
        vendor=vendor,
        memory=from_gib(64),
        product="C500" if vendor is Vendor.METAX else "MTT S4000",
        cores=100 if vendor is Vendor.METAX else 16,
        numa=index // 2,
        healthy=healthy,
        health_reason="" if healthy else "ECC error",
        cordoned=cordoned,
        bdf=f"0000:{index + 10:02x}:00.0",
    )


def node(*cards: Card, topology: Topology | None = None) -> Node:
    return Node(name=NodeName("n1"), cards=cards, topology=topology)


PAIRS = Topology(
    4,
    (
        Link(0, 1, LinkKind.METAXLINK, PcieLevel.SINGLE_SWITCH),
        Link(2, 3, LinkKind.METAXLINK, PcieLevel.HOST_BRIDGE),
        Link(0, 2, LinkKind.NONE, PcieLevel.SYSTEM),
    ),
)


def test_the_object_is_shaped_like_koordlets() -> None:
    device = device_of(node(card(0)), now=NOW)
    assert device_object(device, node_uid="node-uid") == {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {
            "name": "n1",
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "name": "n1",
                    "uid": "node-uid",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "labels": {"node.koordinator.sh/gpu-vendor": "metax", "node.koordinator.sh/gpu-model": "C500"},
        },
        "spec": {
            "devices": [
                {
                    "type": "gpu",
                    "id": "GPU-0",
                    "minor": 0,
                    "health": True,
                    "resources": {
                        "koordinator.sh/gpu-core": "100",
                        "koordinator.sh/gpu-memory": "64Gi",
                        "koordinator.sh/gpu-memory-ratio": "100",
                    },
                    "topology": {"socketID": -1, "nodeID": 0, "pcieID": "", "busID": "0000:0a:00.0"},
                    "conditions": [
                        {
                            "type": "Healthy",
                            "status": "True",
                            "reason": "DeviceHealthy",
                            "message": "device is healthy",
                            "lastTransitionTime": NOW,
                        }
                    ],
                }
            ]
        },
    }


def test_entries_are_ordered_by_type_then_minor() -> None:
    entries = tuple(DeviceEntry(id=str(minor), minor=minor, health=True) for minor in (3, 1, 2))
    written = device_object(Device(node=NodeName("n1"), entries=entries), node_uid="u")
    assert [entry.minor for entry in read_device(written)[0].entries] == [1, 2, 3]


def test_an_unhealthy_card_says_why_in_a_reason_the_api_server_accepts() -> None:
    (entry,) = device_of(node(card(0, healthy=False)), now=NOW).entries
    assert not entry.health
    assert entry.conditions[0].status == "False"
    assert entry.conditions[0].message == "ECC error"


def test_a_cordoned_card_is_reported_unhealthy_because_koordinator_has_no_other_word() -> None:
    (entry,) = device_of(node(card(0, cordoned=True)), now=NOW).entries
    assert not entry.health
    assert entry.conditions[0].reason == "Cordoned"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("ECC error", "ECCError"),
        ("-8001", "Code8001"),
        ("DeviceHealthy", "DeviceHealthy"),
        ("", "Unknown"),
        ("  ", "Unknown"),
        (":,", "Unknown"),
        ("a,b:", "a,b"),
        ("too hot (92 °C)", "tooHot92C"),
        ("_x", "Code_x"),
        ("x" * 2000, "x" * 1024),
    ],
)
def test_reasons_are_made_safe(code: str, reason: str) -> None:
    assert safe_reason(code) == reason
    assert REASON.fullmatch(safe_reason(code))
    assert health_condition(healthy=False, since=NOW, code=code).reason == reason


def test_a_condition_keeps_its_time_for_as_long_as_its_status() -> None:
    first = device_of(node(card(0), card(1)), now=NOW)
    second = device_of(node(card(0), card(1, healthy=False)), now=LATER, before=first)
    assert [entry.conditions[0].since for entry in second.entries] == [NOW, LATER]


def test_cards_below_one_host_bridge_share_a_root_and_linked_ones_a_partition() -> None:
    device = device_of(node(*map(card, range(4)), topology=PAIRS), now=NOW)
    roots = [entry.place.pcie for entry in device.entries if entry.place is not None]
    assert roots == ["pci0000:0a", "pci0000:0a", "pci0000:0c", "pci0000:0c"]
    assert device.labels["node.koordinator.sh/gpu-partition-policy"] == "Prefer"
    assert device.annotations["scheduling.koordinator.sh/gpu-partitions"] == (
        '{"2":[{"minors":[0,1],"gpuLinkType":"MetaXLink","allocationScore":1},'
        '{"minors":[2,3],"gpuLinkType":"MetaXLink","allocationScore":1}]}'
    )


def test_a_product_name_with_a_space_becomes_a_legal_label() -> None:
    device = device_of(node(card(0, vendor=Vendor.MTHREADS)), now=NOW)
    assert device.labels["node.koordinator.sh/gpu-model"] == "MTT-S4000"


def test_our_report_read_back_is_our_cards() -> None:
    # As the agent reports it of a card that can be sliced.
    cards = tuple(replace(card(number), memory=from_gib(63)) for number in range(4))
    device = device_of(node(*cards, topology=PAIRS), now=NOW)
    back = read_node(node_manifest("n1"), read_device(device_object(device, node_uid="u"))[0]).node
    assert back.cards == cards
    assert back.topology is not None
    linked = {(link.a, link.b) for link in back.topology.links if link.kind is LinkKind.METAXLINK}
    assert linked == {(0, 1), (2, 3)}


@pytest.mark.parametrize(
    "entry", [{}, {"id": "a"}, {"minor": 0}, {"id": "", "minor": 0}, {"id": "a", "minor": -1}, 7]
)
def test_an_entry_without_id_or_minor_is_left_out_with_a_problem(entry: Json) -> None:
    read, problems = read_device(device(entry, device_entry(1)))
    assert [each.id for each in read.entries] == ["GPU-1"]
    assert [problem.code for problem in problems] == ["device-entry"]


@pytest.mark.parametrize(
    "manifest", [{}, {"kind": "Pod", "metadata": {"name": "n1"}}, {"metadata": {"name": 7}}]
)
def test_what_is_no_device_of_any_node_is_an_error(manifest: Json) -> None:
    with pytest.raises(WireError):
        read_device(manifest)


def test_health_that_is_not_said_is_not_health() -> None:
    read, _ = read_device(device(device_entry(0, health=None)))
    assert not read.entries[0].health


def test_missing_numbers_of_a_place_are_unknown() -> None:
    read, _ = read_device(device(device_entry(0, topology={"pcieID": "a", "nodeID": "1"})))
    assert read.entries[0].place == DevicePlace(socket=-1, numa=1, pcie="a")


@pytest.mark.parametrize("memory", [None, "", "x", "0", "-1Gi", "1e99"])
def test_a_card_without_readable_memory_is_left_out(memory: object) -> None:
    entry = device_entry(0, resources={"koordinator.sh/gpu-memory": memory})
    cards, problems = cards_of(read_device(device(entry))[0])
    assert cards == ()
    assert [problem.code for problem in problems] == ["device-entry"]


def test_cards_of_a_device_are_sliced_and_numbered_by_minor() -> None:
    (read,), _ = cards_of(read_device(device(device_entry(3)))[0])
    assert (read.index, read.mode, read.cores, read.slots) == (3, CardMode.SLICED, 100, 16)


# --- device-info file ---------------------------------------------------------------------------------------------


def test_the_file_has_every_scalar_as_text() -> None:
    text = encode_device_infos(
        device_infos_of(node(*map(card, range(2)), topology=Topology(2, PAIRS.links[:1])))
    )
    assert text.endswith("\n")
    assert '"minor": "0"' in text
    assert '"nodeID": "0"' in text
    assert '"peerMinor": "1"' in text
    infos, problems = decode_device_infos(text)
    assert problems == ()
    assert infos == device_infos_of(node(*map(card, range(2)), topology=Topology(2, PAIRS.links[:1])))
    assert infos[0].vendor == "metax"
    assert infos[0].resources == {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "64Gi"}


def test_a_sick_card_says_so_in_the_file() -> None:
    (info,) = device_infos_of(node(card(0, healthy=False)))
    assert (info.healthy, info.error_message) == (False, "ECC error")


@pytest.mark.parametrize("text", ["", "{}", "null"])
def test_a_file_that_is_no_list_is_an_error(text: str) -> None:
    with pytest.raises(WireError):
        decode_device_infos(text)


def test_a_card_without_uuid_or_minor_is_left_out_of_the_file() -> None:
    infos, problems = decode_device_infos('[{"uuid":"a","minor":"0"},{"uuid":"b"},{"minor":"1"},7]')
    assert [info.uuid for info in infos] == ["a"]
    assert infos[0].healthy is None
    assert len(problems) == 3


# --- node resources -----------------------------------------------------------------------------------------------


def test_the_user_pages_example_adds_up() -> None:
    read, _ = read_device(device(device_entry(0)))
    assert node_resources(read, shares=True) == {
        "koordinator.sh/gpu-core": "100",
        "koordinator.sh/gpu-memory": "64Gi",
        "koordinator.sh/gpu-memory-ratio": "100",
        "koordinator.sh/gpu.shared": "100",
    }
    assert node_labels(read) == {
        "node.koordinator.sh/gpu-vendor": "metax",
        "node.koordinator.sh/gpu-model": "C500",
    }


def test_only_healthy_cards_count() -> None:
    read, _ = read_device(device(device_entry(0), device_entry(1, health=False), device_entry(2)))
    assert node_resources(read, shares=False) == {
        "koordinator.sh/gpu-core": "200",
        "koordinator.sh/gpu-memory": "128Gi",
        "koordinator.sh/gpu-memory-ratio": "200",
    }


def test_without_a_healthy_card_every_known_name_is_to_be_removed() -> None:
    read, _ = read_device(device(device_entry(0, health=False)))
    assert node_resources(read, shares=True) == {}
    assert len(KNOWN_RESOURCES) == 8


@pytest.mark.parametrize(
    ("vendor", "offered"), [("nvidia", True), ("", True), ("metax", False), ("mthreads", False)]
)
def test_compute_is_offered_as_plain_gpus_only_where_koordinator_does(vendor: str, *, offered: bool) -> None:
    read, _ = read_device(device(device_entry(0), vendor=vendor))
    assert ("koordinator.sh/gpu" in node_resources(read, shares=False)) is offered


def test_unknown_names_unreadable_amounts_and_other_devices_do_not_count() -> None:
    odd = device_entry(
        0, resources={"koordinator.sh/gpu-core": "x", "koordinator.sh/gpu-memory": "1Gi", "a/b": "1"}
    )
    read, _ = read_device(device(odd, device_entry(1, type="rdma")))
    assert node_resources(read, shares=False) == {"koordinator.sh/gpu-memory": "1Gi"}


def test_a_node_without_cards_reports_an_empty_device() -> None:
    device = device_of(Node(name=NodeName("n1")), now=NOW)
    assert (device.labels, device.annotations, device.entries) == ({}, {}, ())


def test_odd_bytes_are_written_exactly() -> None:
    odd = Card(uuid=CardUuid("a"), index=0, vendor=Vendor.METAX, memory=Bytes(1000))
    (entry,) = device_of(node(odd), now=NOW).entries
    assert entry.resources["koordinator.sh/gpu-memory"] == "1k"
    assert entry.place is None
