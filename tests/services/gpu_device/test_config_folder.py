"""The device ConfigMap as files: every byte is either text or a sentence."""

from pathlib import Path

import pytest

from tangram.services.gpu_device.config_folder import read_folder


def test_the_three_files_are_read_and_others_are_left_alone(tmp_path: Path) -> None:
    for name in ("version", "cluster-config", "nodes-config", "kind-config"):
        (tmp_path / name).write_text(f"{name}\n")
    found = read_folder(tmp_path)
    assert found.texts == {name: f"{name}\n" for name in ("version", "cluster-config", "nodes-config")}
    assert (found.trouble, found.source) == ("", f"folder {tmp_path}")


@pytest.mark.parametrize("name", ["", "missing"])
def test_a_folder_without_files_says_nothing(name: str, tmp_path: Path) -> None:
    assert not read_folder(tmp_path / name).says_something


@pytest.mark.parametrize(
    ("content", "part"),
    [
        pytest.param(b"#" * ((1 << 20) + 1), "cluster-config has more than 1 MiB", id="too large"),
        pytest.param(b"mode: \xff\xfe", "no text in UTF-8 from byte 6 on", id="no text"),
    ],
)
def test_what_is_no_text_is_told_with_its_file(content: bytes, part: str, tmp_path: Path) -> None:
    (tmp_path / "cluster-config").write_bytes(content)
    found = read_folder(tmp_path)
    assert part in found.trouble
    assert found.says_something


def test_a_folder_in_the_place_of_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "version").mkdir()
    assert "version cannot be read (Is a directory)" in read_folder(tmp_path).trouble
