"""Device nodes of simulated cards: harmless, complete, and gone afterwards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builders.simulated import make_driver
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.simulated.description import Fault
from tangram.drivers.simulated.device_nodes import DeviceFolder


def files_under(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}


def test_nodes_are_those_the_devices_name(tmp_path: Path) -> None:
    driver = make_driver({"product": "C500", "count": 2}, {"product": "S4000"})
    folder = DeviceFolder(tmp_path)
    folder.follow(driver.devices())
    named = {node.removeprefix("/dev/") for device in driver.devices() for node in device.nodes.all}
    assert files_under(tmp_path) == named
    folder.clear()
    assert list(tmp_path.iterdir()) == []


def test_without_the_right_they_are_files_and_a_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "mknod", refuse)
    folder = DeviceFolder(tmp_path)
    folder.follow(make_driver({"product": "C500"}).devices())
    assert (tmp_path / "mxcd").is_file()
    assert "plain files" in folder.remark
    folder.clear()
    assert list(tmp_path.iterdir()) == []


def test_nodes_follow_the_cards_as_they_come_and_go(tmp_path: Path) -> None:
    driver = make_driver({"product": "C500", "count": 2, "sriov": "off"})
    folder = DeviceFolder(tmp_path)
    folder.follow(driver.devices())
    driver.world.strike(0, Fault.VANISH)
    folder.follow(driver.devices())
    assert files_under(tmp_path) == {"mxcd", "dri/card2", "dri/renderD129"}
    driver.set_virtual_functions(driver.devices()[0].uuid, 2)
    folder.follow(driver.devices())
    assert len(files_under(tmp_path)) == 1 + 2 + 4
    driver.world.strike(0, Fault.RECOVER)
    driver.world.strike(1, Fault.VANISH)
    folder.follow(driver.devices())
    assert files_under(tmp_path) == {"mxcd", "dri/card1", "dri/renderD128"}
    folder.clear()


def test_what_was_there_before_stays(tmp_path: Path) -> None:
    (tmp_path / "dri").mkdir()
    (tmp_path / "dri/card1").write_text("mine")
    folder = DeviceFolder(tmp_path)
    folder.follow(make_driver({"product": "C500"}).devices())
    (tmp_path / "dri/other").write_text("theirs")
    folder.clear()
    assert files_under(tmp_path) == {"dri/card1", "dri/other"}
    assert (tmp_path / "dri/card1").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = DeviceFolder(tmp_path / "file")
    with pytest.raises(DriverError, match="cannot be made") as caught:
        folder.follow(make_driver({"product": "C500"}).devices())
    assert caught.value.kind is Kind.NOT_PERMITTED
