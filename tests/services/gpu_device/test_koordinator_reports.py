"""Who reports a node's cards to Koordinator, and what is written then, against the sandbox's own API server."""

import asyncio
import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from builders.reporting import DEVICES, NODE, QUICK, reporting
from builders.waiting import until
from tangram.kube.api import Object
from tangram.services.gpu_device.bound_pods import BoundPods
from tangram.services.gpu_device.described import Described
from tangram.services.gpu_device.koordinator import KoordinatorReports
from tangram.services.gpu_device.records import Inventory
from tangram.services.gpu_device.reporter import Reporter
from tangram.units.ids import NodeName
from tangram.wire.koordinator.device_info import DeviceInfo, decode_device_infos
from tangram.wire.koordinator.whereabouts import CardNotes

CORE, MEMORY = "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory"
RATIO, SHARED = "koordinator.sh/gpu-memory-ratio", "koordinator.sh/gpu.shared"
TWO_CARDS = {CORE: "200", MEMORY: "128Gi", RATIO: "200", SHARED: "200"}
ONE_CARD = {CORE: "100", MEMORY: "64Gi", RATIO: "100", SHARED: "100"}
VENDOR, MODEL = "node.koordinator.sh/gpu-vendor", "node.koordinator.sh/gpu-model"


def amounts(node: Object, side: str = "allocatable") -> dict[str, str]:
    return {name: value for name, value in node["status"].get(side, {}).items() if "koordinator.sh/" in name}


def states(expected: dict[str, str]) -> Callable[[Object], bool]:
    return lambda node: amounts(node) == expected and amounts(node, "capacity") == expected


async def test_without_koordlet_the_device_the_amounts_and_the_labels_are_ours_to_write(
    tmp_path: Path,
) -> None:
    async with reporting(tmp_path) as run:
        device = await run.until_device()
        node = await run.until_node(states(TWO_CARDS))
        assert node["metadata"]["labels"][VENDOR] == "metax"
        assert node["status"]["allocatable"]["metax-tech.com/sgpu"] == "32"
        assert node["metadata"]["labels"][MODEL] == "C500"
        assert device["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]
        assert device["metadata"]["labels"] == {VENDOR: "metax", MODEL: "C500"}
        assert [each["minor"] for each in device["spec"]["devices"]] == [0, 1]
        assert run.reports.reporter is Reporter.OBJECT
        assert not (tmp_path / "tangram").exists()


async def test_while_nothing_changes_nothing_is_written_and_an_agent_that_begins_again_writes_nothing(
    tmp_path: Path,
) -> None:
    async with reporting(tmp_path) as run:
        await run.until_node(states(TWO_CARDS))
        await run.looked()
        run.writes.clear()
        await run.looked(100)
        assert run.writes == []
        await run.stop()
        run.moment += dt.timedelta(hours=1)
        run.start()
        await run.is_(Reporter.OBJECT)
        await run.looked(100)
        assert run.writes == []


async def test_a_card_that_fails_is_reported_with_its_reason_and_no_longer_counted(tmp_path: Path) -> None:
    async with reporting(tmp_path) as run:
        before = await run.until_device()
        run.moment += dt.timedelta(minutes=3)
        well, sick = run.node.cards
        run.notes[str(sick.uuid)] = CardNotes(fault="ecc-uncorrected")
        run.set_cards(well, replace(sick, healthy=False, health_reason="3 memory errors (DRAM)"))
        device = await run.until_device(lambda device: not device["spec"]["devices"][1]["health"])
        (condition,) = device["spec"]["devices"][1]["conditions"]
        assert condition == {
            "type": "Healthy",
            "status": "False",
            "reason": "ECCError",
            "message": "3 memory errors (DRAM)",
            "lastTransitionTime": "2026-11-15T21:18:10Z",
        }
        assert device["spec"]["devices"][0] == before["spec"]["devices"][0]
        await run.until_node(states(ONE_CARD))


async def test_with_the_last_healthy_card_the_names_leave_the_node_and_come_back_with_it(
    tmp_path: Path,
) -> None:
    async with reporting(tmp_path) as run:
        await run.until_node(states(TWO_CARDS))
        cards = run.node.cards
        run.set_cards(*(replace(card, healthy=False, health_reason="gone") for card in cards))
        node = await run.until_node(states({}))
        assert node["status"]["capacity"] == {"cpu": "8", "metax-tech.com/sgpu": "32"}
        assert len((await run.until_device())["spec"]["devices"]) == 2
        run.set_cards(*cards)
        await run.until_node(states(TWO_CARDS))


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param(dict.fromkeys(TWO_CARDS, "0"), id="zeroed, as by a kubelet that registers anew"),
        pytest.param(dict.fromkeys(TWO_CARDS), id="lost"),
        pytest.param({CORE: "100"}, id="one is too little"),
    ],
)
async def test_amounts_that_somebody_took_away_are_put_back(
    tmp_path: Path, lost: dict[str, str | None]
) -> None:
    async with reporting(tmp_path) as run:
        await run.until_node(states(TWO_CARDS))
        await run.state_amounts(lost)
        await run.until_node(states(TWO_CARDS))
        await run.looked()
        run.writes.clear()
        await run.looked()
        assert run.writes == []


async def test_amounts_are_the_same_however_they_are_spelled(tmp_path: Path) -> None:
    async with reporting(tmp_path) as run:
        await run.until_node(states(TWO_CARDS))
        await run.looked()
        run.writes.clear()
        await run.state_amounts({MEMORY: str(128 << 30), CORE: "0.2k"})
        await run.looked()
        assert run.writes == []


async def test_a_device_of_koordlets_is_left_alone_with_one_event_until_it_is_deleted(tmp_path: Path) -> None:
    async with reporting(tmp_path) as run:
        await run.until_device()
        theirs = await run.write_device({"spec": {"devices": []}}, "koordlet")
        await run.is_(Reporter.FOREIGN)
        await run.looked()
        run.writes.clear()
        await run.looked(50)
        assert run.writes == []
        (event,) = run.events
        assert "koordlet" in event
        assert f"kubectl delete device {NODE}" in event
        assert await run.device() == theirs
        await run.api.delete(f"{DEVICES}/{NODE}")
        device = await run.until_device()
        assert len(device["spec"]["devices"]) == 2
        await run.is_(Reporter.OBJECT)
        assert run.reports.trouble == ""


async def test_a_device_whose_writer_nobody_knows_is_left_alone_after_one_refusal(tmp_path: Path) -> None:
    async with reporting(tmp_path, begin=False) as run:
        body = {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "Device",
            "metadata": {"name": NODE, "labels": {VENDOR: "nvidia"}},
        }
        await run.api.create(DEVICES, body, fieldManager="helm")
        run.start()
        await until(lambda: bool(run.events))
        await run.is_(Reporter.FOREIGN)
        applied = [write for write in run.writes if write[1].startswith(DEVICES)]
        await run.looked(50)
        assert [write for write in run.writes if write[1].startswith(DEVICES)] == applied
        assert len(applied) == 1
        assert "helm" in run.events[0]


async def test_other_peoples_labels_on_the_device_stay_when_it_is_written_again(tmp_path: Path) -> None:
    async with reporting(tmp_path) as run:
        await run.until_device()
        await run.api.merge(f"{DEVICES}/{NODE}", {"metadata": {"labels": {"somebody": "else"}}})
        well, sick = run.node.cards
        run.set_cards(well, replace(sick, cordoned=True))
        device = await run.until_device(lambda device: not device["spec"]["devices"][1]["health"])
        assert device["metadata"]["labels"] == {VENDOR: "metax", MODEL: "C500", "somebody": "else"}


async def test_a_label_of_ours_that_somebody_changed_is_told_and_left_to_them(tmp_path: Path) -> None:
    async with reporting(tmp_path) as run:
        await run.until_device()
        change = {"metadata": {"labels": {MODEL: "Z9"}}}
        await run.api.merge(f"{DEVICES}/{NODE}", change, fieldManager="kubectl-label")
        await run.is_(Reporter.FOREIGN)
        await until(lambda: len(run.events) == 1)
        assert "kubectl-label" in run.events[0]


async def test_a_node_that_was_deleted_and_registered_again_owns_the_device_again(tmp_path: Path) -> None:
    async with reporting(tmp_path) as run:
        first = (await run.until_device())["metadata"]["ownerReferences"]
        await run.until_node(states(TWO_CARDS))
        await run.api.delete(f"/api/v1/nodes/{NODE}")
        made = await run.register()
        device = await run.until_device(lambda device: device["metadata"]["ownerReferences"] != first)
        assert [each["uid"] for each in device["metadata"]["ownerReferences"]] == [made["metadata"]["uid"]]
        await run.until_node(states(TWO_CARDS))


async def test_a_device_that_somebody_deletes_is_made_again(tmp_path: Path) -> None:
    async with reporting(tmp_path) as run:
        first = await run.until_device()
        await run.api.delete(f"{DEVICES}/{NODE}")
        again = await run.until_device(lambda device: device["metadata"]["uid"] != first["metadata"]["uid"])
        assert again["spec"] == first["spec"]


# ---- the kind comes and goes


async def test_the_kind_may_be_installed_and_removed_while_the_agent_runs(tmp_path: Path) -> None:
    async with reporting(tmp_path, kind=False) as run:
        await run.is_(Reporter.NOBODY)
        assert run.writes == []
        await run.install_kind()
        await run.until_device()
        await run.until_node(states(TWO_CARDS))
        await run.remove_kind()
        await run.is_(Reporter.NOBODY)
        node = await run.until_node(states({}))
        assert node["status"]["capacity"]["metax-tech.com/sgpu"] == "32"
        await run.looked()
        run.writes.clear()
        await run.looked()
        assert run.writes == []
        await run.install_kind()
        await run.until_device()
        await run.until_node(states(TWO_CARDS))


async def test_without_the_kind_amounts_of_somebody_else_stay_and_zeros_go(tmp_path: Path) -> None:
    async with reporting(tmp_path, kind=False, begin=False) as run:
        await run.state_amounts({CORE: "400"}, manager="koordinator-manager")
        await run.state_amounts({SHARED: "0"})
        run.start()
        await run.until_node(states({CORE: "400"}))
        await run.looked()
        assert states({CORE: "400"})(await run.own())


async def test_a_node_without_cards_gets_no_device(tmp_path: Path) -> None:
    async with reporting(tmp_path, begin=False) as run:
        run.set_node(replace(run.node, cards=(), topology=None))
        run.start()
        await run.is_(Reporter.OBJECT)
        await run.looked()
        assert run.writes == []


async def test_what_the_agent_may_not_write_is_told_once_with_what_to_do(tmp_path: Path) -> None:
    async with reporting(tmp_path, begin=False) as run:
        run.start()
        run.forbid("PATCH")
        await until(lambda: bool(run.events))
        assert not await run.reports.look()
        (event,) = run.events
        assert "devices.scheduling.koordinator.sh" in event
        assert "403" in event
        run.forbid("")
        run.reports.due()
        await run.until_node(states(TWO_CARDS))
        await until(lambda: run.reports.trouble == "")


async def test_an_agent_that_may_not_read_devices_decides_nothing_and_says_so(tmp_path: Path) -> None:
    async with reporting(tmp_path, begin=False) as run:
        run.forbid("GET", DEVICES)
        run.start()
        await until(lambda: bool(run.events))
        assert run.reports.reporter is Reporter.UNDECIDED
        assert run.writes == []
        assert "403" in run.events[0]
        run.forbid("")
        await run.until_device()
        await until(lambda: run.reports.trouble == "")


# ---- koordlet is here


def written(folder: Path) -> list[DeviceInfo]:
    return list(decode_device_infos((folder / "tangram").read_text())[0])


async def test_beside_koordlet_the_cards_are_in_a_file_and_nothing_is_written_to_the_cluster(
    tmp_path: Path,
) -> None:
    async with reporting(tmp_path, begin=False) as run:
        await run.koordlet()
        run.start()
        await until((tmp_path / "tangram").exists)
        assert [each.minor for each in written(tmp_path)] == [0, 1]
        assert run.writes == []
        assert await run.device() is None
        well, sick = run.node.cards
        run.set_cards(well, replace(sick, healthy=False, health_reason="too hot"))
        await until(lambda: written(tmp_path)[1].healthy is False)


async def test_the_file_stays_as_it_is_over_a_restart_and_while_nothing_changes(tmp_path: Path) -> None:
    async with reporting(tmp_path, begin=False) as run:
        await run.koordlet()
        run.start()
        await until((tmp_path / "tangram").exists)
        before = (tmp_path / "tangram").stat()
        await run.stop()
        run.start()
        await run.is_(Reporter.FILE)
        await run.looked()
        after = (tmp_path / "tangram").stat()
        assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


async def test_where_koord_device_daemon_comes_our_file_goes_before_koordlet_can_count_twice(
    tmp_path: Path,
) -> None:
    async with reporting(tmp_path, begin=False) as run:
        await run.koordlet()
        run.start()
        await until((tmp_path / "tangram").exists)
        await run.daemon()
        await until(lambda: not (tmp_path / "tangram").exists())
        await run.is_(Reporter.DAEMON)
        await run.delete_pod("daemon")
        await until((tmp_path / "tangram").exists)


async def test_a_tenants_pod_in_the_daemons_clothes_does_not_make_the_cards_vanish(tmp_path: Path) -> None:
    async with reporting(tmp_path) as run:
        await run.koordlet()
        await run.is_(Reporter.FILE)
        await until((tmp_path / "tangram").exists)
        await run.put_pod("tenant", "koord-device-daemon", "koord-device-daemon", on_host=False)
        await until(lambda: run.pods_here == 2)
        await run.looked()
        assert run.reports.reporter is Reporter.FILE
        assert (tmp_path / "tangram").exists()


@pytest.mark.parametrize("by", ["uuid", "bus"])
async def test_a_file_of_somebody_else_that_lists_one_of_our_cards_takes_the_place_of_ours(
    tmp_path: Path, by: str
) -> None:
    async with reporting(tmp_path, begin=False) as run:
        card = replace(run.node.cards[1], bdf="0000:0A:00.0")
        run.set_cards(run.node.cards[0], card)
        await run.koordlet()
        run.start()
        await until((tmp_path / "tangram").exists)
        place = {"busID": "0000:0a:00.0" if by == "bus" else ""}
        uuid = card.uuid if by == "uuid" else "two\nlines"
        (tmp_path / "ic-device").write_text(json.dumps([{"uuid": uuid, "minor": "1", "topology": place}]))
        await until(lambda: not (tmp_path / "tangram").exists())
        (tmp_path / "ic-device").write_text(json.dumps([{"uuid": "another", "minor": "1"}]))
        await until((tmp_path / "tangram").exists)


async def test_a_koordlet_that_is_replaced_leaves_the_file_and_nobody_takes_its_place(tmp_path: Path) -> None:
    async with reporting(tmp_path, begin=False) as run:
        run.pauses = replace(run.pauses, koordlet_gone=1000.0)
        await run.koordlet()
        run.start()
        await until((tmp_path / "tangram").exists)
        await run.delete_pod("koordlet")
        await until(lambda: not run.pods_here)
        await run.looked()
        assert (tmp_path / "tangram").exists()
        await run.stop()
        run.start()
        await run.is_(Reporter.FILE)
        await run.looked()
        assert await run.device() is None


async def test_a_koordlet_that_is_gone_for_good_leaves_its_work_to_us(tmp_path: Path) -> None:
    async with reporting(tmp_path, begin=False) as run:
        await run.koordlet()
        run.start()
        await until((tmp_path / "tangram").exists)
        await run.delete_pod("koordlet")
        await run.until_device()
        await until(lambda: not (tmp_path / "tangram").exists())


async def test_a_directory_that_is_not_there_is_one_sentence_and_not_made(tmp_path: Path) -> None:
    folder = tmp_path / "not-mounted"
    async with reporting(folder, begin=False) as run:
        await run.koordlet()
        run.start()
        await until(lambda: bool(run.events))
        for _ in range(20):
            assert not await run.reports.look()
        (event,) = run.events
        assert str(folder) in event
        assert "mount" in event
        assert not folder.exists()
        folder.mkdir()
        run.reports.due()
        await until((folder / "tangram").exists)
        assert run.reports.trouble == ""


async def test_under_koordlet_a_kind_that_nobody_serves_changes_nothing(tmp_path: Path) -> None:
    async with reporting(tmp_path, kind=False, begin=False) as run:
        await run.koordlet()
        run.start()
        await until((tmp_path / "tangram").exists)
        assert run.reports.reporter is Reporter.FILE


async def test_a_server_that_was_restored_from_a_backup_is_told_again(tmp_path: Path) -> None:
    """It counts versions from further back, so its node seems older than our last write for ever."""
    async with reporting(tmp_path, begin=False) as run:
        old = await run.own()
        old["metadata"]["resourceVersion"] = "1"
        now = [0.0]
        reports = KoordinatorReports(
            run.api,
            NodeName(NODE),
            present=lambda: old,
            pods=BoundPods(lambda: Inventory(node=NodeName(NODE)), lambda: None),
            described=lambda: Described(run.node, {}),
            folder=tmp_path,
            pauses=QUICK,
            told=run.events.append,
            clock=lambda: now[0],
        )
        following = asyncio.create_task(reports.device.run())
        try:
            await until(lambda: reports.device.served is True)
            assert await reports.look()
            await run.until_node(states(TWO_CARDS))
            await run.state_amounts(dict.fromkeys(TWO_CARDS))
            now[0] += 29
            assert await reports.look()
            assert amounts(await run.own()) == {}
            now[0] += 1
            assert await reports.look()
            await run.until_node(states(TWO_CARDS))
        finally:
            following.cancel()
            await asyncio.wait({following})
