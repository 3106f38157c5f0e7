"""Our cards in Koordinator's words, point by point of what its own agents would say."""

import re
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders.clusters import card, grouped, metax_node
from tangram.model.cards import Card, Vendor
from tangram.model.nodes import Node
from tangram.model.topology import Topology
from tangram.units.ids import NodeName, is_label_value
from tangram.wire.koordinator.device import changes_device, device_object, read_device
from tangram.wire.koordinator.reporting import device_infos_of, device_of
from tangram.wire.koordinator.whereabouts import CardNotes

NOW = "2026-11-15T21:15:10Z"
REASON = re.compile(r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
SICK = replace(card("n", 0), healthy=False, health_reason="3 errors")


def node(*cards: Card, topology: Topology | None = None) -> Node:
    return Node(name=NodeName("n"), cards=cards, topology=topology)


def roots(of: Node, notes: dict[str, str]) -> list[str]:
    noted = {each.uuid: CardNotes(root=notes.get(str(each.index), "")) for each in of.cards}
    return [entry.place.pcie for entry in device_of(of, now=NOW, notes=noted).entries if entry.place]


@pytest.mark.parametrize(
    ("product", "vendor", "model"),
    [
        ("MXC500", Vendor.METAX, "C500"),
        ("MXC550-PL", Vendor.METAX, "C550-PL"),
        ("C500", Vendor.METAX, "C500"),
        ("MTT S4000", Vendor.MTHREADS, "MTT-S4000"),
        ("", Vendor.METAX, ""),
    ],
)
def test_the_model_is_the_vendors_word_for_it_and_a_legal_label_in_both_reports(
    product: str, vendor: Vendor, model: str
) -> None:
    of = node(card("n", 0, vendor=vendor, product=product))
    assert device_of(of, now=NOW).labels["node.koordinator.sh/gpu-model"] == model
    assert device_infos_of(of)[0].model == model


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("ecc-uncorrected", "ECCError"),
        ("card-gone", "CardGone"),
        ("driver-silent", "DriverSilent"),
        ("mode-changing", "ModeChanging"),
        ("", "Unhealthy"),
    ],
)
def test_what_is_wrong_is_one_word_in_both_reports_and_a_sentence_beside_it(fault: str, reason: str) -> None:
    notes = {SICK.uuid: CardNotes(fault=fault)}
    (condition,) = device_of(node(SICK), now=NOW, notes=notes).entries[0].conditions
    (info,) = device_infos_of(node(SICK), notes=notes)
    assert (condition.status, condition.reason, condition.message) == ("False", reason, "3 errors")
    assert (info.healthy, info.error_code, info.error_message) == (False, reason, "3 errors")


def test_a_cordoned_card_says_so_in_the_file_too() -> None:
    (info,) = device_infos_of(node(card("n", 0, cordoned=True)))
    assert (info.healthy, info.error_code) == (False, "Cordoned")
    assert "operator" in info.error_message


@given(fault=st.text(max_size=40), product=st.text(max_size=80), reason=st.text(max_size=40))
def test_whatever_a_driver_says_both_reports_hold_only_what_an_api_server_takes(
    fault: str, product: str, reason: str
) -> None:
    sick = replace(SICK, product=product, health_reason=reason)
    notes = {sick.uuid: CardNotes(fault=fault)}
    device = device_of(node(sick), now=NOW, notes=notes)
    (info,) = device_infos_of(node(sick), notes=notes)
    assert REASON.fullmatch(device.entries[0].conditions[0].reason)
    assert REASON.fullmatch(info.error_code)
    assert is_label_value(device.labels["node.koordinator.sh/gpu-model"])
    assert is_label_value(info.model)


def test_the_root_that_a_driver_read_is_told_as_the_kernel_names_it() -> None:
    of = metax_node("n", 2)
    assert roots(of, {"0": "pci0000:00", "1": "pci0000:80"}) == ["pci0000:00", "pci0000:80"]


def test_a_card_without_a_root_shares_the_one_of_its_host_bridge() -> None:
    of = metax_node("n", 4, topology=grouped(4, [(0, 1), (2, 3)]))
    cards = tuple(replace(each, bdf=f"0000:{each.index + 10:02x}:00.0") for each in of.cards)
    of = replace(of, cards=cards)
    assert roots(of, {"1": "pci0000:00"}) == ["pci0000:00", "pci0000:00", "pci0000:0c", "pci0000:0c"]


def test_where_roots_are_not_known_nothing_is_said_to_be_apart() -> None:
    assert roots(metax_node("n", 2), {}) == ["", ""]
    assert roots(metax_node("n", 2), {"0": "pci0000:00"}) == ["", ""]


def test_an_unknown_numa_node_and_socket_are_minus_one() -> None:
    of = node(replace(card("n", 0, numa=-1), bdf="0000:0a:00.0"))
    (entry,) = device_of(of, now=NOW).entries
    assert entry.place is not None
    assert (entry.place.socket, entry.place.numa) == (-1, -1)


def test_cards_of_two_vendors_are_reported_as_those_of_the_first_alone() -> None:
    ours = [card("n", 0), card("n", 1)]
    others = [card("m", at, vendor=Vendor.MTHREADS) for at in range(2)]
    topology = grouped(4, [(0, 2), (1, 3)])
    device = device_of(node(ours[0], others[0], ours[1], others[1], topology=topology), now=NOW)
    assert [entry.id for entry in device.entries] == [each.uuid for each in ours]
    assert device.labels["node.koordinator.sh/gpu-vendor"] == "metax"
    assert '"minors":[0,1]' in device.annotations["scheduling.koordinator.sh/gpu-partitions"]
    assert [each.vendor for each in device_infos_of(node(*ours, *others))] == ["metax", "metax"]


def test_every_card_has_its_own_model_and_memory_in_the_file() -> None:
    infos = device_infos_of(node(card("n", 0), replace(card("n", 1, product="MXC550"), memory=1 << 30)))
    assert [(each.model, each.resources["koordinator.sh/gpu-memory"]) for each in infos] == [
        ("C500", "64Gi"),
        ("C550", "1Gi"),
    ]


# --- what counts as a change ----------------------------------------------------------------------------------------


def written(of: Node, uid: str = "u", since: str = NOW) -> dict[str, object]:
    return device_object(device_of(of, now=since), node_uid=uid)


def test_the_same_report_is_no_change_whatever_others_added() -> None:
    there = cast("dict[str, Any]", written(metax_node("n")))
    metadata = there["metadata"]
    metadata["labels"]["somebody"] = "else"
    metadata["annotations"]["somebody"] = "else"
    metadata["managedFields"] = []
    metadata["ownerReferences"].append({"kind": "Node", "uid": "another"})
    there["status"] = {"allocations": []}
    assert not changes_device(there, written(metax_node("n")))


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(written(metax_node("n"), uid="another"), id="another node"),
        pytest.param(written(metax_node("n", 4)), id="fewer cards"),
        pytest.param(written(replace(metax_node("n"), topology=None)), id="no links any more"),
        pytest.param(
            written(node(*(replace(each, healthy=False) for each in metax_node("n").cards))), id="sick"
        ),
    ],
)
def test_everything_that_we_say_is_a_change_when_it_differs(wanted: dict[str, object]) -> None:
    assert changes_device(written(metax_node("n")), wanted)
    assert changes_device(None, wanted)


def test_reading_back_what_was_written_keeps_every_time() -> None:
    before = read_device(written(metax_node("n")))[0]
    again = device_object(device_of(metax_node("n"), now="2027-01-01T00:00:00Z", before=before), node_uid="u")
    assert not changes_device(written(metax_node("n")), again)
