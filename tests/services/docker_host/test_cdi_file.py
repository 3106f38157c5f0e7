"""The CDI file of a host."""

import json
from pathlib import Path

import pytest

from builders.docker_hosts import ScriptedEngine, snapshot_of
from tangram.services.docker_host.cdi_file import (
    FILE,
    check_speaks_cdi,
    host_spec,
    remove_spec,
    write_spec,
)
from tangram.services.docker_host.engines import Version
from tangram.services.docker_host.errors import HostError
from tangram.services.docker_host.maca import Folder

FOLDERS = (Folder("/opt/maca-3", "/opt/maca"),)


def test_a_card_goes_by_number_and_uuid_and_all_is_every_card() -> None:
    devices = [
        card.device for card in snapshot_of({"product": "C500", "count": 2}, {"product": "S4000"}).cards
    ]
    spec = json.loads(host_spec(devices, FOLDERS, {"/dev/mxcd": "/x/mxcd"}))
    assert (spec["cdiVersion"], spec["kind"]) == ("0.5.0", "metax-tech.com/gpu")
    named = {device["name"]: device["containerEdits"] for device in spec["devices"]}
    assert list(named) == ["0", devices[0].uuid, "1", devices[1].uuid, "all"]
    assert named["1"] == named[devices[1].uuid]
    assert [node["path"] for node in named["all"]["deviceNodes"]] == [
        "/dev/mxcd",
        *("/dev/dri/card1", "/dev/dri/renderD128", "/dev/dri/card2", "/dev/dri/renderD129"),
    ]
    assert named["0"]["deviceNodes"][0]["hostPath"] == "/x/mxcd"
    assert named["0"]["mounts"][0]["containerPath"] == "/opt/maca"
    assert "ro" in named["0"]["mounts"][0]["options"]
    assert "env" not in named["0"]


def test_a_host_without_metax_cards_is_a_sentence() -> None:
    devices = [card.device for card in snapshot_of({"product": "S4000"}).cards]
    with pytest.raises(HostError, match="this host has no MetaX card to write a CDI file for"):
        host_spec(devices, (), {})


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ("20.10.24", "Docker 20.10.24 does not read CDI files: that came with Docker 25"),
        ("27.1.0", 'write {"features": {"cdi": true}} into /etc/docker/daemon.json'),
    ],
)
def test_a_docker_that_reads_no_cdi_files_is_told_what_to_do(version: str, sentence: str) -> None:
    with pytest.raises(HostError) as refused:
        check_speaks_cdi(ScriptedEngine(), Version(version, version))
    assert sentence in str(refused.value)


def test_engines_that_read_them_are_accepted() -> None:
    check_speaks_cdi(ScriptedEngine(info={"CDISpecDirs": ["/etc/cdi"]}), Version("28.0", "28.0"))
    check_speaks_cdi(ScriptedEngine(name="podman"), Version("4.3.1", ""))


def test_the_file_is_written_whole_and_removed(tmp_path: Path) -> None:
    folder = tmp_path / "cdi"
    assert write_spec(folder, "{}") == folder / FILE
    assert [each.name for each in folder.iterdir()] == [FILE]
    assert remove_spec(folder)
    assert not remove_spec(folder)


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HostError, match="cannot be written"):
        write_spec(tmp_path / "file", "{}")
    (tmp_path / FILE).mkdir()
    with pytest.raises(HostError, match="cannot be removed"):
        remove_spec(tmp_path)
