"""The configuration that was in force last, over restarts."""

from pathlib import Path

import pytest

from tangram.services.gpu_device.config_kept import FILE, KeptConfig
from tangram.services.gpu_device.config_written import Written

SGPU = Written(
    source="ConfigMap kube-system/device-config", texts={"version": "v1", "cluster-config": "mode: sgpu"}
)


def test_what_was_noted_is_there_after_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    KeptConfig(folder).keep(SGPU)
    kept = KeptConfig(folder)
    assert kept.load() == SGPU
    assert kept.texts == SGPU.texts
    assert [each.name for each in folder.iterdir()] == [FILE]


def test_that_nobody_had_written_one_is_noted_too(tmp_path: Path) -> None:
    KeptConfig(tmp_path).keep(Written(source="nobody"))
    assert KeptConfig(tmp_path).load() == Written(source="nobody")


def test_the_same_is_not_written_again(tmp_path: Path) -> None:
    kept = KeptConfig(tmp_path)
    kept.keep(SGPU)
    (tmp_path / FILE).unlink()
    kept.keep(SGPU)
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x00\xff", id="no text"),
        pytest.param(b'{"v":1,"source":"x","texts":{"version":', id="half written"),
        pytest.param(b'{"v":1,"source":"x","texts":{"version":7}}', id="another shape"),
        pytest.param(b'{"v":2,"source":"x","texts":{}}', id="another release"),
        pytest.param(b"[" * 100_000, id="deep"),
    ],
)
def test_a_file_that_cannot_be_understood_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    kept = KeptConfig(tmp_path)
    assert kept.load() is None
    kept.keep(SGPU)
    assert KeptConfig(tmp_path).load() == SGPU


def test_a_disk_that_takes_nothing_costs_only_the_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept = KeptConfig(tmp_path / "file" / "state")
    assert kept.load() is None
    kept.keep(SGPU)
    assert kept.texts == SGPU.texts
