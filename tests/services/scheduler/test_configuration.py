"""Configuration files that change while the scheduler runs, well and badly, as ConfigMaps and as plain files."""

import asyncio
import logging
import os
from pathlib import Path

import pytest

from tangram.daemon.errors import SettingError
from tangram.engine.place import Defaults
from tangram.model.requests import CardOrder, NodePolicy
from tangram.services.scheduler.configuration import LOOK_EVERY_S, Configuration, InForce, Reload


class Mounted:
    """A ConfigMap as the kubelet mounts it: the file is a link through `..data`, which is swapped whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._generation = 0
        self.file = folder / "scheduler.yaml"
        self.file.symlink_to("..data/scheduler.yaml")

    def swap(self, text: str) -> None:
        self._generation += 1
        content = self._folder / f"..{self._generation}"
        content.mkdir()
        (content / "scheduler.yaml").write_text(text)
        link = self._folder / "..data_tmp"
        link.symlink_to(content.name)
        link.replace(self._folder / "..data")


class Watcher:
    def __init__(self, scheduler: Path | None = None, devices: Path | None = None) -> None:
        self.seen: list[InForce] = []
        self.counted: list[Reload] = []
        self.configuration = Configuration(
            scheduler, devices, changed=self.seen.append, counted=self.counted.append
        )

    def look(self, times: int = 2) -> bool:
        """Twice, since a file must stand still between two looks to be read."""
        results = [self.configuration.refresh() for _ in range(times)]
        return any(results)


def good(policy: str) -> str:
    return f"tangram: scheduler/v1\nnodePolicy: {policy}\n"


def test_without_files_everything_is_as_hami_has_it() -> None:
    watcher = Watcher()
    assert watcher.configuration.load().defaults == Defaults()
    assert not watcher.look()


def test_a_config_map_that_is_swapped_takes_effect_without_a_restart(tmp_path: Path) -> None:
    mounted = Mounted(tmp_path)
    mounted.swap(good("binpack"))
    watcher = Watcher(mounted.file)
    watcher.configuration.load()
    assert not watcher.look()
    mounted.swap(good("spread"))
    assert watcher.look()
    assert watcher.configuration.in_force.defaults.node_policy is NodePolicy.SPREAD
    assert [each.scheduler.node_policy for each in watcher.seen] == [NodePolicy.SPREAD]
    assert watcher.counted == ["taken"]


def test_a_slip_keeps_what_was_in_force_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mounted = Mounted(tmp_path)
    mounted.swap(good("spread"))
    watcher = Watcher(mounted.file)
    watcher.configuration.load()
    mounted.swap(good("sprad"))
    with caplog.at_level(logging.ERROR):
        assert not watcher.look(6)
    assert watcher.configuration.in_force.scheduler.node_policy is NodePolicy.SPREAD
    (record,) = caplog.records
    assert record.getMessage() == (
        f"the scheduler configuration {mounted.file} is refused: nodePolicy is 'sprad': it is one of binpack, spread, "
        "frag; write one of these. What was in force stays in force."
    )
    assert len(watcher.configuration.troubles) == 1
    assert watcher.counted == ["refused"]
    mounted.swap(good("frag"))
    assert watcher.look()
    assert watcher.configuration.troubles == ()
    assert watcher.counted == ["refused", "taken"]


def test_a_file_that_vanishes_changes_nothing_and_one_that_comes_back_counts(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(good("spread"))
    watcher = Watcher(file)
    watcher.configuration.load()
    file.unlink()
    assert not watcher.look(4)
    assert watcher.counted == ["refused"]
    assert "cannot be read (No such file or directory)" in watcher.configuration.troubles[0]
    file.write_text(good("frag"))
    assert watcher.look()
    assert watcher.configuration.in_force.scheduler.node_policy is NodePolicy.FRAG


def test_a_file_that_is_still_being_written_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(good("spread"))
    watcher = Watcher(file)
    watcher.configuration.load()
    file.write_text("tangram: scheduler/v1\n")
    assert not watcher.look(1)
    file.write_text("tangram: scheduler/v1\nnodePolicy: spread\nquota: false\n")
    assert not watcher.look(1)
    assert watcher.look(1)
    assert [each.scheduler.quota for each in watcher.seen] == [False]


def test_our_own_file_goes_before_hamis_about_zones(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.yaml", tmp_path / "theirs.yaml"
    ours.write_text("tangram: scheduler/v1\ncardPolicy: numa\n")
    theirs.write_text("metax: {sgpuTopologyAware: true, resourceCountName: corp.example/card}\n")
    watcher = Watcher(ours, theirs)
    in_force = watcher.configuration.load()
    assert in_force.defaults == Defaults(card_order=(CardOrder.NUMA,), zone_aware=True)
    assert in_force.devices.renamed == {"corp.example/card": "metax-tech.com/gpu"}
    ours.write_text("tangram: scheduler/v1\nzoneAware: false\n")
    assert watcher.look()
    assert not watcher.configuration.in_force.defaults.zone_aware


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(
            b"tangram: scheduler/v2", "is refused: tangram is 'scheduler/v2': only scheduler/v1", id="refused"
        ),
        pytest.param(
            b"quota: true\nquota: false",
            "is no YAML: line 2, column 1: key 'quota' stands twice",
            id="a-key-twice",
        ),
        pytest.param(b"a: [", "is no YAML: line 2, column 1: while parsing a flow node", id="syntax"),
        pytest.param(b"\xff\xfe\x00", "is no YAML: ", id="no-text"),
        pytest.param(b"a: 1\x00", "is no YAML: ", id="control-character"),
        pytest.param(b"[" * 5000, "is no YAML: line 1 is nested more than 200 deep", id="nesting"),
        pytest.param(b"a: 1\n---\nb: 2\n", "expected a single document", id="two-documents"),
        pytest.param(b"#" * (1 << 20) + b"##", "has more than 1 MiB", id="far-too-large"),
    ],
)
def test_at_the_start_a_file_that_cannot_be_used_is_a_reason_not_to_run(
    tmp_path: Path, text: bytes, says: str
) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_bytes(text)
    with pytest.raises(SettingError) as refused:
        Configuration(file).load()
    assert str(refused.value).startswith(f"the scheduler configuration {file} ")
    assert says in str(refused.value)
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)


def test_what_is_no_plain_file_is_never_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(SettingError, match="is no plain file; name one"):
            Configuration(None, path).load()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"HAMi's device configuration .*none\.yaml cannot be read"):
        Configuration(None, tmp_path / "none.yaml").load()


async def test_it_looks_again_and_again_until_it_is_cancelled(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(good("binpack"))
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            file.write_text(good("spread"))
        if len(slept) == 6:
            raise asyncio.CancelledError

    configuration = Configuration(file, sleep=sleep)
    configuration.load()
    with pytest.raises(asyncio.CancelledError):
        await configuration.run()
    assert slept == [LOOK_EVERY_S] * 6
    assert configuration.in_force.scheduler.node_policy is NodePolicy.SPREAD
