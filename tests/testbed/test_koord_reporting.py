"""The scripted koordlet and koord-manager: from device-info files to a Device, and from there to the node."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from builders.koord_server import KoordServer
from testbed.api import Object
from testbed.koord_devices import MODEL, PARTITIONS, POLICY, VENDOR
from testbed.koord_manager import KoordManager, amounts_of, mutated
from testbed.koord_requests import CORE, GPU, MEMORY, RATIO, SHARED
from testbed.koord_scheduler import DEVICES
from testbed.koordlet import Koordlet, carry_over_times, device_of
from testbed.manifests import container, pod

NODE: Object = {"metadata": {"name": "n1", "uid": "u1"}, "spec": {}, "status": {"allocatable": {"cpu": "4"}}}
AT = "2027-01-15T08:00:00Z"
PLACE = f"{DEVICES}/n1"


def info(minor: int, *, healthy: bool = True, **more: object) -> Object:
    return {
        "vendor": "metax",
        "model": "C500",
        "uuid": f"GPU-{minor}",
        "minor": str(minor),
        "resources": {"koordinator.sh/gpu-memory": "64Gi", "gpu-core": "100"},
        "topology": {"socketID": "7", "nodeID": "", "pcieID": "pci0000:00", "busID": "0000:08:00.0"},
        "status": {"healthy": healthy} | ({} if healthy else {"errCode": "ECCError"}),
    } | more


def koordlet_over(server: KoordServer, folder: Path, **files: Sequence[Object] | str) -> Koordlet:
    for name, content in files.items():
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return Koordlet(server, "n1", folder)


# ---- koordlet


def test_a_card_of_a_file_becomes_an_entry() -> None:
    made = device_of(NODE, [info(0)], AT)
    assert made["metadata"]["labels"] == {VENDOR: "metax", MODEL: "C500"}
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Node", "u1", True)
    (entry,) = made["spec"]["devices"]
    assert entry == {
        "type": "gpu",
        "id": "GPU-0",
        "minor": 0,
        "health": True,
        "resources": {CORE: "100", MEMORY: "64Gi", RATIO: "100"},
        "topology": {"socketID": -1, "nodeID": -1, "pcieID": "pci0000:00", "busID": "0000:08:00.0"},
        "conditions": [
            {
                "type": "Healthy",
                "status": "True",
                "reason": "DeviceHealthy",
                "message": "device is healthy",
                "lastTransitionTime": AT,
            }
        ],
    }


def test_links_become_groups_and_a_policy() -> None:
    links = [{"peerMinor": "1", "type": "MetaXLink"}]
    cards = [
        info(0, topology={"p2pLinks": links}),
        info(1, topology={"p2pLinks": [{**links[0], "peerMinor": "0"}]}),
    ]
    made = device_of(NODE, cards, AT)
    assert made["metadata"]["labels"][POLICY] == "Prefer"
    table = json.loads(made["metadata"]["annotations"][PARTITIONS])
    assert table == {"2": [{"minors": [0, 1], "gpuLinkType": "MetaXLink", "allocationScore": 1}]}


def test_a_condition_keeps_its_time_until_its_status_changes() -> None:
    before = device_of(NODE, [info(0), info(1)], AT)
    after = device_of(NODE, [info(0), info(1, healthy=False)], "2027-01-15T09:00:00Z")
    carry_over_times(before, after)
    first, second = (card["conditions"][0] for card in after["spec"]["devices"])
    assert first["lastTransitionTime"] == AT
    assert (second["reason"], second["lastTransitionTime"]) == ("ECCError", "2027-01-15T09:00:00Z")


async def test_every_file_is_read_and_an_unchanged_device_is_not_written_again(tmp_path: Path) -> None:
    server = KoordServer([("/api/v1/nodes/n1", NODE)])
    koordlet = koordlet_over(server, tmp_path, ours=[info(1)], **{"ic-device": [info(0)]})
    for _ in range(3):
        await koordlet.report()
    assert [card["id"] for card in server.things[PLACE]["spec"]["devices"]] == ["GPU-0", "GPU-1"]
    assert [(method, where) for method, where, _ in server.writes] == [("POST", DEVICES)]


async def test_what_others_wrote_on_the_device_does_not_stay(tmp_path: Path) -> None:
    server = KoordServer([("/api/v1/nodes/n1", NODE)])
    koordlet = koordlet_over(server, tmp_path, ours=[info(0)])
    await koordlet.report()
    server.things[PLACE]["metadata"]["labels"]["mine"] = "yes"
    await koordlet.report()
    assert server.things[PLACE]["metadata"]["labels"] == {VENDOR: "metax", MODEL: "C500"}


async def test_a_card_in_two_files_is_reported_twice(tmp_path: Path) -> None:
    server = KoordServer([("/api/v1/nodes/n1", NODE)])
    await koordlet_over(server, tmp_path, ours=[info(0)], theirs=[info(0)]).report()
    assert len(server.things[PLACE]["spec"]["devices"]) == 2


async def test_one_broken_file_leaves_everything_and_no_file_empties_the_device(tmp_path: Path) -> None:
    server = KoordServer([("/api/v1/nodes/n1", NODE)])
    koordlet = koordlet_over(server, tmp_path, ours=[info(0)])
    await koordlet.report()
    (tmp_path / "broken").write_text("[{")
    await koordlet.report()
    assert len(server.things[PLACE]["spec"]["devices"]) == 1
    assert len(koordlet.troubles) == 1
    for name in ("ours", "broken"):
        (tmp_path / name).unlink()
    await koordlet.report()
    assert server.things[PLACE]["spec"]["devices"] == []
    assert server.things[PLACE]["metadata"]["labels"] == {}


# ---- koord-manager


def test_healthy_cards_are_added_up() -> None:
    made = device_of(NODE, [info(0), info(1), info(2, healthy=False)], AT)
    summed = {CORE: "200", MEMORY: "128Gi", RATIO: "200"}
    assert amounts_of(made, shares=False) == summed
    assert amounts_of(made, shares=True) == summed | {SHARED: "200"}


@pytest.mark.parametrize(("vendor", "counted"), [("metax", False), ("mthreads", False), ("nvidia", True)])
def test_only_one_vendor_is_counted_as_gpu(vendor: str, *, counted: bool) -> None:
    made = device_of(NODE, [info(0, vendor=vendor)], AT)
    assert (GPU in amounts_of(made, shares=True)) is counted


async def test_the_node_gets_amounts_and_labels_and_loses_the_amounts_with_the_last_card() -> None:
    server = KoordServer([("/api/v1/nodes/n1", NODE), (PLACE, device_of(NODE, [info(0)], AT))])
    manager = KoordManager(server)
    await manager.reconcile("n1")
    node = server.things["/api/v1/nodes/n1"]
    assert node["status"]["allocatable"] == {
        "cpu": "4",
        CORE: "100",
        MEMORY: "64Gi",
        RATIO: "100",
        SHARED: "100",
    }
    assert node["status"]["capacity"] == {CORE: "100", MEMORY: "64Gi", RATIO: "100", SHARED: "100"}
    assert node["metadata"]["labels"] == {VENDOR: "metax", MODEL: "C500"}
    server.things[PLACE]["spec"]["devices"] = []
    await manager.reconcile("n1")
    node = server.things["/api/v1/nodes/n1"]
    assert node["status"]["allocatable"] == {"cpu": "4"}
    assert node["metadata"]["labels"] == {VENDOR: "metax", MODEL: "C500"}


async def test_a_change_of_a_tenth_or_less_waits() -> None:
    cards = [info(minor) for minor in range(16)]
    server = KoordServer([("/api/v1/nodes/n1", NODE), (PLACE, device_of(NODE, cards, AT))])
    manager = KoordManager(server)
    await manager.reconcile("n1")
    server.things[PLACE] = device_of(NODE, [info(0, healthy=False), *cards[1:]], AT)
    await manager.reconcile("n1")
    assert server.things["/api/v1/nodes/n1"]["status"]["allocatable"][CORE] == "1600"


# ---- its webhook


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({GPU: "50"}, {CORE: "50", RATIO: "50", SHARED: "1"}, id="short for a part"),
        pytest.param({GPU: "200"}, {CORE: "200", RATIO: "200", SHARED: "2"}, id="short for two cards"),
        pytest.param({CORE: "200", RATIO: "200"}, {CORE: "200", RATIO: "200", SHARED: "2"}, id="two cards"),
        pytest.param({CORE: "10", MEMORY: "1Gi"}, {CORE: "10", MEMORY: "1Gi", SHARED: "1"}, id="a slice"),
        pytest.param(
            {CORE: "200", MEMORY: "64Gi"}, {CORE: "200", MEMORY: "64Gi", SHARED: "0"}, id="its slip"
        ),
        pytest.param({SHARED: "2", RATIO: "60"}, {SHARED: "2", RATIO: "60"}, id="already counted"),
        pytest.param({"metax-tech.com/sgpu": "1"}, {"metax-tech.com/sgpu": "1"}, id="another's words"),
    ],
)
def test_the_webhook_rewrites_requests(before: dict[str, str], after: dict[str, str]) -> None:
    changed = mutated(pod("p", container(limits=before)))
    assert changed["spec"]["containers"][0]["resources"]["limits"] == after
