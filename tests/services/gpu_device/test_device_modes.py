"""Which configuration counts, what stays in force, and who is told."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from builders.fake_driver import metax_card
from tangram.kube.recorder import About
from tangram.services.gpu_device.config_kept import FILE, KeptConfig
from tangram.services.gpu_device.config_written import Written
from tangram.services.gpu_device.device_modes import DeviceModes
from tangram.units.ids import NodeName
from tangram.wire.device_config import DeviceConfig, NodeMode

NODE = NodeName("gpu-1")
FIRST = About("ConfigMap", "metax-device-config", "ns", "u1")
SECOND = About("ConfigMap", "device-config", "ns", "u2")


class SaidMaps:
    """ConfigMaps as a test says."""

    def __init__(self, *, known: bool = True) -> None:
        self.namespace = "ns"
        self.known = known
        self.trouble = ""
        self.there: list[Written] = []

    def written(self) -> Sequence[Written]:
        return self.there

    def say(self, *said: tuple[About, str]) -> None:
        self.there = [
            Written(
                source=f"ConfigMap ns/{about.name}",
                texts={"version": "v1", "cluster-config": cluster},
                about=about,
            )
            for about, cluster in said
        ]


class Told:
    def __init__(self) -> None:
        self.troubles: list[tuple[str, About | None]] = []
        self.passed: list[tuple[About, str]] = []
        self.ended: list[str] = []

    def misconfigured(self, trouble: str, about: About | None) -> None:
        self.troubles.append((trouble, about))

    def not_read(self, about: About, instead: str) -> None:
        self.passed.append((about, instead))

    def unconfigured(self, place: str) -> None:
        self.ended.append(place)


class Run:
    def __init__(self, folder: Path, maps: SaidMaps | None = None, config: Path | None = None) -> None:
        self.told = Told()
        self.modes = DeviceModes(
            NODE, maps=maps, folder=config, kept=KeptConfig(folder / "state"), heard=self.told
        )
        self.modes.load()

    @property
    def mode(self) -> NodeMode | None:
        return None if self.modes.config is None else self.modes.config.mode


@pytest.fixture
def config(tmp_path: Path) -> Path:
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "version").write_text("v1")
    (folder / "cluster-config").write_text("mode: shared")
    return folder


def test_without_any_configuration_cards_are_whole(tmp_path: Path) -> None:
    run = Run(tmp_path)
    assert run.modes.refresh()
    assert (run.modes.config, run.modes.trouble) == (DeviceConfig(), "")
    assert run.told.ended == []


def test_before_the_api_server_was_heard_nothing_is_decided(tmp_path: Path, config: Path) -> None:
    maps = SaidMaps(known=False)
    run = Run(tmp_path, maps, config)
    assert not run.modes.refresh()
    assert run.modes.config is None
    assert run.modes.unready() == ["the device ConfigMap in ns is not known yet"]
    maps.trouble = "configmaps is forbidden"
    assert run.modes.unready() == ["the device ConfigMap in ns is not known yet: configmaps is forbidden"]
    maps.known = True
    assert run.modes.refresh()
    assert run.mode is NodeMode.SHARED
    assert run.modes.unready() == []


def test_a_restart_goes_on_with_what_was_in_force_until_it_hears_otherwise(tmp_path: Path) -> None:
    maps = SaidMaps()
    maps.say((FIRST, "mode: sgpu"))
    Run(tmp_path, maps).modes.refresh()
    maps.known = False
    again = Run(tmp_path, maps)
    again.modes.refresh()
    assert again.mode is NodeMode.SGPU
    maps.known, maps.there = True, []
    assert again.modes.refresh()
    assert again.mode is NodeMode.NATIVE
    assert again.told.ended == ["ns"]


def test_what_was_noted_and_has_no_meaning_any_more_decides_nothing(tmp_path: Path) -> None:
    KeptConfig(tmp_path / "state").keep(Written(source="x", texts={"version": "v0"}))
    run = Run(tmp_path, SaidMaps(known=False))
    assert run.modes.config is None
    (tmp_path / "state" / FILE).unlink()


def test_a_config_map_counts_before_the_folder_and_the_operators_before_the_charts(
    tmp_path: Path, config: Path
) -> None:
    maps = SaidMaps()
    run = Run(tmp_path, maps, config)
    run.modes.refresh()
    assert run.mode is NodeMode.SHARED
    maps.say((SECOND, "mode: sgpu"))
    run.modes.refresh()
    assert run.mode is NodeMode.SGPU
    assert run.told.passed == []
    maps.say((FIRST, "mode: vgpu"), (SECOND, "mode: sgpu"))
    run.modes.refresh()
    assert run.mode is NodeMode.VGPU
    maps.say()
    run.modes.refresh()
    assert run.mode is NodeMode.SHARED


def test_a_config_map_that_is_not_read_is_told_once_each_time_that_it_is_not(tmp_path: Path) -> None:
    maps = SaidMaps()
    run = Run(tmp_path, maps)
    maps.say((FIRST, "mode: vgpu"), (SECOND, "mode: sgpu"))
    for _ in range(3):
        run.modes.refresh()
    assert run.told.passed == [(SECOND, "ConfigMap ns/metax-device-config")]
    maps.say((SECOND, "mode: sgpu"))
    run.modes.refresh()
    maps.say((FIRST, "mode: vgpu"), (SECOND, "mode: sgpu"))
    run.modes.refresh()
    assert len(run.told.passed) == 2


def test_a_slip_keeps_what_was_in_force_and_is_told_once_where_it_was_written(tmp_path: Path) -> None:
    maps = SaidMaps()
    run = Run(tmp_path, maps)
    maps.say((FIRST, "mode: sgpu"))
    run.modes.refresh()
    maps.say((FIRST, "mode: sliced"), (SECOND, "mode: shared"))
    assert run.modes.refresh()
    assert not run.modes.refresh()
    assert run.mode is NodeMode.SGPU
    ((trouble, about),) = run.told.troubles
    assert about == FIRST
    assert trouble.startswith(
        "ConfigMap ns/metax-device-config is refused, and what was in force stays in force: "
        "cluster-config, line 1: mode in cluster-config is 'sliced'"
    )
    maps.say((FIRST, "mode: sliced # really"), (SECOND, "mode: shared"))
    assert not run.modes.refresh()
    assert len(run.told.troubles) == 1
    maps.say((FIRST, "mode: shared"))
    assert run.modes.refresh()
    assert (run.mode, run.modes.trouble) == (NodeMode.SHARED, "")


def test_a_slip_is_survived_by_what_was_in_force_over_a_restart(tmp_path: Path, config: Path) -> None:
    Run(tmp_path, config=config).modes.refresh()
    (config / "cluster-config").write_text("mode: [")
    again = Run(tmp_path, config=config)
    assert again.modes.refresh()
    assert again.mode is NodeMode.SHARED
    assert again.told.troubles[0][1] is None


def test_a_slip_from_the_first_day_on_leaves_every_card_as_it_is(tmp_path: Path, config: Path) -> None:
    (config / "cluster-config").write_bytes(b"\xff")
    run = Run(tmp_path, config=config)
    run.modes.refresh()
    assert run.modes.config is None
    assert "until then every card stays as it is: cluster-config is no text" in run.modes.trouble


def test_the_end_of_a_configuration_is_told(tmp_path: Path, config: Path) -> None:
    run = Run(tmp_path, config=config)
    run.modes.refresh()
    for file in config.iterdir():
        file.unlink()
    assert run.modes.refresh()
    assert run.mode is NodeMode.NATIVE
    assert run.told.ended == [""]
    assert not run.modes.refresh()


def test_cards_that_are_named_and_not_there_are_logged_once(
    tmp_path: Path, config: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (config / "cluster-config").write_text("mode: mixed\nslicedCards: [0, 7]")
    run = Run(tmp_path, config=config)
    run.modes.compare([])
    run.modes.refresh()
    for _ in range(2):
        run.modes.compare([metax_card(0)])
    assert [each.message for each in caplog.records if "not here" in each.message] == [
        "the configuration names cards that are not here"
    ]
