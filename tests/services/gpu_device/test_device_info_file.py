"""The file that koordlet reads: whole at every moment, ours alone, and beside nobody else's about the same cards."""

import json
import os
import stat
from pathlib import Path

import pytest

from builders.clusters import card
from tangram.services.gpu_device.device_info_file import DeviceInfoFile

OURS = card("n", 0)


@pytest.fixture
def file(tmp_path: Path) -> DeviceInfoFile:
    return DeviceInfoFile(tmp_path)


def test_what_is_written_is_there_with_the_rights_that_koordlet_needs(file: DeviceInfoFile) -> None:
    assert file.write("[]\n")
    assert file.path.read_text() == "[]\n"
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o644
    assert file.exists()


def test_the_same_text_is_not_written_again(file: DeviceInfoFile) -> None:
    assert file.write("[]\n")
    assert not file.write("[]\n")
    assert file.write("[1]\n")


def test_nothing_but_the_file_is_ever_among_what_koordlet_reads(
    file: DeviceInfoFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    synced = os.fsync

    def look(descriptor: int) -> None:
        seen.append(sorted(path.name for path in tmp_path.iterdir() if not path.is_dir()))
        synced(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    file.write("[]\n")
    file.write("[1]\n")
    assert seen == [[], ["tangram"]]
    assert [path.name for path in tmp_path.iterdir()] == ["tangram"]


def test_a_write_that_fails_leaves_the_last_good_file(
    file: DeviceInfoFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write("[]\n")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        file.write("[1]\n")
    assert file.path.read_text() == "[]\n"
    assert [path.name for path in tmp_path.iterdir()] == ["tangram"]


def test_what_a_crash_left_in_the_workshop_is_no_obstacle(file: DeviceInfoFile, tmp_path: Path) -> None:
    (tmp_path / ".tangram").mkdir()
    (tmp_path / ".tangram" / "tangram").write_text("half")
    assert file.write("[]\n")
    assert [path.name for path in tmp_path.iterdir()] == ["tangram"]


def test_a_directory_that_is_missing_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        DeviceInfoFile(tmp_path / "none").write("[]\n")
    assert not (tmp_path / "none").exists()


def test_removing_is_done_once_and_touches_nobody_elses(file: DeviceInfoFile, tmp_path: Path) -> None:
    (tmp_path / "ic-device").write_text("[]")
    file.write("[]\n")
    assert file.remove()
    assert not file.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["ic-device"]


@pytest.mark.parametrize(
    ("name", "text", "listed"),
    [
        pytest.param("ic-device", [{"uuid": OURS.uuid, "minor": "0"}], True, id="theirs lists our card"),
        pytest.param("ic-device", [{"uuid": "x", "minor": "0"}], False, id="theirs lists another"),
        pytest.param("tangram", [{"uuid": OURS.uuid, "minor": "0"}], False, id="our own file"),
        pytest.param("ic-device", {"uuid": OURS.uuid}, False, id="no list"),
        pytest.param(
            "ic-device", [{"uuid": "x", "minor": "0", "topology": {"busID": ""}}], False, id="no bus"
        ),
    ],
)
def test_somebody_elses_file_counts_if_it_lists_a_card_of_ours(
    file: DeviceInfoFile, tmp_path: Path, name: str, text: object, *, listed: bool
) -> None:
    (tmp_path / name).write_text(json.dumps(text))
    assert file.listed_in([OURS]) == (name if listed else "")


def test_files_that_cannot_be_read_are_nobodys(file: DeviceInfoFile, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "half").write_text('[{"uuid": ')
    (tmp_path / "folder").mkdir()
    assert file.listed_in([OURS]) == ""
    assert DeviceInfoFile(tmp_path / "none").listed_in([OURS]) == ""
