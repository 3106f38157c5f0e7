"""The device ConfigMap as files: followed when it changes, and a slip changes nothing."""

from pathlib import Path

import pytest

from tangram.services.gpu_device.config_folder import ConfigFolder
from tangram.units.ids import NodeName
from tangram.wire.device_config import DeviceConfig, NodeMode

NODE = NodeName("gpu-1")


def write(folder: Path, cluster: str, version: str = "v1\n", nodes: str = "") -> None:
    (folder / "version").write_text(version)
    (folder / "cluster-config").write_text(cluster)
    if nodes:
        (folder / "nodes-config").write_text(nodes)


@pytest.mark.parametrize("folder", [None, "missing"])
def test_without_a_configmap_cards_are_whole(folder: str | None, tmp_path: Path) -> None:
    config = ConfigFolder(None if folder is None else tmp_path / folder, NODE)
    assert not config.refresh()
    assert (config.config, config.trouble) == (DeviceConfig(), "")


def test_a_change_is_noticed_once(tmp_path: Path) -> None:
    write(tmp_path, "mode: sgpu")
    config = ConfigFolder(tmp_path, NODE)
    assert config.refresh()
    assert config.config.mode is NodeMode.SGPU
    assert not config.refresh()
    write(tmp_path, "mode: shared\nshareNums: 8", nodes="- nodeName: gpu-1\n  mode: native\n")
    assert config.refresh()
    assert (config.config.mode, config.config.share_count) == (NodeMode.NATIVE, 8)


@pytest.mark.parametrize(
    ("cluster", "version", "part"),
    [
        pytest.param("mode: sliced", "v1", "it is one of native", id="a word nobody knows"),
        pytest.param("mode: [", "v1", "no YAML", id="no YAML"),
        pytest.param("mode: sgpu", "v2", "only v1 is known", id="another version"),
        pytest.param("- a\n- b", "v1", "it is a map", id="another shape"),
        pytest.param("a: " + "[" * 2_000, "v1", "configuration", id="too deep"),
        pytest.param("#" * (1 << 20) + "##", "v1", "more than 1 MiB", id="too large"),
        pytest.param("a: &a [*a]\nmode: 1", "v1", "configuration", id="bites its own tail"),
    ],
)
def test_a_slip_keeps_what_was_in_force_and_is_told_once(
    tmp_path: Path, cluster: str, version: str, part: str
) -> None:
    write(tmp_path, "mode: sgpu")
    config = ConfigFolder(tmp_path, NODE)
    config.refresh()
    write(tmp_path, cluster, version)
    assert config.refresh()
    assert part in config.trouble
    assert config.config.mode is NodeMode.SGPU
    assert not config.refresh()
    write(tmp_path, "mode: sgpu")
    assert config.refresh()
    assert config.trouble == ""


def test_bytes_that_are_no_text_are_a_slip_too(tmp_path: Path) -> None:
    write(tmp_path, "mode: sgpu")
    (tmp_path / "cluster-config").write_bytes(b"\xff\xfe\x00")
    config = ConfigFolder(tmp_path, NODE)
    assert config.refresh()
    assert "cannot be read" in config.trouble


def test_a_folder_in_the_place_of_a_file_is_a_slip_too(tmp_path: Path) -> None:
    (tmp_path / "version").mkdir()
    config = ConfigFolder(tmp_path, NODE)
    assert config.refresh()
    assert "cannot be read" in config.trouble
